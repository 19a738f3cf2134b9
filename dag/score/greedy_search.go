package score

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
)

// GreedyBIC returns a graph at a local maximum of the BIC: the maximum of the log likelihood less ½
// log n for each parameter, with n the number of rows. Mechanisms that are neural networks are
// replaced by linear ones. Each node has its own noise variance. GreedyBIC returns an error only if
// ctx is cancelled, and then wraps the error of ctx.
func (p *Problem) GreedyBIC(ctx gocontext.Context) (*dgraph.Graph, error) {
	forms := p.Forms()
	return p.climb(ctx, func(j int, parents dgraph.Set) float64 { return forms[j].bic(parents) })
}

// SplineGain finds a graph with spline mechanisms by greedy search. It returns the log evidence in
// nats of this graph less the log evidence of the given graph with the mechanisms of the problem.
// If all graphs have the same prior probability, splines raise the log evidence of all graphs
// together by at least gain + log p, with p the posterior probability of the given graph.
// SplineGain returns an error only if ctx is cancelled.
func (p *Problem) SplineGain(ctx gocontext.Context, graph *dgraph.Graph) (gain float64, err error) {
	curved := *p
	curved.Model.Mechanism = sem.Spline
	forms, curves := p.Forms(), curved.newForms()
	found, err := p.climb(ctx, func(j int, parents dgraph.Set) float64 {
		return curves[j].LogEvidence(parents) + p.Structure.Prior.LogWeight(j, parents)
	})
	if err != nil {
		return 0, err
	}
	for j, parents := range graph.ParentSets() {
		gain -= forms[j].LogEvidence(parents)
	}
	for j, parents := range found.ParentSets() {
		gain += curves[j].LogEvidence(parents)
	}
	return gain, nil
}

// climb returns a graph at a local maximum of the sum of scores over nodes. It starts from the
// graph with only the required edges, and adds, removes or reverses the best edge within the
// constraints until no such change raises the sum.
func (p *Problem) climb(ctx gocontext.Context, scoreOf func(j int, parents dgraph.Set) float64) (*dgraph.Graph, error) {
	s, pairs := p.Structure, dgraph.OrderedPairs(p.Structure.Nodes)
	known := dgraph.Known[float64]{}
	score := func(j int, parents dgraph.Set) float64 {
		return known.Of(dgraph.Family{Node: j, Parents: parents}, math.MaxInt, func(dgraph.Family) float64 { return scoreOf(j, parents) })
	}
	parents := slices.Clone(s.Required)
	// gains[j][i] is the gain of the score of node j if parent i is added (if it is no parent yet)
	// or removed, and −Inf if the constraints do not allow it. stale is the set of nodes j whose
	// gains must be computed again.
	gains, stale := dgraph.Zeros(s.Nodes), dgraph.Below(s.Nodes)
	for {
		for j := range stale.Nodes() {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("stopped in greedy search: %w", err)
			}
			for i := range s.Nodes {
				gains[j][i] = math.Inf(-1)
				if toggled := parents[j].Toggle(i); i != j && s.Allows(j, toggled) {
					gains[j][i] = score(j, toggled) - score(j, parents[j])
				}
			}
		}
		best, gain := []dgraph.Set(nil), 1e-9
		changed := func(e dgraph.Edge, turn bool) []dgraph.Set {
			next := slices.Clone(parents)
			next[e.To] = next[e.To].Toggle(e.From)
			if turn {
				next[e.From] = next[e.From].With(e.To)
			}
			return next
		}
		for _, e := range pairs {
			toggled, edge := gains[e.To][e.From], parents[e.To].Has(e.From)
			if toggled > gain && (edge || !dgraph.Reach(parents[e.From], parents).Has(e.To)) {
				best, gain = changed(e, false), toggled
			}
			if turned := toggled + gains[e.From][e.To]; edge && turned > gain {
				if next := changed(e, true); !dgraph.Reach(next[e.To], next).Has(e.From) {
					best, gain = next, turned
				}
			}
		}
		if best == nil {
			return dgraph.FromParents(parents), nil
		}
		stale = dgraph.Set{}
		for j := range parents {
			if parents[j] != best[j] {
				stale = stale.With(j)
			}
		}
		parents = best
	}
}
