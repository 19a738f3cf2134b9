package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/internal/verdict"
)

// CertifyConfig says how a fit is certified. The zero value is a good default.
type CertifyConfig struct {
	// Draws is the number of weighted draws; 0 stands for 8,000 and, where these do not show that
	// weights can be relied on, up to 64,000.
	Draws int
	// Inner is the number of draws of what belongs to one member of Certificate.Plate, for each of
	// Draws; 0 stands for 16, or 8 where that is one number.
	Inner int
	// Until, if not zero, is when draws end, after a batch of them at least.
	Until time.Time
}

// Certificate is what importance weighting finds about a posterior: the evidence, with its error,
// corrected draws, and whether to believe them.
//
// The members of a plate whose variables are independent given all others, in the model and in the
// family, are weighted one by one: the evidence given the others is a product over members,
//
//	p(x, θ) = p(θ, x_0) Π_g ∫ p(x_g, z_g | θ) dz_g
//
// and each factor is estimated without bias by a mean over draws of z_g alone, so the weights of
// the draws of θ hardly spread more for many members than for few.
type Certificate struct {
	Verdict vti.Verdict
	// Reasons say, when the verdict is not Trusted, what kept it from being so.
	Reasons []string
	// Plate is the plate whose members are weighted one by one; nil if there is none.
	Plate *Plate
	// KHat is the Pareto shape of the weights and ESS their effective number among Draws.
	KHat, ESS float64
	Draws     int
	// LogEvidence is log p(x) with its standard error, in nats.
	LogEvidence, LogEvidenceSE float64
	// NonFinite counts draws whose density was not finite; they weigh nothing.
	NonFinite int
	// Late reports that draws ended at CertifyConfig.Until.
	Late bool
	// Sample are draws that follow the posterior when each is weighted by its Weight; the weights
	// sum to one. LogJoint and LogQ are nil.
	Sample *Draws
	Weight []float64
}

// Numbers of draws. Standard deviations of scales of few groups have tails that 2,000 draws do not
// show: of 9 fits with a good k̂ two were 9 and 14 percent too small.
const (
	firstDraws  = 8000
	mostDraws   = 64_000
	enoughESS   = 1000    // effective draws that end doubling: standard deviations to 2%
	keptNumbers = 1 << 25 // of all draws together
	// With a smaller share of effective draws and an unreliable k̂, families missed parts of the
	// posterior: on nested tables evidences were 0.3 to 3 nats from those of integrals, where a
	// share of a tenth left them right to 0.03.
	hopelessShare = 0.02
)

// Certify weights draws from the family by the model. Draws come from the family with a share of
// wider ones (see widening), so that a family that is too narrow does not hide what it misses.
// Cancelling ctx stops it after the batch of draws in progress, with an error that wraps ctx.Err().
func (p *Posterior) Certify(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	if cfg.Draws < 0 || cfg.Inner < 0 {
		return nil, fmt.Errorf("hbm.CertifyConfig: got %d and %d draws, want numbers that are not negative", cfg.Draws, cfg.Inner)
	}
	if err := p.inMemory(); err != nil {
		return nil, err
	}
	if p.chooser != nil && p.feed.models == nil {
		return nil, fmt.Errorf("hbm: a certificate is of one of several models: say which with Posterior.In")
	}
	draws, most := cfg.Draws, cfg.Draws
	if draws == 0 {
		numbers := 0
		for _, l := range p.family.latents {
			numbers += l.Members() * l.EventSize()
		}
		draws, most = firstDraws, max(firstDraws, min(mostDraws, keptNumbers/max(numbers, 1)))
	}
	w := &weighing{Posterior: p, plate: separable(p.model), inner: cfg.Inner, until: cfg.Until}
	if p.family.joint {
		w.plate = nil // its members depend on each other
	}
	if w.inner == 0 {
		w.inner = w.innerDraws()
	}
	if w.plate == nil || !w.learned() {
		w.inner = 1
	}
	w.outer = max(1, min(draws, 4*largestChunk/(w.inner*p.model.largest())))
	sample := &Draws{Values: Values{}}
	for {
		sample.N = draws
		if err := w.run(ctx, sample); err != nil {
			return nil, err
		}
		c := w.certificate(sample)
		enough := psis.TailShare(c.KHat, draws) <= verdict.DoubtfulMissed && c.ESS >= enoughESS
		hopeless := c.Verdict == vti.Failed && draws >= 2*firstDraws // which more draws do not change
		c.Late = !enough && !hopeless && late(cfg.Until) && (sample.N < draws || draws < most)
		if c.Late && c.Verdict != vti.Trusted {
			c.Reasons = append(c.Reasons, fmt.Sprintf("the time was over after %d draws, and more of them may tell", c.Draws))
		}
		if enough || hopeless || draws >= most || c.Late {
			return c, nil
		}
		draws = min(2*draws, most)
	}
}

