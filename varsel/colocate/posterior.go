package colocate

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"
)

// blocks is the number of parts into which the draws of a run are divided. The differences between
// parts give standard errors.
const blocks = 20

// weightedModel is a model of a run: its predictors that both runs have, and the number of draws of
// this model in each block.
type weightedModel struct {
	members []int
	draws   [blocks]float64
}

// sizes holds the numbers of predictors of a model of run A, of a model of run B, and of both
// models.
type sizes struct{ a, b, shared int }

// pairs summarises all pairs of a model of run A and a model of run B. For each value of sizes,
// count holds the number of pairs of draws, by the block of the draw of A and the block of the draw
// of B.
type pairs struct {
	predictors int
	count      map[sizes]*[blocks][blocks]float64
	keys       []sizes // keys of count, sorted
}

func newPairs(a, b []weightedModel, predictors int) *pairs {
	p := &pairs{predictors: predictors, count: map[sizes]*[blocks][blocks]float64{}}
	eachPair(a, b, predictors, func(m, n *weightedModel, shared []int) {
		key := sizes{len(m.members), len(n.members), len(shared)}
		if p.count[key] == nil {
			p.count[key] = new([blocks][blocks]float64)
		}
		for i, x := range m.draws {
			if x == 0 {
				continue
			}
			for j, y := range n.draws {
				p.count[key][i][j] += x * y
			}
		}
	})
	p.keys = slices.SortedFunc(maps.Keys(p.count), func(x, y sizes) int {
		return slices.Compare([]int{x.a, x.b, x.shared}, []int{y.a, y.b, y.shared})
	})
	return p
}

// eachPair calls visit for every pair of models, with the predictors that they share.
func eachPair(a, b []weightedModel, predictors int, visit func(m, n *weightedModel, shared []int)) {
	in, shared := make([]bool, predictors), []int(nil)
	for k := range a {
		for _, j := range a[k].members {
			in[j] = true
		}
		for l := range b {
			shared = shared[:0]
			for _, j := range b[l].members {
				if in[j] {
					shared = append(shared, j)
				}
			}
			visit(&a[k], &b[l], shared)
		}
		for _, j := range a[k].members {
			in[j] = false
		}
	}
}

// oddsOf returns the odds r with which two models of one predictor are the same with probability
// prior: r / (r + predictors − 1) = prior.
func oddsOf(prior float64, predictors int) float64 {
	return prior * float64(predictors-1) / (1 - prior)
}

// factors returns, for each value of sizes, the ratio of the joint prior of a model A and a model B
// to the product of their priors. Given the size of B, the prior of B is proportional to r^k, where
// r is the argument odds, and k of the p predictors are in both models. The ratio is
//
//	r^k / Σ_i C(|A|, i) C(p−|A|, |B|−i) r^i · C(p, |B|).
//
// The sizes of both models keep their priors.
func (p *pairs) factors(odds float64) map[sizes]float64 {
	ways := func(n, k int) float64 {
		if k < 0 || k > n {
			return math.Inf(-1)
		}
		return combin.LogGeneralizedBinomial(float64(n), float64(k))
	}
	list, log := make(map[sizes]float64, len(p.keys)), math.Log(odds)
	for _, s := range p.keys {
		norm := 0.0 // the sum of r^(i−k) instead of r^i, since sizes may be large
		for i := range min(s.a, s.b) + 1 {
			norm += math.Exp(ways(s.a, i) + ways(p.predictors-s.a, s.b-i) - ways(p.predictors, s.b) + float64(i-s.shared)*log)
		}
		list[s] = 1 / norm
	}
	return list
}

// The hypotheses about two traits, numbered as in the R package coloc: which of the traits have
// predictors, and whether they share one.
const (
	neither = iota
	onlyA
	onlyB
	distinct
	shared
	hypotheses
)

func hypothesisOf(s sizes) int {
	switch {
	case s.shared > 0:
		return shared
	case s.a > 0 && s.b > 0:
		return distinct
	case s.a > 0:
		return onlyA
	case s.b > 0:
		return onlyB
	}
	return neither
}

// estimate returns the posterior probabilities of the hypotheses with their standard errors, by the
// jackknife over the blocks of A, and over the blocks of B. Variances are multiplied by inflation,
// one number for each run. A standard error is at least 1/usedDraws, the weight of one draw.
func (p *pairs) estimate(odds float64, inflation [2]float64) (probability, se [hypotheses]float64) {
	factors := p.factors(odds)
	var whole [hypotheses]float64
	var parts [2][blocks][hypotheses]float64 // the summands of whole, by the block of A's draw and by the block of B's draw
	for _, s := range p.keys {
		h := hypothesisOf(s)
		for i, row := range p.count[s] {
			for j, count := range row {
				mass := count * factors[s]
				whole[h] += mass
				parts[0][i][h] += mass
				parts[1][j][h] += mass
			}
		}
	}
	probability = normalised(whole)
	for side := range parts {
		for _, part := range parts[side] {
			rest := whole
			for h := range rest {
				rest[h] -= part[h]
			}
			for h, v := range normalised(rest) {
				se[h] += inflation[side] * (v - probability[h]) * (v - probability[h]) * (blocks - 1) / blocks
			}
		}
	}
	for h := range se {
		se[h] = math.Max(math.Sqrt(se[h]), math.Sqrt(max(inflation[0], inflation[1]))/usedDraws)
	}
	return probability, se
}

func normalised(mass [hypotheses]float64) [hypotheses]float64 {
	sum := floats.Sum(mass[:])
	for h := range mass {
		mass[h] = max(mass[h]/sum, 0) // rounding can make a difference negative
	}
	return mass
}

// sharing returns the probability that each predictor is in both models.
func (p *pairs) sharing(a, b []weightedModel, odds float64) []float64 {
	factors, mass, whole := p.factors(odds), make([]float64, p.predictors), 0.0
	eachPair(a, b, p.predictors, func(m, n *weightedModel, shared []int) {
		weight := factors[sizes{len(m.members), len(n.members), len(shared)}] * m.total() * n.total()
		whole += weight
		for _, j := range shared {
			mass[j] += weight
		}
	})
	for j := range mass {
		mass[j] /= whole
	}
	return mass
}

func (m *weightedModel) total() (sum float64) {
	for _, draws := range m.draws {
		sum += draws
	}
	return sum
}
