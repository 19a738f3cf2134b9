package score

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
)

// GreedyBIC is a local maximum of the log likelihood at its maximum less ½ log n for each
// parameter, with linear mechanisms in the place of networks and a separate variance for each node.
// The error is the error of ctx.
func (p *Problem) GreedyBIC(ctx gocontext.Context) (*dgraph.Graph, error) {
	forms := p.Forms()
	return p.climb(ctx, func(j int, parents dgraph.Set) float64 { return forms[j].bic(parents) })
}

// SplineGain is by how much the log evidence of a graph that a greedy search finds with splines
// exceeds the log evidence of a graph with the mechanisms of the problem, in nats. Where all graphs
// have the same prior probability, the log evidence of all graphs together rises by at least the
// gain + log p, with p the posterior probability of the graph. The error is the error of ctx.
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

// climb goes from the empty graph to the neighbour with the largest sum of scores, by adding,
// removing or turning an edge, until none has a larger one, and returns the last graph. It keeps to
// the constraints and starts from the required edges.
func (p *Problem) climb(ctx gocontext.Context, scoreOf func(j int, parents dgraph.Set) float64) (*dgraph.Graph, error) {
	s, pairs := p.Structure, dgraph.OrderedPairs(p.Structure.Nodes)
	known := map[dgraph.Family]float64{}
	score := func(j int, parents dgraph.Set) float64 {
		f := dgraph.Family{Node: j, Parents: parents}
		value, ok := known[f]
		if !ok {
			value = scoreOf(j, parents)
			known[f] = value
		}
		return value
	}
	parents := slices.Clone(s.Required)
	// the gain of each node by toggling a parent, −Inf where that is not allowed [N][N]
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
		try := func(difference float64, changed func([]dgraph.Set)) {
			if !(difference > gain) {
				return
			}
			next := slices.Clone(parents)
			changed(next)
			if dgraph.Acyclic(next) {
				best, gain = next, difference
			}
		}
		for _, e := range pairs {
			toggle := func(to []dgraph.Set) { to[e.To] = to[e.To].Toggle(e.From) }
			try(gains[e.To][e.From], toggle)
			if parents[e.To].Has(e.From) {
				try(gains[e.To][e.From]+gains[e.From][e.To], func(to []dgraph.Set) {
					toggle(to)
					to[e.From] = to[e.From].With(e.To)
				})
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
