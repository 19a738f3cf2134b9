package hbm

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
)

// Importance weights of draws from a family that is too narrow have a heavy tail, which a small
// number of draws does not show. So a fraction of the draws comes from wider distributions, in
// which the standard normal noise z of the family is stretched. The noise of each member that is
// weighted by itself is a block, and the noise of all other variables is one more block. Component
// c of the mixture has probability a_c and multiplies the noise z_v of some variables v by a factor
// s. The density of a draw is the density of the mixture (Hesterberg 1995),
//
//	log r(θ) = log q(θ) + log Σ_c a_c Π_{v stretched by c} N(z_v; 0, s² I) / N(z_v; 0, I)
//
// so that no weight is more than 1 / a_0 times larger than with draws from the family alone.
//
// Component 0 is the family itself. The next two stretch all noise of a block together, such as the
// scale of a grouping, its effects and the intercept. The last component stretches a single
// variable, each with the same probability: the tail of a scale is not normal, and a stretch of all
// numbers of a large block would reach it too seldom.
//
// The squared length of d standard normal numbers has mean d and standard deviation √(2d).
// Stretching adds b √(2d) to the mean, where b is the field beyond. Half and twice the shares of
// the wider components give the same answers (docs/benchmarks/constants.md). If the family is
// exact, the wider components cost 30 percent of the effective draws. With beyond = 9 for single
// variables, one of two fits of the family pavi-f is doubtful (k̂ 0.63), on tables whose groups may
// not differ; with 20 both are trusted and right.
var widenings = [...]struct {
	share, beyond float64
	single        bool
}{{share: 0.65}, {share: 0.15, beyond: 3}, {share: 0.10, beyond: 9}, {share: 0.10, beyond: 20, single: true}}

// stretchOf returns the factor s by which d numbers are stretched.
func stretchOf(d int, beyond float64) float64 {
	return math.Sqrt(1 + beyond*math.Sqrt(2/float64(max(d, 1))))
}

// logStretched returns log N(z; 0, s² I) − log N(z; 0, I) of d numbers whose squares sum to
// squares.
func logStretched(d int, s, squares float64) float64 {
	return squares/2*(1-1/(s*s)) - float64(d)*math.Log(s)
}

// block is noise that is stretched together. sizes holds its number of entries for each latent
// variable, total the sum of sizes, and present the variables whose size is not zero.
type block struct {
	sizes   []int
	total   int
	present []int
}

func newBlock(sizes []int) block {
	b := block{sizes: sizes}
	for v, d := range sizes {
		b.total += d
		if d > 0 {
			b.present = append(b.present, v)
		}
	}
	return b
}

// stretch draws the factor of each variable, for the component that u in [0, 1) selects.
func (b block) stretch(random *rand.Rand, u float64, factors []float64) {
	c := 0
	for c < len(widenings)-1 && u >= widenings[c].share {
		u -= widenings[c].share
		c++
	}
	one := -1
	if widenings[c].single && len(b.present) > 0 {
		one = b.present[random.IntN(len(b.present))]
	}
	for v := range factors {
		switch {
		case !widenings[c].single:
			factors[v] = stretchOf(b.total, widenings[c].beyond)
		case v == one:
			factors[v] = stretchOf(b.sizes[v], widenings[c].beyond)
		default:
			factors[v] = 1
		}
	}
}

// correction returns log Σ_c a_c Π_v N(z_v; 0, s² I) / N(z_v; 0, I), the log density of the mixture
// in units of the standard normal density, given the sum of the squares of each z_v. Component c
// has the probability a_c and stretches z_v by its factor s.
func (b block) correction(squares []float64) float64 {
	if b.total == 0 {
		return 0
	}
	sum := floats.Sum(squares)
	terms := make([]float64, 0, len(widenings)+len(b.present))
	for _, c := range widenings {
		if !c.single {
			terms = append(terms, math.Log(c.share)+logStretched(b.total, stretchOf(b.total, c.beyond), sum))
			continue
		}
		each := math.Log(c.share / float64(len(b.present)))
		for _, v := range b.present {
			terms = append(terms, each+logStretched(b.sizes[v], stretchOf(b.sizes[v], c.beyond), squares[v]))
		}
	}
	return logsum.Of(terms)
}

