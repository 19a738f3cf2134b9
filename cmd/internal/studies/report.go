package studies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/study"
)

// WriteReport writes the page of a study, by default into its directory, and returns its path.
func WriteReport(ctx context.Context, a *shell.App, all application.Registry, path, out string) (string, error) {
	plan, err := planReader(a, all)(path)
	if err != nil {
		return "", err
	}
	found, err := plan.Survey(ctx)
	if err != nil {
		return "", shell.Failed(err)
	}
	if found.Done+found.Failed == 0 {
		return "", fmt.Errorf("no task of %s has ended: vti study run %s", path, rundir.Quoted(path))
	}
	d := describe(plan, found)
	if err := d.Draw(ctx, "study"); err != nil {
		return "", shell.Failed(err)
	}
	page := &document.Page{Title: filepath.Base(d.Title), Subtitle: d.Subtitle, Version: vti.Version, Documents: []*document.Document{d}}
	out = cmp.Or(out, filepath.Join(plan.Dir(), report.File))
	if err := atomicfile.Write(out, page.Write); err != nil {
		return "", shell.Failed(err)
	}
	return out, nil
}

// describe returns the document of a study.
func describe(plan *study.Plan, s *study.Survey) *document.Document {
	d := &document.Document{Title: plan.Name(), Subtitle: fmt.Sprintf("%s of vti %s", document.Counted(s.Tasks, "task"), plan.Command)}
	d.Answer = []string{fmt.Sprintf("Of %s %d %s done; %d failed, and %d %s missing.", document.Counted(s.Tasks, "task"), s.Done, english.Form(s.Done, "is", "are"), s.Failed, s.Missing, english.Form(s.Missing, "is", "are"))}
	d.Answer = append(d.Answer, apply.To(slices.Sorted(maps.Keys(s.Verdicts)), func(verdict string) string {
		return fmt.Sprintf("%s: %s.", document.Counted(s.Verdicts[verdict], "answer"), verdict)
	})...)
	d.Answer = append(d.Answer, fmt.Sprintf("They took %s s of processor time, the longest %s s in all.", picture.Number(s.CPUSeconds), picture.Number(s.Longest)))
	mark := document.Mark{Name: "Study"}
	switch {
	case s.Failed > 0:
		mark.Kind, mark.Word, mark.Text = "bad", "failures", fmt.Sprintf("%s without an answer: what is said of the others may not hold for all", document.Counted(s.Failed, "task"))
		d.Next = append(d.Next, "Read why tasks failed, below; vti study run --failed tries them again.")
	case s.Missing > 0:
		mark.Kind, mark.Word, mark.Text = "fair", "incomplete", fmt.Sprintf("%s not at an end", document.Counted(s.Missing, "task"))
		d.Next = append(d.Next, "Go on with vti study run.")
	default:
		mark.Kind, mark.Word, mark.Text = "good", "complete", "every task has an answer"
		d.Next = append(d.Next, "Gather the answers with vti study collect.")
	}
	spread := &document.Section{ID: "distributions", Title: "Distributions"}
	spread.Place(binsPicture("probabilities", "Probabilities of all answers", "probability", "number", s.Probabilities, 20, 0))
	spread.Place(binsPicture("seconds", "Processor time of tasks", "log₁₀ seconds", "tasks", s.Seconds, 10, 0))
	spread.Place(binsPicture("memory", "Memory of tasks", "log₁₀ MiB", "tasks", s.Bytes, 10, -20*math.Log10(2)))
	failures := document.NewTable("Tasks without an answer", "<task", "<why").Opened()
	for _, one := range s.Failures {
		failures.Add(describeTask(plan.Task(one.Index)), one.Error)
	}
	d.Marks = []document.Mark{mark}
	d.Sections = []*document.Section{
		{ID: "verdicts", Title: "Verdicts", Tables: []*document.Table{endingsTable(s.BySetting)}}, spread,
		{ID: "failed", Title: "Failures", Tables: []*document.Table{failures}},
	}
	return d
}

func endingsTable(settings []study.SettingCount) *document.Table {
	endings := map[string]int{}
	for _, one := range settings {
		maps.Copy(endings, one.Counts)
	}
	order := slices.Sorted(maps.Keys(endings))
	t := document.NewTable("How tasks ended, by setting", append([]string{"<setting", "<value"}, order...)...).Opened()
	for _, one := range settings {
		counts := apply.To(order, func(ending string) string { return strconv.Itoa(one.Counts[ending]) })
		t.Add(append([]string{one.Setting, one.Value}, counts...)...)
	}
	return t
}

// binsPicture draws a histogram. The argument parts is the number of bins per unit of the axis, and
// the argument shift is added to the ends of all bins. binsPicture returns nil if the histogram is
// empty.
func binsPicture(name, title, x, y string, h study.Histogram, parts, shift float64) *picture.Picture {
	if len(h) == 0 {
		return nil
	}
	var bars []picture.Bar
	total := 0
	for _, bin := range slices.Sorted(maps.Keys(h)) {
		total += h[bin]
		from, to := float64(bin)/parts+shift, float64(bin+1)/parts+shift
		bars = append(bars, picture.Bar{From: from, To: to, Value: float64(h[bin]), Compared: math.NaN(), Hint: fmt.Sprintf("%s to %s: %d", picture.Number(from), picture.Number(to), h[bin])})
	}
	return picture.Bars(name, title, picture.Column, 180, bars, x, y).
		Described("%s of %s.", title, document.Counted(total, "value"))
}

func describeTask(t study.Task) (text string) {
	for _, s := range t.Settings {
		text += fmt.Sprintf("%s=%s ", s.Name, s.Text())
	}
	return fmt.Sprintf("%d: %s", t.Index, text)
}
