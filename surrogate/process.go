package surrogate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
)

// DefaultInducing is the default upper bound of the number of inducing codes of a [Process]. Half
// or twice this number gives the same answers (docs/benchmarks/constants.md).
const DefaultInducing = 256

// relearnEvery is the largest number of batches between two choices of the inducing codes and the
// kernel. Half or twice this number gives the same answers (docs/benchmarks/constants.md).
const relearnEvery = 128

// block is the number of observations in one update of the posterior. Half or twice this number
// gives the same answers (docs/benchmarks/constants.md).
const block = 64

// Process is a Gaussian process over codes, f ~ GP(μ_0, (1 + W) k), with a product kernel over
// sites whose relevances are learned (kernel.go). It is sparse: inducing codes are chosen among the
// codes with rewards so far. W grows by movement²/s² with each batch, so that f is a random walk
// and old observations lose weight.
//
// Let L Lᵀ be the covariance of the inducing codes. Process keeps the mean and the covariance of w
// = L⁻¹(f − μ_0) at these codes, which are 0 and (1 + W) I a priori. Let k(c) be the covariances of
// another code c with these codes, and a = L⁻¹ k(c). Code c then has the mean μ_0 + a·E[w] and the
// variance (1 + W)(s² − a·a) + aᵀ Cov[w] a. These two formulas are exact if every model is an
// inducing code. A batch of B draws takes O(B M_u²) operations for M_u inducing codes. After 1, 2,
// 4, … batches, and then every 128 batches, kernel and inducing codes are chosen again, and the
// belief is computed from the observations of these codes and of the batch.
type Process struct {
	cards    []int
	count    int
	capacity int

	kernel   kernel
	constant float64   // μ_0
	walk     float64   // W
	seen     []summary // summary of the draws of each inducing code
	codes    [][]int32 // inducing codes
	lower    *mat.TriDense
	mean     *mat.VecDense // E[w]
	cov      *mat.SymDense // Cov[w]
	noise    noise
	batches  float64

	lock   sync.Mutex
	cached *lookup // tables of the present belief; nil until a prediction needs them
}

// summary holds the estimate of the expected reward of one code from draws of this code only (a
// Kalman filter without a prior).
type summary struct {
	model          int
	mean, variance float64
}

var _ Belief = (*Process)(nil)

// NewProcess returns the belief, before any observation, about all codes with the given outcome
// counts. The argument inducing bounds the number of inducing codes; 0 stands for DefaultInducing.
// It panics without counts, for a count below 1, or if the number of codes does not fit an int.
func NewProcess(cards []int, inducing int) *Process {
	p := &Process{cards: slices.Clone(cards), count: 1, noise: noise{value: 1}}
	for _, card := range cards {
		high, low := bits.Mul64(uint64(p.count), uint64(max(card, 0)))
		if high != 0 || low > math.MaxInt || low == 0 {
			panic(fmt.Sprintf("surrogate.NewProcess: outcome counts %v", cards))
		}
		p.count = int(low)
	}
	if len(cards) == 0 || inducing < 0 {
		panic(fmt.Sprintf("surrogate.NewProcess: %d sites and %d inducing codes", len(cards), inducing))
	}
	p.capacity = min(cmp.Or(inducing, DefaultInducing), p.count)
	p.kernel = kernel{scale: 1, relevance: slices.Repeat([]float64{math.Exp(relevanceCentre)}, len(cards))}
	return p
}

// Observe updates the belief with a batch; see [Belief].
func (p *Process) Observe(models []int, rewards []float64, movement float64) {
	groups := grouped("Process", p.count, models, rewards)
	if len(groups) == 0 {
		return
	}
	p.batches++
	if p.batches == 1 {
		mean, variance := meanAndVariance(means(groups))
		p.constant, p.kernel.scale = mean, 10*variance
		p.noise.start(groups, variance)
	} else {
		p.fade(movement)
		p.learnNoise(groups)
	}
	p.summarize(groups)
	if batches := uint64(p.batches); batches&(batches-1) == 0 || batches%relearnEvery == 0 {
		p.relearn(groups)
	} else {
		p.condition(p.observations(groups))
	}
	p.cached = nil
}

func (p *Process) fade(movement float64) {
	if p.cov == nil {
		return
	}
	relative := movement * movement / p.kernel.scale
	p.walk += relative
	for i := range p.seen {
		p.seen[i].variance += movement * movement
		p.cov.SetSym(i, i, p.cov.At(i, i)+relative)
	}
}

func (p *Process) learnNoise(groups []group) {
	observed := p.observations(groups)
	mean, variance := make([]float64, len(groups)), make([]float64, len(groups))
	for first := 0; first < len(groups); first += block {
		end := min(first+block, len(groups))
		whitened, rest := p.whiten(p.codesOf(observed[first:end]))
		var spread mat.Dense
		spread.Mul(p.cov, whitened)
		for i := first; i < end; i++ {
			a := whitened.ColView(i - first)
			mean[i] = p.constant + mat.Dot(a, p.mean)
			variance[i] = rest[i-first] + mat.Dot(a, spread.ColView(i-first))
		}
	}
	p.noise.learn(groups, func(i int) (float64, float64) { return mean[i], variance[i] })
}

func (p *Process) summarize(groups []group) {
	position := p.positions()
	for _, group := range groups {
		if i, ok := position[group.model]; ok {
			gain := p.seen[i].variance / (p.seen[i].variance + p.noise.value/group.count)
			p.seen[i].mean += gain * (group.mean - p.seen[i].mean)
			p.seen[i].variance *= 1 - gain
		}
	}
}

