package walk

import (
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
)

// wideChains is the number of chains over graphs of more than [dgraph.ManyNodes] nodes. A round of
// six such chains takes minutes.
const wideChains = 4

// wideCandidates is the number of candidates of each node in graphs of more than [dgraph.ManyNodes]
// nodes. With two more candidates, the tables of their sets take four times as long.
const wideCandidates = 10

// selectForward chooses the candidates of node j, its likely parents, by forward selection: each is
// the node that raises the log evidence of j the most if it is added to the required parents and
// the candidates before it. A set of parents that have an effect only together (findTogether) comes
// first. The selection compares joint log evidences ([score.Joint]), so that one step takes about
// as long as a single evidence for each node.
func (c *candidates) selectForward(j, limit int) {
	s, joint := c.problem.Structure, c.joints[j]
	chosen := c.together[j].most.List()
	left := s.Allowed[j].Minus(s.Required[j]).Minus(c.together[j].most).List()
	for len(chosen) < limit && len(left) > 0 {
		best := bestAddition(joint, j, s.Required[j].Or(dgraph.SetOf(chosen...)), left)
		chosen = append(chosen, left[best])
		left = slices.Delete(left, best, best+1)
	}
	c.parents[j] = chosen[:min(len(chosen), limit)]
}

// bestAddition returns the index in left of the node that, added to the given parents of j, raises
// the log evidence of j the most.
func bestAddition(joint score.Joint, j int, parents dgraph.Set, left []int) (best int) {
	with, without := make([]float64, len(left)), make([]float64, len(left))
	stack, _ := joint.Stack(parents.With(j), left)
	stack.Evidences(with)
	stack, _ = joint.Stack(parents, left)
	stack.Evidences(without)
	highest := math.Inf(-1)
	for k := range left {
		if gain := with[k] - without[k]; gain > highest {
			best, highest = k, gain
		}
	}
	return best
}
