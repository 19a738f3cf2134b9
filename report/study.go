package report

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// Study is the content of the page of a study.
type Study struct {
	Name, Command string
	// Tasks is the number of tasks; Done, Failed and Missing count their ends.
	Tasks, Done, Failed, Missing int
	Verdicts                     map[string]int
	// CPUSeconds is the CPU time of all tasks, and Longest the seconds of the longest.
	CPUSeconds, Longest float64
	// Seconds, MiB and Probabilities are distributions over tasks, and over all probabilities of
	// all answers.
	Seconds, MiB, Probabilities []Bin
	// Settings are the tasks with each value of each varied setting, by verdict.
	Settings []StudySetting
	// Failures are tasks and why they failed.
	Failures [][2]string
}

// Bin is a bar of a distribution.
type Bin struct {
	From, To float64
	Count    int
}

// StudySetting are the tasks with one value of a setting.
type StudySetting struct {
	Setting, Value string
	Counts         map[string]int
}

// WriteStudy writes the page of a study to a file.
func WriteStudy(path string, s Study) error {
	d := &document.Document{Title: s.Name, Subtitle: fmt.Sprintf("%s of vti %s", counted(s.Tasks, "task"), s.Command)}
	d.Answer = []string{fmt.Sprintf("Of %s %d %s done; %d failed, and %d %s missing.", counted(s.Tasks, "task"), s.Done, english.Form(s.Done, "is", "are"), s.Failed, s.Missing, english.Form(s.Missing, "is", "are"))}
	for _, verdict := range slices.Sorted(maps.Keys(s.Verdicts)) {
		d.Answer = append(d.Answer, fmt.Sprintf("%s: %s.", counted(s.Verdicts[verdict], "answer"), verdict))
	}
	d.Answer = append(d.Answer, fmt.Sprintf("They took %s s of processor time, the longest %s s in all.", picture.Number(s.CPUSeconds), picture.Number(s.Longest)))
	mark := document.Mark{Name: "Study"}
	switch {
	case s.Failed > 0:
		mark.Kind, mark.Word, mark.Text = "bad", "failures", fmt.Sprintf("%s without an answer: what is said of the others may not hold for all", counted(s.Failed, "task"))
		d.Next = append(d.Next, "Read why tasks failed, below; vti study run --failed tries them again.")
	case s.Missing > 0:
		mark.Kind, mark.Word, mark.Text = "fair", "incomplete", fmt.Sprintf("%s not at an end", counted(s.Missing, "task"))
		d.Next = append(d.Next, "Go on with vti study run.")
	default:
		mark.Kind, mark.Word, mark.Text = "good", "complete", "every task has an answer"
		d.Next = append(d.Next, "Gather the answers with vti study collect.")
	}
	spread := &document.Section{ID: "distributions", Title: "Distributions"}
	for _, one := range []struct {
		name, title, x, y string
		bins              []Bin
	}{
		{"probabilities", "Probabilities of all answers", "probability", "number", s.Probabilities},
		{"seconds", "Processor time of tasks", "log₁₀ seconds", "tasks", s.Seconds},
		{"memory", "Memory of tasks", "log₁₀ MiB", "tasks", s.MiB},
	} {
		if len(one.bins) > 0 {
			spread.Place(binsPicture(one.name, one.title, one.x, one.y, one.bins))
		}
	}
	failures := document.NewTable("Tasks without an answer", "<task", "<why").Opened()
	for _, one := range s.Failures {
		failures.Add(one[0], one[1])
	}
	d.Marks = []document.Mark{mark}
	d.Sections = []*document.Section{
		{ID: "verdicts", Title: "Verdicts", Tables: []*document.Table{s.settings()}}, spread,
		{ID: "failed", Title: "Failures", Tables: []*document.Table{failures}},
	}
	if err := d.Draw(context.Background(), "study"); err != nil {
		return err
	}
	p := &document.Page{Title: filepath.Base(s.Name), Subtitle: d.Subtitle, Version: vti.Version, Documents: []*document.Document{d}}
	return atomicfile.Write(path, p.Write)
}

func (s Study) settings() *document.Table {
	endings := map[string]bool{}
	for _, one := range s.Settings {
		for ending := range one.Counts {
			endings[ending] = true
		}
	}
	order := slices.Sorted(maps.Keys(endings))
	t := document.NewTable("How tasks ended, by setting", append([]string{"<setting", "<value"}, order...)...).Opened()
	for _, one := range s.Settings {
		row := []string{one.Setting, one.Value}
		for _, ending := range order {
			row = append(row, strconv.Itoa(one.Counts[ending]))
		}
		t.Add(row...)
	}
	return t
}

func binsPicture(name, title, x, y string, bins []Bin) *picture.Picture {
	var bars []picture.Bar
	total := 0
	for _, b := range bins {
		total += b.Count
		bars = append(bars, picture.Bar{From: b.From, To: b.To, Value: float64(b.Count), Compared: math.NaN(),
			Hint: fmt.Sprintf("%s to %s: %d", picture.Number(b.From), picture.Number(b.To), b.Count)})
	}
	p := picture.Bars(name, title, picture.Column, 180, bars, x, y)
	p.Text = fmt.Sprintf("%s of %s.", title, counted(total, "value"))
	return p
}
