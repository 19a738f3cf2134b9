package varsel

import (
	gocontext "context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
)

// Comparison is how far two runs on the same table agree. A and B are the runs in the order given.
type Comparison struct {
	Command string     `json:"command"`
	Version string     `json:"version"`
	A       RunSummary `json:"a"`
	B       RunSummary `json:"b"`
	// Notes are the settings that differ and change the posterior, and what could not be compared.
	Notes []string `json:"notes,omitempty"`
	// TotalVariation is ½ Σ_m |p_A(m) − p_B(m)|. A run that lists only its best models leaves an interval.
	TotalVariation Interval `json:"total_variation"`
	// KLAB is Σ_m p_A(m) log (p_A(m) / p_B(m)) and KLBA the reverse, in nats. They are null unless both runs give
	// the probability of every model, and where a model of one has no probability in the other.
	KLAB Number `json:"kl_a_b"`
	KLBA Number `json:"kl_b_a"`
	// CrossEntropy is there when A has draws and B a density.
	CrossEntropy *CrossEntropy `json:"cross_entropy,omitempty"`
	// Inclusion compares the predictors in table order; Models the models that either run lists, the most probable (in either) first.
	Inclusion []Pair `json:"inclusion"`
	Models    []Pair `json:"models"`
	// Disagreements are the largest differences of predictors and models in units of their combined standard error.
	Disagreements []Pair `json:"disagreements"`
	RunDir        string `json:"run_dir,omitempty"`
}

// RunSummary says what a compared run is.
type RunSummary struct {
	RunDir  string `json:"run_dir"`
	Command string `json:"command"`
	Seed    uint64 `json:"seed"`
	// Verdict is that of the certificate or of the chains; "" for an exact answer.
	Verdict string `json:"verdict,omitempty"`
}

// Interval is what is known of a number; Low equals High when it is known.
type Interval struct {
	Low  Number `json:"low"`
	High Number `json:"high"`
}

// Pair is a probability in both runs. A probability that a run does not give is null.
type Pair struct {
	// Name is a predictor's name, or empty for a model; Code a model's code, or empty for a predictor.
	Name string `json:"name,omitempty"`
	Code string `json:"code,omitempty"`
	A    Number `json:"a"`
	SEA  Number `json:"se_a"`
	B    Number `json:"b"`
	SEB  Number `json:"se_b"`
	// Difference is A − B, and Z that over the root of the summed squares of the standard errors: null when both are zero, or one is not known.
	Difference Number `json:"difference"`
	Z          Number `json:"z"`
}

// Compare sets two finished runs on the same table side by side. Runs on different tables, rows, targets or predictors are refused.
//
// The cross-entropy needs the table of B where its record says, unchanged; without it a note says so.
func Compare(ctx gocontext.Context, a, b *StoredRun) (*Comparison, error) {
	if err := comparable(a, b); err != nil {
		return nil, err
	}
	models := matchModels(a.Result.Models, b.Result.Models)
	c := &Comparison{
		Command: "compare", Version: vti.Version, A: summary(a), B: summary(b), Notes: differences(a, b),
		TotalVariation: models.totalVariation(), KLAB: models.divergence(false), KLBA: models.divergence(true), Models: models.pairs,
	}
	for s, x := range a.Result.Inclusion {
		y := b.Result.Inclusion[s]
		pair := newPair(x.Certified, x.SE, y.Certified, y.SE)
		pair.Name = x.Name
		c.Inclusion = append(c.Inclusion, pair)
	}
	c.Disagreements = largest(append(append([]Pair(nil), c.Inclusion...), c.Models...))
	var note string
	var err error
	if c.CrossEntropy, note, err = crossEntropy(ctx, a, b); err != nil {
		return nil, err
	}
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
	return c, nil
}

func summary(run *StoredRun) RunSummary {
	s := RunSummary{RunDir: run.Dir, Command: run.Record.Command, Seed: run.Record.Seed}
	switch {
	case run.Result.Certificate != nil:
		s.Verdict = run.Result.Certificate.Verdict
	case run.Result.Diagnostics != nil:
		s.Verdict = run.Result.Diagnostics.Verdict
	}
	return s
}

// Names of the files that [Comparison.Write] makes.
const (
	ComparisonFile = "comparison.json"
	figureName     = "models" // .svg and .png
)

// ErrHoldsComparison says that a directory is taken: results are never overwritten.
var ErrHoldsComparison = errors.New("already holds a comparison")

// Write stores the comparison in a directory, which is made: the object as JSON, its two tables as CSV, and the probabilities of the models against
// each other as SVG and PNG. A directory that already holds a comparison is refused.
func (c *Comparison) Write(dir string) error {
	path := filepath.Join(dir, ComparisonFile)
	if rundir.Exists(path) {
		return fmt.Errorf("%s %w (%s): choose another directory", dir, ErrHoldsComparison, ComparisonFile)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	c.RunDir = dir
	for _, file := range []struct {
		name, first string
		pairs       []Pair
	}{{"inclusion.csv", "name", c.Inclusion}, {"models.csv", "code", c.Models}} {
		rows := [][]string{{file.first, "a", "se_a", "b", "se_b", "difference", "z"}}
		for _, p := range file.pairs {
			rows = append(rows, []string{p.Name + p.Code, text(p.A), text(p.SEA), text(p.B), text(p.SEB), text(p.Difference), text(p.Z)})
		}
		if err := atomicfile.Write(filepath.Join(dir, file.name), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }); err != nil {
			return err
		}
	}
	for _, format := range []string{"svg", "png"} {
		if err := c.writeFigure(filepath.Join(dir, figureName+"."+format), format); err != nil {
			return err
		}
	}
	return rundir.WriteJSON(path, c)
}
