package studies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
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
	page := report.Study{
		Name: plan.Name(), Command: plan.Command, Tasks: found.Tasks, Done: found.Done, Failed: found.Failed, Missing: found.Missing,
		Verdicts: found.Verdicts, CPUSeconds: found.CPUSeconds, Longest: found.Longest,
		Seconds: logBins(found.Seconds, 0), MiB: logBins(found.Bytes, -20*math.Log10(2)),
	}
	for _, bin := range slices.Sorted(maps.Keys(found.Probabilities)) {
		page.Probabilities = append(page.Probabilities, report.Bin{From: float64(bin) / 20, To: float64(bin+1) / 20, Count: found.Probabilities[bin]})
	}
	for _, one := range found.BySetting {
		page.Settings = append(page.Settings, report.StudySetting(one))
	}
	for _, one := range found.Failures {
		page.Failures = append(page.Failures, [2]string{describeTask(plan.Task(one.Index)), one.Error})
	}
	out = cmp.Or(out, filepath.Join(plan.Dir(), report.File))
	if err := report.WriteStudy(out, page); err != nil {
		return "", shell.Failed(err)
	}
	return out, nil
}

// logBins are the bins of a study by powers of ten, moved by shift.
func logBins(h study.Histogram, shift float64) (bins []report.Bin) {
	for _, bin := range slices.Sorted(maps.Keys(h)) {
		bins = append(bins, report.Bin{From: float64(bin)/10 + shift, To: float64(bin+1)/10 + shift, Count: h[bin]})
	}
	return bins
}

func describeTask(t study.Task) (text string) {
	for _, s := range t.Settings {
		text += fmt.Sprintf("%s=%s ", s.Name, s.Text())
	}
	return fmt.Sprintf("%d: %s", t.Index, text)
}