// innerDraws is how many draws of what belongs to a member are enough, beside what else is drawn:
// those of one number are quantiles of the whole mixture, of which fewer tell as much. Chosen by
// hand: of verbagg 28, 56 and 59 percent of the draws were effective with 4, 8 and 16.
func (w *weighing) innerDraws() int {
	numbers := 0
	for _, l := range w.family.latents {
		if l.belongs(w.plate) != nil {
			numbers += l.Members() * len(w.stretched(l))
		}
	}
	if w.plate != nil && numbers <= w.plate.size {
		return 8
	}
	return 16
}

// learned reports whether training has a part in the distribution of what belongs to the members of
// the plate: if not, all draws of it weigh the same.
func (w *weighing) learned() bool {
	return slices.ContainsFunc(w.family.latents, func(l *latent) bool { return l.belongs(w.plate) != nil && !w.family.known(l) })
}

// certificate judges the weights so far.
func (w *weighing) certificate(sample *Draws) *Certificate {
	smoothed := psis.Smooth(w.logWeights)
	c := &Certificate{
		Plate: w.plate, Draws: sample.N, Sample: sample, KHat: smoothed.K, ESS: smoothed.ESS, NonFinite: smoothed.NonFinite,
	}
	var sum float64
	for _, logWeight := range smoothed.LogWeights {
		weight := math.Exp(logWeight - smoothed.LogMean)
		c.Weight = append(c.Weight, weight)
		sum += weight
	}
	change, se := controlled(c.Weight, w.shares)
	c.LogEvidence, c.LogEvidenceSE = smoothed.LogMean+change, se
	for i := range c.Weight {
		c.Weight[i] /= sum
	}
	j := verdict.New()
	j.Weights(smoothed.K)
	if smoothed.K <= verdict.DoubtfulKHat {
		j.Missed(psis.TailShare(smoothed.K, sample.N), smoothed.K, sample.N)
	}
	j.Size(smoothed.ESS, sample.N)
	j.Evidence(c.LogEvidenceSE)
	j.NonFinite(smoothed.NonFinite, sample.N)
	if share := smoothed.ESS / float64(sample.N); sample.N >= 2*firstDraws && smoothed.K > verdict.DoubtfulKHat && share < hopelessShare {
		j.Lower(verdict.Failed, "%.1f%% of the draws are effective: the family misses a part of the posterior", 100*share)
	}
	if w.inner > 1 {
		half := psis.Smooth(w.halfWeights)
		j.Limit(math.Abs(half.LogMean-smoothed.LogMean)-4*math.Hypot(half.LogMeanSE, smoothed.LogMeanSE), 0.1, 1,
			"with half of the draws of each member of "+w.plate.name+" the log evidence differs by %.2g nats more than its errors")
	}
	c.Verdict, c.Reasons = j.Verdict, j.Reasons
	return c
}

// separable is the plate to whose members most latent numbers belong, and of several the one with
// most members, of those for which each variable belongs to one member at most; nil if there is
// none. Given the other variables, those of different members of it are independent.
func separable(m *Model) *Plate {
	var best *Plate
	most := 0
	for _, p := range m.plates {
		numbers, separate := 0, true
		for _, v := range m.variables {
			carriers := 0
			for _, q := range v.plates {
				if q.Determines(p) {
					carriers++
				}
			}
			separate = separate && (carriers <= 1 || v.role == Constant)
			if carriers > 0 && v.role == Latent {
				numbers += v.Members() * v.EventSize()
			}
		}
		if separate && (numbers > most || numbers == most && best != nil && p.size > best.size) {
			best, most = p, numbers
		}
	}
	return best
}

