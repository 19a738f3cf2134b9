package hbm

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Importance weights of draws from a family that is too narrow have a heavy tail that few draws
// show. So a share of the draws comes from a wider family, whose standard normal noise z is
// stretched: the noise of what belongs to no member of the plate that is weighted member by member
// all at once, and that of each member by itself. The density of a draw is that of the mixture
// (Hesterberg 1995),
//
//	log r(θ) = log q(θ) + log[(1 − a) N(z; 0, I) + a N(z; 0, s² I)] − log N(z; 0, I)
//
// so that no weight is larger than the family alone would give it by more than 1 / (1 − a).
//
// The squared length of d standard normal numbers is d ± √(2d); stretched noise has one that is
// stretchedBy such deviations longer. Both constants are chosen by hand: the share costs a quarter
// of the draws of a family that is exact, and a normal posterior in one dimension is covered up to
// twice the width of the family.
const (
	widenedShare = 0.25
	stretchedBy  = 2
)

// stretchOf is s for blocks of noise of d numbers.
func stretchOf(d int) float64 {
	return math.Sqrt(1 + stretchedBy*math.Sqrt(2/float64(max(d, 1))))
}

// widening is the last of the terms of log r for a block of d numbers whose squares sum to squares.
func widening(d int, squares float64) float64 {
	s := stretchOf(d)
	logWide := math.Log(widenedShare) - float64(d)*math.Log(s) + squares/2*(1-1/(s*s))
	logOwn := math.Log1p(-widenedShare)
	largest := math.Max(logWide, logOwn)
	return largest + math.Log(math.Exp(logWide-largest)+math.Exp(logOwn-largest))
}

// corrections are the terms of log r beside log q: of the noise of each outer draw that belongs to
// no member [outer], and of that of each member, [members, outer, inner] as the weights.
type corrections struct{ common, own []float64 }

// noise draws the noise of every latent variable, [plates..., draws, U], as inputs of the graph.
func (w *weighing) noise(random *rand.Rand, chosen *selection) ([]any, corrections) {
	members := 0
	if w.plate != nil {
		members = w.plate.size
	}
	// Of each block how many numbers it has, how much it is stretched, and the sum of its squares.
	common, own := newBlocks(1, w.outer), newBlocks(members, w.outer*w.inner)
	owners := make([][]int32, len(w.family.latents))
	for i, l := range w.family.latents {
		if owners[i] = w.owners(l.Variable); owners[i] == nil {
			common.size[0] += l.Members() * l.dim
			continue
		}
		for _, owner := range owners[i] {
			own.size[owner] += l.dim
		}
	}
	common.stretch(random)
	own.stretch(random)
	var inputs []any
	for i, l := range w.family.latents {
		blocks := common
		if owners[i] != nil {
			blocks = own
		}
		z := make([]float64, 0, l.Members()*blocks.draws*l.dim)
		for member := range l.Members() {
			block := 0
			if owners[i] != nil {
				block = int(owners[i][member])
			}
			for at := block * blocks.draws; at < (block+1)*blocks.draws; at++ {
				for range l.dim {
					x := random.NormFloat64() * blocks.factor[at]
					blocks.squares[at] += x * x
					z = append(z, x)
				}
			}
		}
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(z, append(chosen.dims(l.Variable), blocks.draws, l.dim)...))
	}
	return inputs, corrections{common.corrections(), own.corrections()}
}

// blocks are blocks of noise, each with so many draws.
type blocks struct {
	draws           int
	size            []int     // numbers of a block
	factor, squares []float64 // [blocks, draws]
}

func newBlocks(count, draws int) *blocks {
	return &blocks{draws: draws, size: make([]int, count), factor: make([]float64, count*draws), squares: make([]float64, count*draws)}
}

// stretch chooses which draws are wider.
func (b *blocks) stretch(random *rand.Rand) {
	for i := range b.factor {
		b.factor[i] = 1
		if random.Float64() < widenedShare {
			b.factor[i] = stretchOf(b.size[i/b.draws])
		}
	}
}

func (b *blocks) corrections() []float64 {
	terms := make([]float64, len(b.squares))
	for i, squares := range b.squares {
		if d := b.size[i/b.draws]; d > 0 {
			terms[i] = widening(d, squares)
		}
	}
	return terms
}

// controlled is the logarithm of the mean of weights, which have about mean 1, and its standard
// error, with shares of mean 1 as control variates (Owen and Zhou 2000): where the family is the
// posterior the weights are a multiple of the shares, and the error is zero.
func controlled(weights, shares []float64) (logMean, se float64) {
	n := float64(len(weights))
	var weight, share float64
	for i, w := range weights {
		weight += w / n
		share += shares[i] / n
	}
	var covariance, variance float64
	for i, w := range weights {
		covariance += (w - weight) * (shares[i] - share)
		variance += (shares[i] - share) * (shares[i] - share)
	}
	slope := 0.0
	if variance > 0 {
		slope = covariance / variance
	}
	mean := weight - slope*(share-1)
	if !(mean > 0) {
		slope, mean = 0, weight
	}
	var squares float64
	for i, w := range weights {
		rest := w - weight - slope*(shares[i]-share)
		squares += rest * rest
	}
	return math.Log(mean), math.Sqrt(squares/math.Max(n-1, 1)/n) / mean
}