// corrections holds log densities of the mixture relative to the family: for each outer draw, of
// the noise that belongs to no member, [outer], and of the noise of each member, [members, outer,
// inner].
type corrections struct{ common, perMember []float64 }

// drawNoise draws the noise of every latent variable, [plates..., draws, U], as inputs of the
// graph.
func (w *weighing) drawNoise(random *rand.Rand, chosen *selection) ([]any, corrections) {
	members := 0
	if w.plate != nil {
		members = w.plate.size
	}
	latents := len(w.family.latents)
	commonSizes, ownSizes := make([]int, latents), apply.UpTo(members, func(int) []int { return make([]int, latents) })
	owners := make([][]int32, latents)
	for i, l := range w.family.latents {
		owners[i] = w.owners(l.Variable)
		for member := range l.Members() {
			size := len(w.feed.numbers(i, l, member))
			if owners[i] == nil {
				commonSizes[i] += size
			} else {
				ownSizes[owners[i][member]][i] += size
			}
		}
	}
	common, perMember := newBlocks(random, [][]int{commonSizes}, w.outer, 1), newBlocks(random, ownSizes, w.outer, w.inner)
	var inputs []any
	for i, l := range w.family.latents {
		blocks := common
		if owners[i] != nil {
			blocks = perMember
		}
		z := make([]float64, 0, l.Members()*blocks.draws*l.dim)
		for member := range l.Members() {
			block := 0
			if owners[i] != nil {
				block = int(owners[i][member])
			}
			strata, stretched := newStrata(l.dim, blocks.inner), w.feed.numbers(i, l, member)
			for draw := range blocks.draws {
				first := len(z)
				z = strata.append(random, z)
				for _, u := range stretched {
					z[first+u] = blocks.widen(block, draw, i, z[first+u])
				}
			}
		}
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(z, append(chosen.dims(l.Variable), blocks.draws, l.dim)...))
	}
	return inputs, corrections{common.corrections(), perMember.corrections()}
}

// blocks holds blocks of noise, each with the same number of draws. The draws of one outer draw,
// b.inner in succession, are stratified: a mean over them, or over the first half of them, has the
// expectation of a mean over independent draws, and a smaller error.
type blocks struct {
	each             []block
	draws, inner     int
	factors, squares []float64 // [blocks, draws, latents]
	quantiles        []int     // for blocks of one number: indices in widenedQuantiles, [blocks, draws]
}

// isSingle reports whether a block has one number, whose inner draws are quantiles of the mixture.
func (b *blocks) isSingle(block int) bool { return b.inner > 1 && b.each[block].total == 1 }

// widen turns z, a standard normal number in one draw of a block, into a number of the mixture.
func (b *blocks) widen(block, draw, variable int, z float64) float64 {
	if b.isSingle(block) {
		return widenedQuantiles().z[b.quantiles[block*b.draws+draw]]
	}
	at := (block*b.draws+draw)*len(b.each[block].sizes) + variable
	z *= b.factors[at]
	b.squares[at] += z * z
	return z
}

// newBlocks makes blocks of the given sizes, and chooses the component of the mixture of each draw.
func newBlocks(random *rand.Rand, sizes [][]int, outer, inner int) *blocks {
	b := &blocks{draws: outer * inner, inner: inner}
	order := make([]int, inner)
	for _, blockSizes := range sizes {
		one := newBlock(blockSizes)
		for range outer {
			halves(random, order)
			shift := random.Float64()
			for _, stratum := range order {
				u := (float64(stratum) + shift) / float64(inner)
				factors := make([]float64, len(blockSizes))
				one.stretch(random, u, factors)
				b.factors = append(b.factors, factors...)
				b.quantiles = append(b.quantiles, min(int(u*manyQuantiles), manyQuantiles-1))
			}
		}
		b.each = append(b.each, one)
	}
	b.squares = make([]float64, len(b.factors))
	return b
}

