package vti

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// population are particles (m, z) that are moved from q(m) r(z), with r the far reference, first to q(m)^α r(z), a flatter distribution over models, as α falls
// from 1 to 0.3, and then to the posterior through densities proportional to [q(m)^α r(z)]^(1−β) π̃(m, z)^β as β rises from 0 to 1. Here π̃(m, z) = p(m) η(θ | m) |det ∂θ/∂z| the posterior pulled back through the flow. It is a sequential Monte Carlo sampler (Del Moral, Doucet and
// Jasra 2006). At each step particles are weighed, resampled where weights have become uneven, and moved: to neighbouring models (space.Move) with z kept, which is
// accepted often if the flow is good, and within their model by a Hamiltonian step. Evidence and probabilities are right, up to noise, whatever q is; a
// bad q costs steps.
//
// Particles resample among themselves within islands, which know nothing of each other: the spread between islands is the error.
type population struct {
	posterior *Posterior
	random    *rand.Rand
	codes     []int32   // [N·S]
	z         []float64 // [N·D]; coordinates that a model does not use are N(0, 1)
	state     particleState
	logWeight []float64 // of particles, normalised within their island [N]
	logMean   []float64 // log of the estimated evidence of each island
	alpha     float64   // power of q(m) in the density where β is 0
	beta      float64
	steps     int
	worstKHat float64 // of the increments of the weights, over all steps
	drift     drift
	keptESS   float64 // share of the particles that are effectively left after one step: it sets how far β rises
}

// drift is how far the mean log density of the particles still moved, in nats, once they had arrived: particles that cannot keep up with β lag behind it, all islands
// alike, so that the spread between islands does not show it.
type drift struct{ mean, se float64 }

// particleState are what depends on codes and z of particles.
type particleState struct {
	used     []float64 // mask [N·D]
	ratio    []float64 // log π̃(z | m) − log r(z) over active coordinates, without p(m) [N]
	logModel []float64 // log q(m) [N]
	logPrior []float64 // log p(m) [N]
	width    []float64 // log r(z) − log N(z) over active coordinates [N]
	logQ     []float64 // log q(θ | m) [N]
	logJoint []float64 // log η(θ | m) [N]
	theta    []float64 // [N·D]
}

// Particles of an island, and how fine the tempering is.
const (
	islandSize = 256
	// defaultKeptESS is fine enough for a certificate.
	defaultKeptESS = 0.95
	// resampleBelow is the share of an island that must be effective, else it is resampled.
	resampleBelow = 0.5
	// flattest is the last α: q(m), trained by reverse KL, misses models rather than that it adds some.
	flattest = 0.3
	// restSteps are taken at β = 1.
	restSteps = 10
	// mostTempering bounds the number of steps: beyond, β rises to 1 at once.
	mostTempering = 400
)

// flattening is what a falling α adds to the log density of a particle, −log q(m).
func (pop *population) flattening(i int) float64 { return -pop.state.logModel[i] }

// tempering is what a rising β adds: log π̃(m, z) − log q(m)^α r(z).
func (pop *population) tempering(i int) float64 {
	s := &pop.state
	return s.ratio[i] + s.logPrior[i] - pop.alpha*s.logModel[i]
}

// newPopulation draws batches of particles from q(m) r(z); name is that of their random streams.
func newPopulation(p *Posterior, batches int, name string) (*population, error) {
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	pop := &population{
		posterior: p, random: stream.Rand(p.config.Seed, name), worstKHat: math.Inf(-1), alpha: 1, keptESS: defaultKeptESS,
		codes: make([]int32, 0, batches*batch*sites), z: make([]float64, batches*batch*dim),
	}
	for range batches {
		codes, err := p.drawCodes(pop.random)
		if err != nil {
			return nil, err
		}
		pop.codes = append(pop.codes, codes...)
	}
	n := batches * batch
	pop.logWeight = make([]float64, n)
	pop.logMean = make([]float64, (n+islandSize-1)/islandSize)
	if err := pop.evaluate(); err != nil { // for the masks
		return nil, err
	}
	row := make([]float64, dim)
	for i := range n {
		farReference.draw(pop.random, row)
		for j, used := range pop.state.used[i*dim : (i+1)*dim] {
			if used == 0 {
				row[j] = pop.random.NormFloat64()
			}
		}
		copy(pop.z[i*dim:], row)
	}
	for island := range pop.logMean {
		first, last := pop.island(island)
		for i := first; i < last; i++ {
			pop.logWeight[i] = -math.Log(float64(last - first))
		}
	}
	return pop, pop.evaluate()
}