// belongs is the plate of the variable that says to which member of the other plate its members
// belong; nil if they belong to none.
func (v *Variable) belongs(to *Plate) *Plate {
	if to == nil {
		return nil
	}
	if carrier := to.carrier(v.plates); carrier >= 0 {
		return v.plates[carrier]
	}
	return nil
}

// largest is the largest number of members of a variable.
func (m *Model) largest() int {
	largest := 1
	for _, v := range m.variables {
		largest = max(largest, v.Members())
	}
	return largest
}

// weighing computes importance weights in batches of outer draws, with inner draws of what belongs
// to each member of a plate.
type weighing struct {
	*Posterior
	plate        *Plate
	outer, inner int
	until        time.Time // see CertifyConfig
	// of each draw so far: its log weight, and that from the first half of the inner draws
	logWeights, halfWeights []float64
	// shares are the density of the noise of each draw under the family over that under the mixture
	// with wider noise: their mean is 1, and they control the variance of the evidence.
	shares []float64
}

// graph takes the noise of each latent variable, [plates..., outer·inner, U], or with outer draws
// if it does not belong to a member of the plate, and the inputs of the feed. It returns the log
// weights of what belongs to no member [outer], of what belongs to each [members, outer, inner],
// and the values of all latent variables with draws first.
func (w *weighing) graph(ctx *context.Context, inputs []*Node) []*Node {
	noise := make([]*Node, len(w.family.latents))
	copy(noise, inputs)
	for i, l := range w.family.latents {
		if l.belongs(w.plate) == nil {
			noise[i] = repeatDraws(noise[i], len(l.plates), w.inner)
		}
	}
	r, _ := w.feed.replica(w.everything, inputs[len(noise):])
	logP, logQ := w.termsAt(ctx, r, noise)
	members := 1
	if w.plate != nil {
		members = w.plate.size
	}
	common := Zeros(r.graph, shapes.Make(dtypes.Float64, w.outer*w.inner))
	own := Zeros(r.graph, shapes.Make(dtypes.Float64, members, w.outer*w.inner))
	for _, v := range w.model.variables {
		if v.role == Constant {
			continue
		}
		term := ConvertDType(logP[v], dtypes.Float64)
		if v.role == Latent {
			term = Sub(term, ConvertDType(logQ[v], dtypes.Float64))
		}
		term = BroadcastToDims(term, append(r.dims(v), w.outer*w.inner)...)
		carrier := v.belongs(w.plate)
		for axis := len(v.plates) - 1; axis >= 0; axis-- {
			if v.plates[axis] != carrier {
				term = ReduceSum(term, axis)
			}
		}
		switch carrier {
		case nil:
			common = Add(common, term)
		case w.plate:
			own = Add(own, term)
		default:
			own = ScatterSum(own, r.position(carrier, w.plate), term, false, false)
		}
	}
	common = ReduceMean(Reshape(common, w.outer, w.inner), -1) // inner draws share it
	outputs := []*Node{common, Reshape(own, members, w.outer, w.inner)}
	for _, l := range w.family.latents {
		outputs = append(outputs, ConvertDType(drawsFirst(r, l.Variable), dtypes.Float64))
	}
	return outputs
}

// repeatDraws repeats each entry along an axis n times.
func repeatDraws(x *Node, axis, n int) *Node {
	dims := append([]int{}, x.Shape().Dimensions...)
	wide := append(append(append([]int{}, dims[:axis+1]...), n), dims[axis+1:]...)
	dims[axis] *= n
	return Reshape(BroadcastToDims(InsertAxes(x, axis+1), wide...), dims...)
}

