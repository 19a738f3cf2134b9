package walk

import (
	"cmp"
	gocontext "context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/shard"
)

// candidates holds, for each node, its likely parents with the scores of all sets of these parents.
// It does not change after construction. Candidates affect the proposals of chains over graphs, not
// the distribution to which the chains converge: sets with other parents are reached edge by edge.
type candidates struct {
	problem *score.Problem
	forms   []score.Form           // form of each node
	failed  *atomic.Pointer[error] // first error in computing a score
	parents [][]int                // candidates of each node, the most likely first
	// log evidence ℓ_j of the required parents together with the candidates in a mask [N][2^K], for
	// K candidates; −Inf if the set is forbidden
	scores [][]float64
	priors [][]float64   // prior log weights of the same sets
	joints []score.Joint // joint distribution over the rows that count for each node
	// sets of parents of each node, in addition to required parents, that have an effect only
	// together
	together []*together
}

// newCandidates chooses likely parents of each node and scores their sets. A parent of node j ranks
// by its largest gain in ℓ_j if it is added to one of these sets: the empty set, good single
// parents, and the parents of j in the graph of a greedy search. It also ranks by its gain in a set
// of parents that have an effect only together (findTogether). The first candidates are the
// neighbours of j in the graph of the greedy search, and the parents in the set with the largest
// joint gain. With more than [dgraph.ManyNodes] nodes, selectForward chooses the candidates
// instead. limit is the number of candidates of a node.
func newCandidates(ctx gocontext.Context, part *shard.Shard, p *score.Problem, limit int, progress func(done, total int)) (*candidates, error) {
	nodes := p.Data.Nodes()
	c := candidatesOf(p, make([][]int, nodes))
	var greedy *dgraph.Graph
	if nodes <= dgraph.ManyNodes {
		var err error
		if greedy, err = p.GreedyBIC(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.findTogether(ctx); err != nil {
		return nil, err
	}
	done, report := 0, sync.Mutex{}
	err := c.scoreNodes(ctx, part, "candidates", nil, func(j int) {
		if greedy == nil {
			c.selectForward(j, limit)
		} else {
			c.screen(ctx, j, greedy, limit)
		}
		c.scoreSets(ctx, j)
		report.Lock()
		defer report.Unlock()
		done++
		progress(done, nodes)
	})
	return c, err
}

// candidatesOf returns the given candidates without scores.
func candidatesOf(p *score.Problem, parents [][]int) *candidates {
	return &candidates{problem: p, forms: p.Forms(), failed: new(atomic.Pointer[error]), parents: parents, scores: make([][]float64, len(parents)), priors: make([][]float64, len(parents))}
}

// findTogether finds, for each node, the sets of parents that have an effect only together, in
// addition to the required parents.
func (c *candidates) findTogether(ctx gocontext.Context) error {
	c.joints, c.together = make([]score.Joint, len(c.parents)), make([]*together, len(c.parents))
	for _, group := range sameRows(c.problem) {
		joint := c.problem.NewJoint(group[0])
		found, err := findTogether(ctx, c.problem, joint, group, c.problem.Structure.Required[group[0]])
		if err != nil {
			return err
		}
		for _, j := range group {
			c.joints[j], c.together[j] = joint, found[j]
		}
	}
	return nil
}

// score returns ℓ_j(pa). If the value is not finite it returns −Inf and stores the error, which
// ends the run.
func (c *candidates) score(j int, parents dgraph.Set) float64 {
	value := c.forms[j].LogEvidence(parents)
	if err := c.problem.CheckScore(dgraph.Family{Node: j, Parents: parents}, value); err != nil {
		c.failed.CompareAndSwap(nil, &err)
		return math.Inf(-1)
	}
	return value
}

// err returns the first error in computing a score.
func (c *candidates) err() error {
	if first := c.failed.Load(); first != nil {
		return *first
	}
	return nil
}

func (c *candidates) screen(ctx gocontext.Context, j int, greedy *dgraph.Graph, limit int) {
	s := c.problem.Structure
	free := s.Allowed[j].Minus(s.Required[j]).List()
	required := c.score(j, s.Required[j])
	single := make(map[int]float64, len(free))
	for _, i := range free {
		single[i] = c.score(j, s.Required[j].With(i)) - required
	}
	byGain := func(gain map[int]float64) {
		slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(gain[b], gain[a]) })
	}
	byGain(single)
	const companions = 8
	bases := []dgraph.Set{s.Required[j].Or(dgraph.SetOf(greedy.Parents(j)...))}
	bases = append(bases, apply.To(free[:min(len(free), companions)], s.Required[j].With)...)
	best := single
	for _, base := range bases {
		baseScore := c.score(j, base)
		for _, i := range free {
			if base.Has(i) {
				best[i] = math.Max(best[i], baseScore-c.score(j, base.Without(i)))
			} else {
				best[i] = math.Max(best[i], c.score(j, base.With(i))-baseScore)
			}
		}
	}
	first := dgraph.SetOf(apply.Keep(free, func(i int) bool { return greedy.Adjacent(i, j) })...)
	found := []*together{c.together[j]}
	if bases[0] != s.Required[j] {
		beside, err := findTogether(ctx, c.problem, c.joints[j], []int{j}, bases[0])
		if err != nil {
			return // ctx was cancelled
		}
		found = append(found, beside[j])
	}
	for _, one := range found {
		for i, gain := range one.gains {
			best[i] = math.Max(best[i], gain)
		}
		first = first.Or(one.most)
	}
	slices.SortStableFunc(free, func(a, b int) int {
		neighbours := cmp.Compare(dgraph.Indicator(first.Has(b)), dgraph.Indicator(first.Has(a)))
		return cmp.Or(neighbours, cmp.Compare(best[b], best[a]))
	})
	c.parents[j] = slices.Clone(free[:min(len(free), limit)])
}

