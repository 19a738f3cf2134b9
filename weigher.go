package vti

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
)

// tally is what a weigher knows of one model.
type tally struct {
	logWeights []float64
	changed    bool         // since the weights were last looked at
	stored     []storedDraw // the draws that were kept, all of a call of weigh or none
	// one is a draw chosen among all of the model in proportion to weight, and logTotal the log of
	// their sum: the model's posterior in a single draw, for models of which no others, or too few,
	// were kept.
	one      storedDraw
	logTotal float64
}

// storedDraw is a draw that is kept for the weighted sample.
type storedDraw struct {
	theta                     []float64
	logQ, logJoint, logWeight float64
}

// add counts a draw, which u, uniform on [0, 1), may make the model's one.
func (t *tally) add(draw storedDraw, u float64, store bool) {
	t.logWeights, t.changed = append(t.logWeights, draw.logWeight), true
	if store {
		t.stored = append(t.stored, draw)
	}
	if math.IsInf(draw.logWeight, -1) {
		return
	}
	t.logTotal = logSumExp([]float64{t.logTotal, draw.logWeight})
	if u < math.Exp(draw.logWeight-t.logTotal) {
		t.one = draw
		t.one.theta = slices.Clone(draw.theta) // not to hold on to the whole batch
	}
}

// representatives are the draws that stand for the model in the weighted sample, with their
// smoothed log weights. Weights of few draws, once normalised, would be those of the proposal
// rather than of the posterior.
func (t *tally) representatives() (draws []storedDraw, logWeights []float64) {
	if len(t.stored) < leastLook {
		if t.one.theta == nil {
			return nil, nil
		}
		return []storedDraw{t.one}, []float64{0}
	}
	for _, draw := range t.stored {
		logWeights = append(logWeights, draw.logWeight)
	}
	return t.stored, psis.Smooth(logWeights).LogWeights
}

// weigher draws parameters for models and keeps their weights.
type weigher struct {
	posterior   *Posterior
	ctx         gocontext.Context
	models      []ModelEstimate
	tallies     []tally // by model
	random      *rand.Rand
	choices     *rand.Rand // of the models' one draw
	reference   reference
	annealed    bool // move the draws by annealing
	nonFinite   int
	done, total int
	progress    func(done, total int)
}

// newWeigher starts a weigher of models without any draws; name is that of its random streams.
func newWeigher(ctx gocontext.Context, p *Posterior, models []ModelEstimate, name string) *weigher {
	w := &weigher{
		posterior: p, ctx: ctx, models: models, tallies: make([]tally, len(models)), reference: wideReference,
		random: stream.Rand(p.config.Seed, name), choices: stream.Rand(p.config.Seed, name+"/one"),
	}
	for i := range w.tallies {
		w.tallies[i].logTotal = math.Inf(-1)
	}
	return w
}

// annealInstead replaces the draws of the models with an allocation by annealed ones.
func (w *weigher) annealInstead(allocation []int) error {
	for i, draws := range allocation {
		w.total += draws
		if draws > 0 {
			w.tallies[i] = tally{logTotal: math.Inf(-1)}
		}
	}
	w.annealed, w.reference = true, farReference
	return w.weigh(allocation, true)
}

// annealWhereNeeded anneals the models with an allocation, and goes back to the plain draws, which
// are many more, of those that annealing confirms: their k̂ is small and both estimates of the
// evidence agree.
func (w *weigher) annealWhereNeeded(allocation []int) error {
	plain := slices.Clone(w.tallies)
	if err := w.annealInstead(allocation); err != nil {
		return err
	}
	for i, draws := range allocation {
		if draws > 0 && confirmed(plain[i].logWeights, w.tallies[i].logWeights) {
			w.tallies[i] = plain[i]
			w.tallies[i].changed = true
		}
	}
	return nil
}

