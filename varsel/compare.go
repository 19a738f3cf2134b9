package varsel

import (
	gocontext "context"
	"fmt"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/run"
)

// Comparison is the comparison of two runs on the same table.
type Comparison struct {
	compare.Comparison
	// CrossEntropy is set if the first run, A, has draws and the second run, B, has a density.
	CrossEntropy *CrossEntropy `json:"cross_entropy,omitempty"`
	// Inclusion compares the inclusion probabilities of the predictors, in table order.
	Inclusion []compare.Pair `json:"inclusion"`
}

// Compare compares two finished runs. It returns an error if they differ in the table, rows, target
// or predictors.
//
// The cross-entropy needs the table of run b, unchanged. If the table is missing or changed, the
// result has a note instead.
func Compare(ctx gocontext.Context, a, b *StoredRun) (*Comparison, error) {
	if err := comparable(a, b); err != nil {
		return nil, err
	}
	c := &Comparison{Comparison: compare.Comparison{Schema: "vti/compare-selections/1", Command: "compare", Version: vti.Version, A: a.Summary(), B: b.Summary()}}
	var err error
	if c.Notes, err = compare.Differences([2]any{a.Record.Design, b.Record.Design}, [2]any{a.Record.Model.withDefaults(), b.Record.Model.withDefaults()}); err != nil {
		return nil, err
	}
	c.CompareModels(a.Result.listed(), b.Result.listed())
	for s, x := range a.Result.Inclusion {
		y := b.Result.Inclusion[s]
		pair := compare.NewPair(x.Certified, x.SE, y.Certified, y.SE)
		pair.Name = x.Name
		c.Inclusion = append(c.Inclusion, pair)
	}
	c.Disagreements = compare.Disagreements(c.Inclusion, c.Models)
	var note string
	if c.CrossEntropy, note, err = crossEntropy(ctx, a, b); err != nil {
		return nil, err
	}
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
	return c, nil
}

func (r *Result) listed() (list []compare.Model) {
	for _, m := range r.Models {
		list = append(list, compare.Model{Code: m.Code, Probability: m.Certified, SE: m.SE})
	}
	return list
}

// Summary returns the description of the run in a comparison.
func (r *StoredRun) Summary() compare.Run {
	s := compare.Run{RunDir: r.Dir, Command: r.Record.Command, Seed: r.Record.Seed}
	switch {
	case r.Result.Certificate != nil:
		s.Verdict = &r.Result.Certificate.Verdict
	case r.Result.Diagnostics != nil:
		s.Verdict = &r.Result.Diagnostics.Verdict
	}
	return s
}

// Write stores the comparison in a new directory: the comparison as JSON, its two tables as CSV,
// and a plot of the models' probabilities as SVG and PNG. It returns an error if the directory has
// a comparison already.
func (c *Comparison) Write(dir string) error {
	return c.Comparison.Write(dir, c, map[string][][]string{"inclusion.csv": compare.Pairs("name", c.Inclusion)})
}

// comparable returns an error if two runs differ in the table, target, rows or predictors.
func comparable(a, b *StoredRun) error {
	if err := run.SameTable(a.Dir, &a.Record.Header, b.Dir, &b.Record.Header); err != nil {
		return err
	}
	if a.Record.Design.Target != b.Record.Design.Target {
		return fmt.Errorf("%s explains %q and %s explains %q, want one response", a.Dir, a.Record.Design.Target, b.Dir, b.Record.Design.Target)
	}
	if x, y := a.Result.Data.Rows, b.Result.Data.Rows; x != y {
		return fmt.Errorf("%s uses %d rows of the table and %s uses %d, want the same rows", a.Dir, x, b.Dir, y)
	}
	x, y := a.Result.Data.Predictors, b.Result.Data.Predictors
	if slices.Equal(x, y) {
		return nil
	}
	onlyA, onlyB := without(x, y), without(y, x)
	if len(onlyA)+len(onlyB) == 0 {
		return fmt.Errorf("%s and %s list the same predictors in different orders", a.Dir, b.Dir)
	}
	return fmt.Errorf("different predictors to select from: only in %s: %q; only in %s: %q", a.Dir, onlyA, b.Dir, onlyB)
}

// without returns the names in x that are not in y.
func without(x, y []string) []string {
	return slices.DeleteFunc(slices.Clone(x), func(name string) bool { return slices.Contains(y, name) })
}