// island is the range of the particles of an island.
func (pop *population) island(i int) (first, last int) {
	return i * islandSize, min((i+1)*islandSize, len(pop.logWeight))
}

// evaluate computes the state of all particles.
func (pop *population) evaluate() error {
	sites, dim, batch := pop.shape()
	var all particleState
	for start := 0; start < len(pop.logWeight); start += batch {
		state, err := pop.posterior.particles(pop.codes[start*sites:(start+batch)*sites], pop.z[start*dim:(start+batch)*dim])
		if err != nil {
			return err
		}
		all.append(state)
	}
	pop.state = all
	return nil
}

func (pop *population) shape() (sites, dim, batch int) {
	sp := pop.posterior.target.Space()
	return len(sp.Cards()), sp.Dim(), pop.posterior.config.Batch
}

func (s *particleState) append(other particleState) {
	s.used, s.theta = append(s.used, other.used...), append(s.theta, other.theta...)
	s.ratio, s.width = append(s.ratio, other.ratio...), append(s.width, other.width...)
	s.logModel, s.logPrior = append(s.logModel, other.logModel...), append(s.logPrior, other.logPrior...)
	s.logQ, s.logJoint = append(s.logQ, other.logQ...), append(s.logJoint, other.logJoint...)
}

// copyRow makes row i that of the other state's row k.
func (s *particleState) copyRow(i int, other *particleState, k, dim int) {
	copy(s.used[i*dim:(i+1)*dim], other.used[k*dim:(k+1)*dim])
	copy(s.theta[i*dim:(i+1)*dim], other.theta[k*dim:(k+1)*dim])
	s.ratio[i], s.width[i] = other.ratio[k], other.width[k]
	s.logModel[i], s.logPrior[i] = other.logModel[k], other.logPrior[k]
	s.logQ[i], s.logJoint[i] = other.logQ[k], other.logJoint[k]
}

// particles evaluates one batch of codes [B*S] and reference draws z [B*D].
func (p *Posterior) particles(codes []int32, z []float64) (particleState, error) {
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	outputs, err := p.run("particles", func(ctx *Context, codes, z *Node) []*Node {
		mask, feats := p.target.Space().Mask(codes), p.features(codes)
		theta, logQ, logJoint := pushGraph(ctx, p.flow, p.target, codes, mask, feats, ConvertDType(z, p.config.DType))
		used := ConvertDType(mask, dtypes.Float64)
		normal := logNormalActive(used, z)
		far := farReference.logDensity(used, z)
		return []*Node{
			used, toFloat64(Where(mask, theta, ZerosLike(theta))), Sub(Add(toFloat64(Sub(logJoint, logQ)), normal), far), Sub(far, normal),
			toFloat64(p.config.Models.LogProb(ctx.In(modelScope), codes)), toFloat64(p.target.LogPrior(codes)), toFloat64(logQ), toFloat64(logJoint),
		}
	}, tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(z, batch, dim))
	if err != nil {
		return particleState{}, err
	}
	values := make([][]float64, len(outputs))
	for i, output := range outputs {
		values[i] = tensors.MustCopyFlatData[float64](output)
	}
	state := particleState{
		used: values[0], theta: values[1], ratio: values[2], width: values[3], logModel: values[4], logPrior: values[5], logQ: values[6], logJoint: values[7],
	}
	for i, ratio := range state.ratio { // a density that is not a number is none, and so is one in a model that the prior excludes
		if math.IsNaN(ratio) || math.IsInf(ratio, 1) || math.IsInf(state.logPrior[i], -1) {
			state.ratio[i] = math.Inf(-1)
		}
	}
	return state, nil
}

// temper takes the population to β = 1. Progress hears of β.
func (pop *population) temper(ctx gocontext.Context, progress func(beta float64)) error {
	for pop.beta < 1 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("tempering stopped at %.3f of the posterior: %w", pop.beta, err)
		}
		pop.steps++
		if pop.alpha > flattest {
			step := pop.stepSize(pop.flattening, pop.alpha-flattest)
			pop.weigh(pop.flattening, step)
			pop.alpha -= step
		} else {
			step := pop.stepSize(pop.tempering, 1-pop.beta)
			pop.weigh(pop.tempering, step)
			pop.beta += step
		}
		pop.resample()
		if err := pop.moveAll(); err != nil {
			return err
		}
		if progress != nil {
			progress(pop.beta)
		}
	}
	return nil
}