// confirmed tells whether plain weights can stand in the light of annealed ones: evidences that
// differ by more than three standard errors mean that no plain draw fell on a part of the
// posterior.
func confirmed(plain, annealed []float64) bool {
	p, a := psis.Smooth(plain), psis.Smooth(annealed)
	return p.K <= psis.Reliable && math.Abs(p.LogMean-a.LogMean) <= 3*math.Hypot(p.LogMeanSE, a.LogMeanSE)
}

// weigh adds allocation[i] draws of model i with their log weights log η(θ | m) − log r(θ | m), and
// keeps the draws if store is set.
func (w *weigher) weigh(allocation []int, store bool) error {
	p := w.posterior
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	codes, z := make([]int32, batch*sites), make([]float64, batch*dim)
	owner := make([]int, 0, batch)
	flush := func() error {
		if len(owner) == 0 {
			return nil
		}
		if err := w.ctx.Err(); err != nil {
			return fmt.Errorf("certification stopped after %d draws: %w", w.done, err)
		}
		draws, logWeights, err := w.evaluate(codes, z)
		if err != nil {
			return err
		}
		for row, model := range owner {
			draw := storedDraw{
				theta: draws.theta[row*dim : (row+1)*dim : (row+1)*dim],
				logQ:  draws.logQ[row], logJoint: draws.logJoint[row], logWeight: logWeights[row],
			}
			if math.IsNaN(draw.logWeight) || math.IsInf(draw.logWeight, 1) {
				w.nonFinite++
				draw.logWeight = math.Inf(-1)
			}
			w.tallies[model].add(draw, w.choices.Float64(), store)
		}
		w.done += len(owner)
		if w.progress != nil {
			w.progress(w.done, w.total)
		}
		owner = owner[:0]
		return nil
	}
	for model, draws := range allocation {
		for range draws {
			row := len(owner)
			copy(codes[row*sites:], w.models[model].Code)
			w.reference.draw(w.random, z[row*dim:(row+1)*dim])
			if owner = append(owner, model); len(owner) == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// evaluate returns the draws that come from one batch of reference draws z, which annealing
// changes, and their log weights.
func (w *weigher) evaluate(codes []int32, z []float64) (draws pushed, logWeights []float64, err error) {
	if draws, err = w.posterior.push(codes, z); err != nil {
		return pushed{}, nil, err
	}
	logWeights = make([]float64, len(draws.logQ))
	for row := range logWeights {
		logWeights[row] = draws.logWeight(w.reference, row)
	}
	if !w.annealed {
		return draws, logWeights, nil
	}
	if logWeights, err = w.anneal(codes, z, logWeights); err != nil {
		return pushed{}, nil, err
	}
	draws, err = w.posterior.push(codes, z)
	return draws, logWeights, err
}

// collect makes the weighted sample: in it every model has its certified probability, shared among
// its draws in proportion to their smoothed weights.
func (c *Certificate) collect(tallies []tally, dim int, logPrior, logModel []float64) WeightedSample {
	var sample WeightedSample
	var theta []float64
	var total float64
	for i := range tallies {
		model := &c.Models[i]
		draws, logWeights := tallies[i].representatives()
		norm := logSumExp(logWeights)
		for k, draw := range draws {
			weight := 0.0
			if finite(norm) {
				weight = model.Certified * math.Exp(logWeights[k]-norm)
			}
			theta = append(theta, draw.theta...)
			sample.Codes = append(sample.Codes, model.Code)
			sample.LogQ = append(sample.LogQ, logModel[i]+draw.logQ)
			sample.LogP = append(sample.LogP, logPrior[i]+draw.logJoint)
			sample.Weight = append(sample.Weight, weight)
			total += weight
		}
		tallies[i] = tally{} // frees the draws
	}
	for i := range sample.Weight {
		sample.Weight[i] /= total
	}
	if len(theta) == 0 {
		theta = make([]float64, dim)
	}
	sample.Theta = mat.NewDense(len(theta)/dim, dim, theta)
	return sample
}
