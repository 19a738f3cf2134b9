package modeldist

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
)

// Neighbours is a distribution over sets of items near given sets, the centres, computed in plain
// Go. A draw chooses a centre at random, leaves out each item of the centre with probability
// leftOut, and adds other items independently. Neighbours complements a distribution fitted to
// draws, in which details of the draws are lost.
type Neighbours struct {
	centres [][]int32
	with    map[int32][]int // for each item, the distinct centres that contain it
	logOdds []float64       // log odds that an item is added, by item
	base    float64         // log probability that nothing is added to an empty set
	// constant holds, for each distinct centre, its log probability, plus the log probability that
	// the draw leaves out all items of the centre and adds nothing, less base.
	constant []float64
	skip     []float64 // for each item, −Σ log(1 − p) over the items before it, added with probabilities p; last, the sum over all items
	terms    []float64 // scratch of LogProb
}

const (
	// leftOut is the probability with which a member is left out. added is the expected number of
	// added items. Half and twice the values give the same answers (docs/benchmarks/constants.md).
	leftOut = 0.2
	added   = 0.7
	// mostAdded is the largest probability of adding an item. Half and twice the value give the
	// same answers (docs/benchmarks/constants.md).
	mostAdded = 0.2
)

// NewNeighbours returns the distribution around centres, which are ascending sets of items. The
// probability that an item is added is the sum of two halves: one is equal for all items, and one
// is proportional to the weight of the item.
func NewNeighbours(centres [][]int32, weights []float64) *Neighbours {
	if len(centres) == 0 {
		panic("modeldist.NewNeighbours: got no centres")
	}
	n := &Neighbours{centres: centres, with: map[int32][]int{}, logOdds: make([]float64, len(weights)), skip: make([]float64, len(weights)+1)}
	total := floats.Sum(weights)
	for item, weight := range weights {
		p := math.Min(mostAdded, added*(weight/total+1/float64(len(weights)))/2)
		n.logOdds[item] = math.Log(p) - math.Log1p(-p)
		n.base += math.Log1p(-p)
		n.skip[item+1] = n.skip[item] - math.Log1p(-p)
	}
	different := tally{index: map[string]int{}}
	for _, centre := range centres {
		row := apply.To(centre, func(item int32) int { return int(item) })
		different.add(row, 1)
	}
	for k, centre := range different.rows {
		constant := math.Log(different.times[k] / float64(len(centres)))
		for _, item := range centre {
			n.with[int32(item)] = append(n.with[int32(item)], k)
			constant += n.skip[item+1] - n.skip[item] + math.Log(leftOut)
		}
		n.constant = append(n.constant, constant)
	}
	n.terms = make([]float64, len(n.constant))
	return n
}

// Draw returns a random set, ascending.
func (n *Neighbours) Draw(random *rand.Rand) (set []int32) {
	centre := n.centres[random.IntN(len(n.centres))]
	set = apply.Keep(centre, func(int32) bool { return random.Float64() >= leftOut })
	all := n.skip[len(n.skip)-1]
	for position := random.ExpFloat64(); position < all; {
		next, _ := slices.BinarySearch(n.skip, position)
		if _, member := slices.BinarySearch(centre, int32(next-1)); !member {
			set = append(set, int32(next-1))
		}
		position = n.skip[next] + random.ExpFloat64()
	}
	slices.Sort(set)
	return set
}

// LogProb returns the log probability of a set. Only one goroutine may call it at a time.
func (n *Neighbours) LogProb(set []int32) float64 {
	copy(n.terms, n.constant)
	logProb := n.base
	for _, item := range set {
		logProb += n.logOdds[item]
		kept := math.Log1p(-leftOut) - math.Log(leftOut) - n.logOdds[item] // the item of a centre is kept, instead of left out and counted as added
		for _, k := range n.with[item] {
			n.terms[k] += kept
		}
	}
	largest, sum := slices.Max(n.terms), 0.0
	for _, term := range n.terms {
		if d := term - largest; d > -40 {
			sum += math.Exp(d)
		}
	}
	return logProb + largest + math.Log(sum)
}