func (b *blocks) corrections() []float64 {
	terms := make([]float64, 0, len(b.each)*b.draws)
	for k, one := range b.each {
		latents := len(one.sizes)
		for draw := range b.draws {
			if b.isSingle(k) {
				terms = append(terms, widenedQuantiles().correction[b.quantiles[k*b.draws+draw]])
				continue
			}
			at := (k*b.draws + draw) * latents
			terms = append(terms, one.correction(b.squares[at:at+latents]))
		}
	}
	return terms
}

// manyQuantiles is the number of quantiles of the mixture of a single number. The error of a mean
// over all of them, as an integral, is far smaller than the error of draws.
const manyQuantiles = 1 << 16

// widenedNumbers holds the quantiles z at (i + 1/2) / manyQuantiles of the mixture for a block of
// one number, and correction, the log density of the mixture minus the standard normal log density.
type widenedNumbers struct{ z, correction [manyQuantiles]float64 }

var widenedQuantiles = sync.OnceValue(func() *widenedNumbers {
	q, one := &widenedNumbers{}, newBlock([]int{1})
	z := 0.0
	for i := manyQuantiles / 2; i < manyQuantiles; i++ {
		// the distribution function is concave here, so that Newton's steps stay on the left
		for target, step := (float64(i)+0.5)/manyQuantiles, 1.0; step > 1e-13*(1+z); z += step {
			below, density := 0.0, 0.0
			for _, c := range widenings {
				x := z / stretchOf(1, c.beyond)
				below += c.share * math.Erfc(-x/math.Sqrt2) / 2
				density += c.share * math.Exp(-x*x/2) / (stretchOf(1, c.beyond) * math.Sqrt(2*math.Pi))
			}
			step = (target - below) / density
		}
		for _, place := range []struct {
			index int
			sign  float64
		}{{i, 1}, {manyQuantiles - 1 - i, -1}} {
			q.z[place.index], q.correction[place.index] = place.sign*z, one.correction([]float64{z * z})
		}
	}
	return q
})

// halves fills order, of length n, with the numbers from 0 to n−1 in steps of 2 from a random
// start. If n is even, all even numbers come first and then all odd numbers, or the reverse.
func halves(random *rand.Rand, order []int) {
	n := len(order)
	if n%2 == 0 {
		first := random.IntN(2)
		for k := range n / 2 {
			order[k], order[n/2+k] = 2*k+first, 2*k+1-first
		}
		return
	}
	first := random.IntN(n)
	for k := range order {
		order[k] = (2*k + first) % n
	}
}

// strata makes standard normal numbers. Each n draws in succession are a Latin hypercube (McKay,
// Beckman and Conover 1979): for each number, one draw lies in each of n equally probable parts of
// its distribution.
type strata struct {
	n, draw int
	order   [][]int // for each number: the part in which each of n draws lies
}

func newStrata(numbers, n int) *strata {
	return &strata{n: n, order: apply.UpTo(numbers, func(int) []int { return rank.UpTo(n) })}
}

func (s *strata) append(random *rand.Rand, z []float64) []float64 {
	for _, order := range s.order {
		if s.n == 1 {
			z = append(z, random.NormFloat64())
			continue
		}
		if s.draw == 0 {
			random.Shuffle(s.n, func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		u := (float64(order[s.draw]) + random.Float64()) / float64(s.n)
		z = append(z, math.Sqrt2*math.Erfinv(math.Max(2*u-1, math.Nextafter(-1, 0))))
	}
	s.draw = (s.draw + 1) % s.n
	return z
}
