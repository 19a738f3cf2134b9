package report

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// provenance returns the last section of a document: the command that repeats the run, and all
// settings of the run.
func (s *source) provenance() *document.Section {
	h := s.header
	facts := document.NewTable("The run", "<what", "<value").Opened()
	add := func(name, value string) {
		if value != "" {
			facts.Add(name, value)
		}
	}
	add("version", "vti "+h.Version)
	add("table", filepath.Base(h.Data))
	add("fingerprint (SHA-256)", h.Fingerprint)
	add("device", joined(h.Device, h.Backend))
	add("started", h.Started.Format(time.RFC3339))
	if h.Finished != nil {
		add("finished", h.Finished.Format(time.RFC3339))
	}
	if h.Seconds != nil {
		add("seconds in all", picture.Number(h.Seconds.Total))
	}
	settings := document.NewTable("Every setting", "<setting", "<value")
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		settings.Add(name, withoutFolder(s.settings[name]))
	}
	facts.OnPage, settings.OnPage = true, true
	return &document.Section{ID: "repeat", Title: "How to repeat this", Code: s.command(), Tables: []*document.Table{facts, settings},
		Lead: "The same version gives the same numbers from the same table on the same kind of device. The fingerprint says whether a table is the same."}
}

func joined(a, b string) string {
	if a == "" || b == "" || a == b {
		return a + b
	}
	return a + " (" + b + ")"
}

// training draws the loss while training. It returns nil if the run trained nothing.
func (s *source) training() *picture.Picture {
	x, y := s.trace["step"], s.trace["loss"]
	if len(finite(y)) < 2 || len(x) != len(y) {
		return nil
	}
	// leave out huge losses of the first steps, which would hide the later course
	shown := slices.Clone(y)
	sorted := finite(y)
	slices.Sort(sorted)
	limit := sorted[len(sorted)*9/10] + 3*(sorted[len(sorted)*9/10]-sorted[0])
	above := 0
	for k := range shown {
		if shown[k] > limit {
			shown[k] = math.NaN()
			above++
		}
	}
	p := picture.Lines("training", "Loss while training", picture.Column, 150, []picture.Curve{{X: x, Y: shown, Ink: picture.First}}, "step", "loss in nats")
	p.Text = fmt.Sprintf("The loss goes from %s at step %s to %s at step %s.", picture.Digits(y[0], 6), picture.Number(x[0]), picture.Digits(y[len(y)-1], 6), document.Grouped(int(x[len(x)-1])))
	if above > 0 {
		p.Text += fmt.Sprintf(" %s %s above the picture.", document.Counted(above, "logged step"), english.Form(above, "lies", "lie"))
	}
	return p
}

// weights draws, for n models, Pareto's k̂ of the importance weights of a model against its
// probability. It returns nil if fewer than two models have a k̂.
func weights[F ~float64](n int, weight func(model int) (p F, kHat *F)) *picture.Picture {
	var points []picture.Point
	worst := math.Inf(-1)
	for k := range n {
		if p, kHat := weight(k); p > 0 && document.Finite(kHat) {
			points = append(points, picture.Point{X: math.Log10(float64(p)), Y: float64(*kHat)})
			worst = math.Max(worst, float64(*kHat))
		}
	}
	if len(points) < 2 {
		return nil
	}
	const most = 1500 // the largest number of points that a reader can distinguish
	points = points[:min(len(points), most)]
	low, high := points[0].X, points[0].X
	for _, point := range points {
		low, high = math.Min(low, point.X), math.Max(high, point.X)
	}
	return picture.Scatter("weights", "Importance weights of each model", picture.Column, 150, points,
		[]picture.Reference{{X0: low, Y0: 0.7, X1: high, Y1: 0.7}}, "log10 of the model's probability", "Pareto k̂").
		Described("Pareto k̂ of the weights of %s; the largest is %s. Above 0.7, the dashed line, weights cannot be relied on.", document.Counted(len(points), "model"), picture.Number(worst))
}