func (p *Process) positions() map[int]int {
	position := make(map[int]int, len(p.seen))
	for i, group := range p.seen {
		position[group.model] = i
	}
	return position
}

func (p *Process) observations(groups []group) []summary {
	return apply.To(groups, func(group group) summary { return summary{group.model, group.mean, p.noise.value / group.count} })
}

func (p *Process) relearn(groups []group) {
	position := p.positions()
	fresh := apply.Keep(p.observations(groups), func(observed summary) bool {
		_, known := position[observed.model]
		return !known
	})
	chosen, left := choose(append(slices.Clone(p.seen), fresh...), p.capacity)
	p.seen, p.codes = chosen, p.codesOf(chosen)
	values := apply.To(chosen, func(group summary) float64 { return group.mean })
	variances := apply.To(chosen, func(group summary) float64 { return group.variance })
	p.kernel, p.constant = fitKernel(p.kernel, p.codes, values, variances)
	p.restart()
	p.condition(chosen)
	p.condition(left)
}

func (p *Process) restart() {
	p.walk = 0
	p.lower = p.kernel.factor(p.codes)
	p.mean = mat.NewVecDense(len(p.seen), nil)
	p.cov = mat.NewSymDense(len(p.seen), nil)
	for i := range p.seen {
		p.cov.SetSym(i, i, 1)
	}
}

// choose keeps at most the given number of candidates for inducing codes, in the order of their
// models. Half of the kept candidates have the largest rewards, and therefore most of q(m). The
// other half are spread evenly over the ranks of the remaining candidates.
func choose(candidates []summary, most int) (chosen, left []summary) {
	if len(candidates) > most {
		slices.SortFunc(candidates, func(a, b summary) int {
			low := func(s summary) float64 { return s.mean - math.Sqrt(s.variance) }
			return cmp.Or(cmp.Compare(low(b), low(a)), a.model-b.model)
		})
		best := most / 2
		rest, wanted := candidates[best:], most-best
		chosen = slices.Clone(candidates[:best])
		for i, candidate := range rest {
			if (i+1)*wanted/len(rest) > i*wanted/len(rest) {
				chosen = append(chosen, candidate)
			} else {
				left = append(left, candidate)
			}
		}
	} else {
		chosen = candidates
	}
	byModel := func(a, b summary) int { return a.model - b.model }
	slices.SortFunc(chosen, byModel)
	slices.SortFunc(left, byModel)
	return chosen, left
}

// condition updates the belief by observations (eq. 25 and 26 of the VTI paper at the inducing
// codes), a block at a time.
func (p *Process) condition(observed []summary) {
	for first := 0; first < len(observed); first += block {
		part := observed[first:min(first+block, len(observed))]
		whitened, rest := p.whiten(p.codesOf(part)) // [M_u, b]
		var spread, within mat.Dense
		spread.Mul(p.cov, whitened)
		within.Mul(whitened.T(), &spread)
		innovation := mat.NewSymDense(len(part), nil)
		misses := mat.NewVecDense(len(part), nil)
		for i, group := range part {
			for j := range i + 1 {
				innovation.SetSym(i, j, (within.At(i, j)+within.At(j, i))/2)
			}
			innovation.SetSym(i, i, within.At(i, i)+rest[i]+group.variance)
			misses.SetVec(i, group.mean-p.constant-mat.Dot(whitened.ColView(i), p.mean))
		}
		// With C Cᵀ the covariance of the prediction errors (misses) and G = spread C⁻ᵀ, mean += G
		// C⁻¹ misses and cov −= G Gᵀ, which stays symmetric.
		factor := lowerOf(innovation, jitter*p.kernel.scale)
		gain := solve(factor, spread.T()) // Gᵀ [b, M_u]
		var step mat.VecDense
		step.MulVec(gain.T(), solve(factor, misses).ColView(0))
		p.mean.AddVec(p.mean, &step)
		p.cov.SymRankK(p.cov, -1, gain.T())
	}
}

// solve returns T⁻¹ b for a triangular T. The error is ignored: T may be badly conditioned, but is
// never singular.
func solve(triangle mat.Triangular, b mat.Matrix) *mat.Dense {
	x := new(mat.Dense)
	var conditioned mat.Condition
	if err := x.Solve(triangle, b); err != nil && !errors.As(err, &conditioned) {
		panic(err)
	}
	return x
}

// whiten returns a = L⁻¹ k(c) of each code c as a column, and the variance of f(c) given its values
// at the inducing codes, (1 + W)(s² − a·a).
func (p *Process) whiten(codes [][]int32) (whitened *mat.Dense, rest []float64) {
	whitened = solve(p.lower, p.kernel.matrix(p.codes, codes))
	rest = make([]float64, len(codes))
	for i := range rest {
		a := whitened.ColView(i)
		rest[i] = (1 + p.walk) * math.Max(p.kernel.scale-mat.Dot(a, a), 0)
	}
	return whitened, rest
}

func (p *Process) codesOf(observed []summary) [][]int32 {
	return apply.To(observed, func(one summary) []int32 { return p.decode(one.model) })
}

func (p *Process) decode(model int) []int32 {
	code := make([]int32, len(p.cards))
	for s := len(p.cards) - 1; s >= 0; s-- {
		code[s] = int32(model % p.cards[s])
		model /= p.cards[s]
	}
	return code
}
