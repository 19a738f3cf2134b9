package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/query"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
)

// StoredRun is a finished run, read from its directory.
type StoredRun struct{ run.Stored[Record, Result] }

// OpenRun reads the record and the result of a run directory.
func OpenRun(dir string) (*StoredRun, error) {
	stored, err := run.ReadStored[Record, Result](dir)
	return &StoredRun{stored}, err
}

// Comparison states how far two runs on the same nodes agree. It identifies a graph by the list of
// its edges, in the field Code.
type Comparison struct {
	compare.Comparison
	// Edges compares the probabilities of the edges, in both directions for every pair of nodes.
	Edges []compare.Pair `json:"edges"`
}

// Compare compares two finished runs, which must have the same table, rows and nodes.
func Compare(a, b *StoredRun) (*Comparison, error) {
	if err := run.SameTable(a.Dir, &a.Record.Header, b.Dir, &b.Record.Header); err != nil {
		return nil, err
	}
	x, y := a.Result.Data, b.Result.Data
	if x.Rows != y.Rows {
		return nil, fmt.Errorf("%s uses %d rows of the table and %s uses %d", a.Dir, x.Rows, b.Dir, y.Rows)
	}
	if !slices.Equal(x.Nodes, y.Nodes) {
		return nil, fmt.Errorf("different nodes: %q in %s, %q in %s", x.Nodes, a.Dir, y.Nodes, b.Dir)
	}
	c := &Comparison{Comparison: compare.Comparison{Schema: "vti/compare-graphs/1", Command: "compare", Version: vti.Version, A: a.summary(), B: b.summary()}}
	var err error
	if c.Notes, err = compare.Differences(
		[2]any{a.Record.Columns, b.Record.Columns}, [2]any{a.Record.Constraints, b.Record.Constraints}, [2]any{a.Record.Model, b.Record.Model},
	); err != nil {
		return nil, err
	}
	c.LogEvidence = new(compare.NewPair(a.Result.LogEvidence, a.Result.LogEvidenceSE, b.Result.LogEvidence, b.Result.LogEvidenceSE))
	c.CompareModels(a.Result.listed(), b.Result.listed())
	inA, inB := a.Result.directions(), b.Result.directions()
	for _, e := range dgraph.OrderedPairs(len(x.Nodes)) {
		name := x.Nodes[e.From] + "->" + x.Nodes[e.To]
		p, q := inA[name], inB[name]
		pair := compare.NewPair(p[0], p[1], q[0], q[1])
		pair.Name = name
		c.Edges = append(c.Edges, pair)
	}
	c.Disagreements = compare.Disagreements(c.Edges, c.Models)
	return c, nil
}

// Write stores the comparison in the directory dir, which must not contain a comparison. It writes
// the comparison as JSON, the edges and graphs as CSV, and a plot of the graphs' probabilities in
// one run against the other run as SVG and PNG.
func (c *Comparison) Write(dir string) error {
	return c.Comparison.Write(dir, c, map[string][][]string{"edges.csv": compare.Pairs("edge", c.Edges)})
}

func (r *StoredRun) summary() compare.Run {
	s := compare.Run{RunDir: r.Dir, Command: r.Record.Command, Seed: r.Record.Seed}
	if r.Result.Certificate != nil {
		s.Verdict = &r.Result.Certificate.Verdict
	}
	return s
}

func (r *Result) listed() (list []compare.Model) {
	for _, g := range r.Graphs {
		edges := apply.To(g.Edges, func(e [2]string) string { return e[0] + "->" + e[1] })
		slices.Sort(edges)
		list = append(list, compare.Model{Code: "{" + strings.Join(edges, ", ") + "}", Probability: g.Prob, SE: g.SE})
	}
	return list
}

// directions returns a map from the name a->b of each edge to its probability and standard error.
func (r *Result) directions() map[string][2]Number {
	out := map[string][2]Number{}
	for _, e := range r.Edges {
		out[e.From+"->"+e.To] = [2]Number{e.Prob, e.ProbSE}
		out[e.To+"->"+e.From] = [2]Number{e.ProbReverse, e.ProbReverseSE}
	}
	return out
}

// Ask answers a query from the draws of a finished run, whose table must exist and be unchanged.
// seed is the random seed of simulations that the answer needs in addition to the draws. For tables
// of categories, answers are exact sums given each drawn graph. For tables of numbers they are
// closed forms given the drawn graphs and parameters, and for mixed tables they are simulated. For
// network mechanisms Ask returns an error.
func (s *StoredRun) Ask(ctx gocontext.Context, text string, seed uint64) (*query.Answer, error) {
	p, _, err := s.Record.Problem()
	if err != nil {
		return nil, err
	}
	if p.Model.Mechanism == sem.MLP {
		return nil, fmt.Errorf("%s has networks as mechanisms: queries are for categories, linear and mixed mechanisms", s.Dir)
	}
	if p.Data.Missing != nil {
		return nil, fmt.Errorf("%s has imputed cells: queries are for complete tables, as with dropped rows", s.Dir)
	}
	d, err := effects.ReadDraws(p, s.Dir)
	if err != nil {
		return nil, err
	}
	independent := float64(len(d.Parents))
	if c := s.Result.Certificate; c != nil && c.ESS > 0 {
		independent = math.Min(independent, float64(c.ESS))
	}
	a, err := query.Ask(p, ctx, text, d, independent, stream.Rand(seed, "query"))
	if err != nil {
		return nil, err
	}
	a.RunDir = s.Dir
	if c := s.Result.Certificate; c != nil {
		a.Verdict = c.Verdict.String()
	}
	if s.Record.Columns.Log {
		a.Notes = append([]string{"numbers are logarithms of those of the table"}, a.Notes...)
	}
	return a, nil
}
