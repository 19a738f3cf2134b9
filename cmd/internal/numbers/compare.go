package numbers

import (
	"context"
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/mixture"
	runs "github.com/transdim/vti/run"
)

// Comparison is a comparison of two runs whose models are numbers: numbers of components, numbers
// of changes, or orders. The code of a model is its number.
type Comparison struct {
	compare.Comparison
}

// Write stores the comparison in a directory.
func (c *Comparison) Write(dir string) error { return c.Comparison.Write(dir, c, nil) }

// numbered is a finished run whose models are numbers.
type numbered struct {
	dir string
	*runs.Asked[map[string]any]
	verdict vti.Verdict
	models  []compare.Model
}

func (n *numbered) add(number int, probability, se mixture.Number) {
	n.models = append(n.models, compare.Model{Code: strconv.Itoa(number), Probability: probability, SE: se})
}

// opening returns a function that opens a finished run whose models are numbers. The function list
// copies the models from the result.
func opening[P interface{ *R }, R any](list func(n *numbered, result P)) func(dir string) (*numbered, error) {
	return func(dir string) (*numbered, error) {
		stored, err := runs.ReadStored[runs.Asked[map[string]any], R](dir)
		if err != nil {
			return nil, err
		}
		n := &numbered{dir: dir, Asked: stored.Record}
		list(n, stored.Result)
		return n, nil
	}
}

// compareRuns compares two runs whose models are numbers.
func compareRuns(_ context.Context, x, y *numbered) (*Comparison, error) {
	if err := runs.SameTable(x.dir, &x.Header, y.dir, &y.Header); err != nil {
		return nil, err
	}
	c := &Comparison{compare.Comparison{Schema: "vti/compare-numbers/1", Command: "compare", Version: vti.Version}}
	c.A = compare.Run{RunDir: x.dir, Command: x.Command, Seed: x.Seed, Verdict: &x.verdict}
	c.B = compare.Run{RunDir: y.dir, Command: y.Command, Seed: y.Seed, Verdict: &y.verdict}
	var err error
	if c.Notes, err = compare.Differences([2]any{x.Options, y.Options}); err != nil {
		return nil, err
	}
	c.CompareModels(x.models, y.models)
	c.Disagreements = compare.Disagreements(c.Models)
	return c, nil
}