const (
	// missedVisits is the largest fraction of graphs in which a node may have a parent that is not
	// a candidate. If this parent occurs more often, the node gets new candidates.
	missedVisits = 0.05
	moreRefined  = 2 // largest number of additional candidates
)

// refined returns new candidates for nodes that often have a parent which is not a candidate. The
// new candidates are the most frequent parents. Their number grows if a frequent parent would
// otherwise be left out. This finds parents that have an effect only together with certain other
// parents, and that newCandidates missed. Many rare parents outside the candidates, as in large
// sparse graphs, do not lead to new candidates, because steps of single edges find such parents.
func (c *candidates) refined(ctx gocontext.Context, part *shard.Shard, visits [][]float64, limit int) (*candidates, error) {
	r := &candidates{problem: c.problem, forms: c.forms, failed: c.failed, parents: slices.Clone(c.parents), scores: slices.Clone(c.scores), priors: slices.Clone(c.priors)}
	err := r.scoreNodes(ctx, part, "refined", visits, func(j int) {
		s := c.problem.Structure
		others := s.Allowed[j].Minus(s.Required[j]).Minus(dgraph.SetOf(c.parents[j]...)).List()
		missed := func(i int) bool { return visits[j][i] > missedVisits }
		if !slices.ContainsFunc(others, missed) {
			return
		}
		ranked := slices.Concat(c.parents[j], others)
		slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(visits[j][b], visits[j][a]) })
		count := len(c.parents[j])
		for count < min(len(ranked), limit+moreRefined) && missed(ranked[count]) {
			count++
		}
		if dgraph.SetOf(ranked[:count]...) != dgraph.SetOf(c.parents[j]...) {
			r.parents[j] = ranked[:count]
			r.scoreSets(ctx, j)
		}
	})
	return r, err
}

func (c *candidates) parentsOf(j int, mask int) dgraph.Set {
	parents := c.problem.Structure.Required[j]
	for k, i := range c.parents[j] {
		if mask>>k&1 != 0 {
			parents = parents.With(i)
		}
	}
	return parents
}

// scoreSets scores all sets of candidates of node j. It stops when ctx is cancelled.
func (c *candidates) scoreSets(ctx gocontext.Context, j int) {
	c.scores[j], c.priors[j] = make([]float64, 1<<len(c.parents[j])), make([]float64, 1<<len(c.parents[j]))
	for mask := range c.scores[j] {
		if ctx.Err() != nil {
			return
		}
		c.scores[j][mask] = math.Inf(-1)
		if set := c.parentsOf(j, mask); c.problem.Structure.Allows(j, set) {
			c.scores[j][mask], c.priors[j][mask] = c.score(j, set), c.problem.Structure.Prior.LogWeight(j, set)
		}
	}
}