// rest moves the particles at β = 1, where their mean log density must stay.
func (pop *population) rest() error {
	before := pop.islandMeans()
	for range restSteps {
		if err := pop.moveAll(); err != nil {
			return err
		}
	}
	changes := pop.islandMeans()
	for i := range changes {
		changes[i] -= before[i]
	}
	mean, sd := stat.MeanStdDev(changes, nil)
	pop.drift = drift{mean, sd / math.Sqrt(float64(len(changes)))}
	return nil
}

// islandMeans are the mean log p(m) η(θ | m) of the islands.
func (pop *population) islandMeans() []float64 {
	means := make([]float64, len(pop.logMean))
	for island := range means {
		first, last := pop.island(island)
		for i := first; i < last; i++ {
			if weight := math.Exp(pop.logWeight[i]); weight > 0 {
				means[island] += weight * (pop.state.logPrior[i] + pop.state.logJoint[i])
			}
		}
	}
	return means
}

// stepSize is the step at which the effective share of the particles, by the conditional effective sample size of Zhou, Johansen and Aston (2016), is as asked for, or all that is left.
// slope is the change of the log density of a particle per unit.
func (pop *population) stepSize(slope func(i int) float64, left float64) float64 {
	slopes := make([]float64, len(pop.logWeight))
	largest := math.Inf(-1)
	for i := range slopes {
		slopes[i] = slope(i)
		largest = math.Max(largest, slopes[i])
	}
	effective := func(step float64) float64 {
		var first, second float64 // Σ W v and Σ W v² with the largest v as the unit
		for i, w := range pop.logWeight {
			v := math.Exp(step * (slopes[i] - largest))
			weight := math.Exp(w) / float64(len(pop.logMean))
			first += weight * v
			second += weight * v * v
		}
		return first * first / second
	}
	if pop.steps >= mostTempering || effective(left) >= pop.keptESS {
		return left
	}
	low, high := 0.0, left
	for range 50 {
		if middle := (low + high) / 2; effective(middle) >= pop.keptESS {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Max(low, 1e-7)
}

// weigh multiplies the weights by exp of step times the slope, and keeps them normalised within islands.
func (pop *population) weigh(slope func(i int) float64, step float64) {
	increments := make([]float64, len(pop.logWeight))
	for i := range increments {
		increments[i] = step * slope(i)
		if math.IsNaN(increments[i]) {
			increments[i] = math.Inf(-1)
		}
	}
	pop.worstKHat = math.Max(pop.worstKHat, psis.Smooth(increments).K)
	for island := range pop.logMean {
		first, last := pop.island(island)
		for i := first; i < last; i++ {
			pop.logWeight[i] += increments[i]
		}
		norm := logSumExp(pop.logWeight[first:last])
		pop.logMean[island] += norm
		for i := first; i < last; i++ {
			pop.logWeight[i] -= norm
		}
	}
}

// resample replaces the particles of uneven islands by systematic resampling.
func (pop *population) resample() {
	sites, dim, _ := pop.shape()
	for island := range pop.logMean {
		first, last := pop.island(island)
		n := last - first
		var squares float64
		for _, w := range pop.logWeight[first:last] {
			squares += math.Exp(2 * w)
		}
		if !(1/squares < resampleBelow*float64(n)) {
			continue
		}
		next, cumulative := pop.random.Float64(), 0.0
		chosen := make([]int, 0, n)
		heaviest := first
		for i := first; i < last; i++ {
			if pop.logWeight[i] > pop.logWeight[heaviest] {
				heaviest = i
			}
			for cumulative += math.Exp(pop.logWeight[i]) * float64(n); next < cumulative && len(chosen) < n; next++ {
				chosen = append(chosen, i)
			}
		}
		for len(chosen) < n { // rounding can leave the sum a little below one
			chosen = append(chosen, heaviest)
		}
		codes := append([]int32(nil), pop.codes[first*sites:last*sites]...)
		z := append([]float64(nil), pop.z[first*dim:last*dim]...)
		var old particleState
		old.append(pop.state.rows(first, last, dim))
		for k, i := range chosen {
			row, from := first+k, i-first
			copy(pop.codes[row*sites:(row+1)*sites], codes[from*sites:])
			copy(pop.z[row*dim:(row+1)*dim], z[from*dim:])
			pop.state.copyRow(row, &old, from, dim)
			pop.logWeight[row] = -math.Log(float64(n))
		}
	}
}

// rows are those from first to last−1 of a state.
func (s *particleState) rows(first, last, dim int) particleState {
	return particleState{
		used: s.used[first*dim : last*dim], theta: s.theta[first*dim : last*dim], ratio: s.ratio[first:last], width: s.width[first:last],
		logModel: s.logModel[first:last], logPrior: s.logPrior[first:last], logQ: s.logQ[first:last], logJoint: s.logJoint[first:last],
	}
}

// moveAll moves every particle under the present density: several times to neighbouring models and within its own, and by one Hamiltonian step.
func (pop *population) moveAll() error {
	sites, dim, batch := pop.shape()
	for start := 0; start < len(pop.logWeight); start += batch {
		codes, z := pop.codes[start*sites:(start+batch)*sites], pop.z[start*dim:(start+batch)*dim]
		state := pop.state.rows(start, start+batch, dim)
		for range min(max(sites/2, leastMoves), mostMoves) {
			if err := pop.moveParticles(codes, z, &state); err != nil {
				return err
			}
		}
		if err := pop.posterior.move(pop.random, codes, z, state.ratio, pop.beta); err != nil {
			return err
		}
		moved, err := pop.posterior.particles(codes, z)
		if err != nil {
			return err
		}
		for i := range batch {
			state.copyRow(i, &moved, i, dim)
		}
	}
	return nil
}

// Bounds of the number of moves between two Hamiltonian steps: about one for two sites.
const (
	leastMoves = 6
	mostMoves  = 16
)

// moveParticles proposes for every particle of a batch another model with the same z, another z in the same model, or both. Coordinates that are not in use are drawn anew first,
// which leaves every density here as it is. Another z is z cos φ + ξ sin φ with ξ normal and a random angle φ, up to a fresh draw: it leaves the normal
// distribution of z alone, and the densities here are relative to that.
func (pop *population) moveParticles(codes []int32, z []float64, state *particleState) error {
	sites, dim, batch := pop.shape()
	proposed, moved := make([]int32, len(codes)), make([]float64, len(z))
	ratios := make([]float64, batch)
	for j, used := range state.used {
		if used == 0 {
			z[j] = pop.random.NormFloat64()
		}
	}
	copy(proposed, codes)
	copy(moved, z)
	for i := range batch {
		code, reference := proposed[i*sites:(i+1)*sites], moved[i*dim:(i+1)*dim]
		kind := pop.random.IntN(4)
		if kind > 0 {
			ratios[i] = space.Move(pop.posterior.target.Space(), pop.random, code, reference)
		}
		if kind < 2 {
			share := pop.random.Float64()
			sin, cos := math.Sincos(share * share * math.Pi / 2)
			for j := range reference {
				reference[j] = cos*reference[j] + sin*pop.random.NormFloat64()
			}
		}
	}
	next, err := pop.posterior.particles(proposed, moved)
	if err != nil {
		return err
	}
	for i := range batch {
		// log of q(m)^α r(z) up to the normal density of all coordinates, which a permutation does not change.
		base := pop.alpha*(next.logModel[i]-state.logModel[i]) + next.width[i] - state.width[i]
		logAccept := ratios[i] + (1-pop.beta)*base + pop.beta*(next.full(i)-state.full(i))
		if math.Log(pop.random.Float64()) < logAccept {
			copy(codes[i*sites:(i+1)*sites], proposed[i*sites:])
			copy(z[i*dim:(i+1)*dim], moved[i*dim:])
			state.copyRow(i, &next, i, dim)
		}
	}
	return nil
}

// pick is the code of a particle drawn in proportion to weight, all islands alike.
func (pop *population) pick(random *rand.Rand) []int32 {
	sites, _, _ := pop.shape()
	first, last := pop.island(random.IntN(len(pop.logMean)))
	u := random.Float64()
	for i := first; i < last; i++ {
		if u -= math.Exp(pop.logWeight[i]); u < 0 || i == last-1 {
			return pop.codes[i*sites : (i+1)*sites]
		}
	}
	return nil
}

// full is log π̃(m, z) over the normal density of all coordinates.
func (s *particleState) full(i int) float64 { return s.ratio[i] + s.width[i] + s.logPrior[i] }
