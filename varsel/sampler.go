package varsel

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/surrogate"
)

// Sampler is a kind of distribution q(m) over subsets of predictors.
type Sampler int

const (
	// AutoSampler chooses by the number of models. If there are so few models that a pilot run
	// evaluates every model, it stands for a table with one logit per model. With more models it
	// stands for a network, because a large table that starts from the prior settles on the models
	// that were drawn first. Under likelihoods with heavy tails the limit is smaller
	// (heavyTailsTable), because a pilot run does not show modes that the flow misses, and a
	// network starts from the models of chains.
	AutoSampler Sampler = iota
	// CategoricalSampler is a table with one logit per model.
	CategoricalSampler
	// SurrogateSampler is a table of models. A Gaussian process for the evidences sets the
	// probabilities with which models are drawn (GP-UCB).
	SurrogateSampler
	// AutoregressiveSampler draws one predictor after the other. One network gives all conditional
	// probabilities.
	AutoregressiveSampler
)

// heavyTailsTable is the largest number of models for which AutoSampler stands for a table under
// likelihoods with heavy tails. With 512 models a table takes a quarter of a network's time, and
// the mean error of inclusion probabilities is at most 0.004; with 4,096 models it is 0.13
// (docs/benchmarks/large-spaces.md).
const heavyTailsTable = 1 << 10

var samplers = enum.New[Sampler]("sampler", "auto", "categorical", "surrogate", "autoregressive")

// String returns the name.
func (f Sampler) String() string { return samplers.String(f) }

// MarshalText writes the text of String.
func (f Sampler) MarshalText() ([]byte, error) { return samplers.Marshal(f) }

// UnmarshalText reads the text that MarshalText writes.
func (f *Sampler) UnmarshalText(text []byte) error { return samplers.Unmarshal(text, f) }

// NewModels returns a q(m) of the family that starts at the prior over models. For a beta-binomial
// prior a network instead starts at independent inclusions with the prior's mean. For a table it
// returns nil, since the engine makes the table. If the family does not suit the space of models,
// the error names one that does. dtype is the type of networks; its zero value stands for Float32.
func (p *Problem) NewModels(family Sampler, options SurrogateOptions, seed uint64, dtype dtypes.DType) (vti.ModelDistribution, error) {
	listed := family == CategoricalSampler || family == SurrogateSampler
	if p.Slots != nil && !listed {
		return p.Slots.newModels(seed, dtype)
	}
	count, ok := space.Count(p.Posterior().Space())
	fits := ok && count <= modeldist.DefaultLimit
	if listed && !fits {
		n := len(p.Design.Predictors)
		return nil, fmt.Errorf("%d predictors make 2^%d models; their table would take %s, and one holds at most 2^%d models: use --sampler autoregressive, which needs no table",
			n, n, memory.Text(8*math.Exp2(float64(n))), int(math.Log2(modeldist.DefaultLimit)))
	}
	if family == SurrogateSampler {
		return modeldist.NewSurrogate(p.Posterior().Space().Cards(), modeldist.SurrogateConfig{
			LogPrior: p.logPriors(count), Belief: options.Belief, Beta: options.Beta, Utility: options.Utility, Seed: seed,
		})
	}
	table := 1 << mostListed
	if p.Model.Likelihood.HeavyTails() {
		table = heavyTailsTable
	}
	if family == CategoricalSampler || family == AutoSampler && ok && count <= table {
		return nil, nil
	}
	config := modeldist.AutoregressiveConfig{Seed: seed, DType: dtype}
	// the prior probability that a given predictor is in the model
	predictors := len(p.Design.Predictors)
	in := p.Model.Prior.MeanSize(predictors) / float64(predictors)
	if each := p.Model.Prior.Inclusion; each != nil || math.Abs(in-0.5) > 1e-9 {
		for j := range p.Design.Predictors {
			if each != nil {
				in = each[j]
			}
			config.SiteLogPrior = append(config.SiteLogPrior, []float64{math.Log1p(-in), math.Log(in)})
		}
	}
	var constraints modeldist.Both
	if limit := p.Model.Prior.Limit(len(p.Design.Predictors)); limit < len(p.Design.Predictors) {
		constraints = append(constraints, modeldist.MaxActive{Limit: limit})
	}
	if h := p.Target.heredity; h != nil {
		constraints = append(constraints, modeldist.Parents{Of: h.parents, Any: h.any})
	}
	if len(constraints) > 0 {
		config.Constraint = constraints
	}
	return modeldist.NewAutoregressive(p.Target.Space().Cards(), config)
}

// SurrogateOptions holds the options of the surrogate sampler.
type SurrogateOptions struct {
	// Belief is the form of the surrogate's posterior over evidences.
	Belief modeldist.Belief `json:"belief"`
	// Beta is the coefficient β of the upper confidence bound; 0 stands for the default.
	Beta float64 `json:"beta,omitempty"`
	// Utility is the utility by which models are drawn.
	Utility surrogate.Utility `json:"utility"`
}

// Learning holds the options of learning q(m), as written in records. Zeros stand for the defaults
// of vti.Config.
type Learning struct {
	// Start is the way in which flow and q(m) start.
	Start vti.Start `json:"start"`
	// ControlVariate is the control variate of the score-function gradient.
	ControlVariate vti.ControlVariate `json:"control_variate"`
	// InformationGain bounds the change of q(m)'s entropy in a step, in nats. A negative value
	// stands for no bound.
	InformationGain float64 `json:"information_gain,omitempty"`
}

// informationGain returns the bound InformationGain as vti.Config takes it.
func (l Learning) informationGain() float64 {
	if l.InformationGain < 0 {
		return math.Inf(1)
	}
	return l.InformationGain
}

// logPriors returns log p(m) of every model written as bits, in the order of the models' indices.
func (p *Problem) logPriors(count int) []float64 {
	terms, values := p.Model.Prior.LogTerms(len(p.Design.Predictors)), make([]float64, 0, count)
	for _, code := range space.All(p.Target.Space().Cards()) {
		values = append(values, p.Target.logPriorOf(terms, code))
	}
	return values
}
