package walk

import (
	gocontext "context"
	"math"

	"gonum.org/v1/gonum/stat/combin"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
)

// How many sets of parents of a node are tried for what they give together: all pairs, triples and
// so on as far as that goes. BGe takes a tenth of a microsecond for each, other forms some. Chosen
// by hand: pairs of 128 nodes and triples of 50, and with BGe triples of 100 and four of 50.
const (
	mostSets      = 20000
	mostSetsOfBGe = 1 << 18
)

// together looks for sets of parents of a node, added to a base, that matter only together: whose
// weight, p(pa) p(x_j | x_pa), is more than that of all their subsets. Steps of single edges hardly
// ever find them. It returns for each other node by how much, in nats, a set with it is more than
// its subsets, and the set that is so by most; nodes without such a set are left out.
func (c *candidates) together(ctx gocontext.Context, j int, base dgraph.Set) (gains map[int]float64, most dgraph.Set) {
	s, highest := c.problem.Structure, 0.0
	gains = map[int]float64{}
	items := s.Allowed[j].Minus(base).Minus(dgraph.SetOf(j)).List()
	weight := func(set dgraph.Set) float64 {
		if !s.Allows(j, set) {
			return math.Inf(-1)
		}
		return c.forms[j].LogEvidence(set) + s.Prior.LogWeight(j, set)
	}
	left := mostSets
	if _, quick := c.forms[j].(*score.BGe); quick {
		left = mostSetsOfBGe
	}
	below := []float64{weight(base)} // the largest weight of each set of so many and its subsets
	for size := 1; size <= len(items); size++ {
		count := combin.GeneralizedBinomial(float64(len(items)), float64(size))
		if left -= int(math.Min(count, math.MaxInt32)); left < 0 {
			break
		}
		own := make([]float64, 0, int(math.Round(count)))
		for places := score.UpTo(size); places[size-1] < len(items); nextPlaces(places) {
			if len(own)%1024 == 0 && ctx.Err() != nil {
				return gains, most
			}
			set, top := base, math.Inf(-1)
			for t, place := range places {
				set, top = set.With(items[place]), math.Max(top, below[rankWithout(places, t)])
			}
			value := weight(set)
			if gain := value - top; size > 1 && gain > 0 {
				if gain > highest {
					highest, most = gain, set.Minus(base)
				}
				for _, place := range places {
					gains[items[place]] = math.Max(gains[items[place]], gain)
				}
			}
			own = append(own, math.Max(value, top))
		}
		below = own
	}
	return gains, most
}

// nextPlaces makes a set of places the one after it in colexicographic order.
func nextPlaces(places []int) {
	t := 0
	for t+1 < len(places) && places[t]+1 == places[t+1] {
		places[t] = t
		t++
	}
	places[t]++
}

// rankWithout is the rank of a set of places without one of them.
func rankWithout(places []int, left int) (rank int) {
	size := 0
	for t, place := range places {
		if t != left {
			size++
			rank += choose(place, size)
		}
	}
	return rank
}

// choose is n over k.
func choose(n, k int) int {
	product := 1
	for i := range k {
		product = product * (n - i) / (i + 1)
	}
	return product
}