// run draws until sample has N draws, which are all of which logWeights has weights.
func (w *weighing) run(ctx gocontext.Context, sample *Draws) error {
	exec, err := w.exec(fmt.Sprintf("certify/%d/%d", w.outer, w.inner), w.graph)
	if err != nil {
		return err
	}
	chosen := w.everything.draw(nil)
	rest := w.feed.inputs(chosen)
	for start := len(w.logWeights); start < sample.N; start += w.outer {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("certification stopped after %d of %d draws: %w", start, sample.N, err)
		}
		if start > 0 && late(w.until) {
			sample.N = start
			return nil
		}
		random := stream.Rand(w.config.Seed, fmt.Sprintf("certify/%d", start))
		noise, corrections := w.noise(random, chosen)
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(append(noise, rest...)...) })
		if err != nil {
			return err
		}
		keep := min(w.outer, sample.N-start)
		common, own := tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])
		// of each member, [keep]: which of the inner draws
		picks := make([][]int, len(own)/(w.outer*w.inner))
		for s := range keep {
			w.shares = append(w.shares, math.Exp(-corrections.common[s]))
			w.logWeights = append(w.logWeights, common[s]-corrections.common[s])
			w.halfWeights = append(w.halfWeights, common[s]-corrections.common[s])
		}
		for i, correction := range corrections.own {
			own[i] -= correction
		}
		for member := range picks {
			picks[member] = make([]int, keep)
			for s := range keep {
				at := (member*w.outer + s) * w.inner
				logMean, pick := pickOne(random, own[at:at+w.inner])
				w.logWeights[start+s] += logMean
				half := own[at : at+(w.inner+1)/2]
				w.halfWeights[start+s] += logsum.Of(half) - math.Log(float64(len(half)))
				picks[member][s] = pick
			}
		}
		for i, l := range w.family.latents {
			values := tensors.MustCopyFlatData[float64](outputs[2+i])
			sample.Values[l.Variable] = append(sample.Values[l.Variable], w.picked(l.Variable, values, picks, keep)...)
		}
		// tens of thousands of draws would fill memory before it is collected
		for _, output := range outputs {
			if err := output.FinalizeAll(); err != nil {
				return err
			}
		}
		for _, input := range noise {
			if err := input.(*tensors.Tensor).FinalizeAll(); err != nil {
				return err
			}
		}
	}
	return nil
}

// picked takes from values [outer·inner, plates..., event...] of a variable the draws that were
// picked for each member of the plate, [keep, plates..., event...].
func (w *weighing) picked(v *Variable, values []float64, picks [][]int, keep int) []float64 {
	size := v.EventSize()
	rowSize := v.Members() * size
	out := make([]float64, 0, keep*rowSize)
	owner := w.owners(v)
	for s := range keep {
		for member := range v.Members() {
			pick := 0
			if owner != nil {
				pick = picks[owner[member]][s]
			}
			at := (s*w.inner+pick)*rowSize + member*size
			out = append(out, values[at:at+size]...)
		}
	}
	return out
}

// owners are the members of the plate that the members of a variable belong to; nil if they belong
// to none.
func (w *weighing) owners(v *Variable) []int32 {
	carrier := v.belongs(w.plate)
	if carrier == nil {
		return nil
	}
	below := 1 // members of the plates after the carrier
	for i := len(v.plates) - 1; v.plates[i] != carrier; i-- {
		below *= v.plates[i].size
	}
	chain := carrier.path(w.plate)
	owners := make([]int32, v.Members())
	for member := range owners {
		owners[member] = follow(chain, int32(member/below%carrier.size))
	}
	return owners
}

// pickOne picks one of several draws with probability proportional to its weight, and returns the
// logarithm of the mean weight.
func pickOne(random *rand.Rand, logWeights []float64) (logMean float64, pick int) {
	largest := math.Inf(-1)
	for _, l := range logWeights {
		if math.IsNaN(l) {
			return math.NaN(), 0
		}
		largest = math.Max(largest, l)
	}
	if math.IsInf(largest, 0) {
		return largest, 0
	}
	var sum float64
	for _, l := range logWeights {
		sum += math.Exp(l - largest)
	}
	left := sum * random.Float64()
	for i, l := range logWeights {
		if left -= math.Exp(l - largest); left < 0 {
			pick = i
			break
		}
	}
	return largest + math.Log(sum/float64(len(logWeights))), pick
}
