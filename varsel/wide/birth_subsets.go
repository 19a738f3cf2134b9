package wide

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
)

// subsets chooses the columns of each sweep: all members of the model, all columns in the list
// often, and each other column with probability share. Given these columns, a model among them has
// a posterior probability in proportion to its probability without the choice, times a factor of
// 1/share for each of its members outside often, since such a column is chosen for certain if it is
// a member, and with probability share otherwise. Births of these columns are more frequent by this
// factor. A sweep then leaves the posterior over all models invariant, and takes a time that does
// not grow with the number of columns.
type subsets struct {
	often, rare []int
	isRare      []bool // whether a column is in rare [C]
	share       float64
	// terms holds, for each column, its log prior odds apart from the size of the model, less
	// log(share) if the column is not in often. weights holds their exponentials [C]. Both are nil
	// if all terms are 0.
	terms, weights []float64
}

// Settings of the subsets. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	// oftenColumns columns are in every sweep, and of the others rareColumns on average.
	oftenColumns = 256
	rareColumns  = 128
	// pilotChains chains of pilotRounds rounds of pilotSweeps sweeps find the columns that are
	// often members. These columns decide how fast chains mix, and not what they converge to.
	pilotChains = 8
	pilotRounds = 2
	pilotSweeps = 256
)

// birthStart is a state of a chain, with the columns of its members.
type birthStart interface {
	rjmcmc.CollapsedState
	present() []int
}

// setOften makes the given columns the columns in every sweep, and sets the average number of other
// columns to rare.
func (b *births) setOften(columns []int, rare float64) {
	b.subsets = subsets{often: columns, isRare: slices.Repeat([]bool{true}, b.columns)}
	for _, c := range columns {
		b.isRare[c] = false
	}
	for c := b.fixed; c < b.columns; c++ {
		if b.isRare[c] {
			b.rare = append(b.rare, c)
		}
	}
	b.share = min(1, rare/float64(len(b.rare)))
	if b.prior.Members == nil && len(b.rare) == 0 {
		return
	}
	b.terms, b.weights = make([]float64, b.columns), make([]float64, b.columns)
	for c := b.fixed; c < b.columns; c++ {
		b.terms[c] = b.prior.Member(c - b.fixed)
		if b.isRare[c] {
			b.terms[c] -= math.Log(b.share)
		}
	}
	vectors.Exp(b.weights, b.terms)
}

// pilot finds the columns that are often members of the model, by short chains.
func (b *births) pilot() {
	if b.columns <= oftenColumns+rareColumns {
		return
	}
	states, randoms, visits := make([]birthStart, pilotChains), make([]*rand.Rand, pilotChains), make([][]int, pilotChains)
	for k := range states {
		random := stream.Rand(0, fmt.Sprintf("births/pilot/%d", k))
		model := b.drawModel(random)
		if k%2 == 1 {
			model = b.largestModel(random)
		}
		state, err := b.start(model, random)
		if err != nil {
			return // later chains from such a state report it
		}
		states[k], randoms[k], visits[k] = state, random, make([]int, b.columns)
	}
	b.setOften(b.membersFound(), rareColumns)
	for range pilotRounds {
		parallel.Run(pilotChains, func(k int) {
			for range pilotSweeps {
				if math.IsNaN(states[k].Sweep(1, randoms[k])) {
					return
				}
				for _, member := range states[k].present() {
					visits[k][member]++
				}
			}
		})
		b.learn(visits)
	}
}

// learn sets the columns in every sweep. For each of several chains, visits holds the number of
// sweeps in which each column was a member.
func (b *births) learn(visits [][]int) {
	total := make([]int, b.columns)
	for _, counts := range visits {
		for c, n := range counts {
			total[c] += n
		}
	}
	often := b.membersFound()
	for _, c := range rank.Order(b.columns, func(i, j int) int { return cmp.Compare(total[j], total[i]) }) {
		if c >= b.fixed && len(often) < oftenColumns && !slices.Contains(often, c) {
			often = append(often, c)
		}
	}
	b.setOften(often, rareColumns)
}

// membersFound returns the columns of the predictors in the models found before, at most half of
// oftenColumns.
func (b *births) membersFound() (columns []int) {
	for _, code := range b.found {
		for _, c := range b.active(code).Places {
			if c >= b.fixed && c < b.columns && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
			if len(columns) == oftenColumns/2 {
				return columns
			}
		}
	}
	return columns
}

// choose chooses the columns of a sweep that begins at the given members, which come first.
func (p *birthProcess) choose(members []int, random *rand.Rand) {
	for _, c := range p.columns {
		p.chosen[c] = false
	}
	p.columns = p.columns[:0]
	add := func(c int) {
		if !p.chosen[c] {
			p.chosen[c], p.columns = true, append(p.columns, c)
		}
	}
	for _, c := range members {
		add(c)
	}
	for _, c := range p.often {
		add(c)
	}
	if len(p.rare) > 0 {
		between := -1 / math.Log1p(-p.share) // the number of columns between two chosen ones has a geometric distribution
		for i := int(between * random.ExpFloat64()); i < len(p.rare); i += 1 + int(between*random.ExpFloat64()) {
			add(p.rare[i])
		}
	}
}
