package modeldist

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/surrogate"
)

// DefaultBeta is the default weight β of the standard deviation in the upper confidence bound, as
// in the experiments of Davies et al. (2025).
const DefaultBeta = 2

// Belief is a kind of probabilistic belief about the rewards of models in a [Surrogate].
type Belief int

const (
	// AutoBelief is DiagonalBelief for at most 4,096 models, which a few batches of draws cover,
	// and ProcessBelief for more models.
	AutoBelief Belief = iota
	// DiagonalBelief has independent beliefs about the models (surrogate.Diagonal).
	DiagonalBelief
	// ProcessBelief is a Gaussian process over codes (surrogate.Process).
	ProcessBelief
)

var beliefs = enum.New[Belief]("belief", "auto", "diagonal", "process")

// String returns the name of the belief.
func (b Belief) String() string { return beliefs.String(b) }

// MarshalText writes the name of the belief.
func (b Belief) MarshalText() ([]byte, error) { return beliefs.Marshal(b) }

// UnmarshalText reads a name written by MarshalText.
func (b *Belief) UnmarshalText(text []byte) error { return beliefs.Unmarshal(text, b) }

// mostDiagonal is the largest number of models for which AutoBelief is DiagonalBelief. With this
// number a Gaussian process takes five times the processor time, for inclusion probabilities that
// are equally accurate (docs/benchmarks/constants.md).
const mostDiagonal = 1 << 12

// SurrogateConfig configures [NewSurrogate]. With the zero value, training starts from the uniform
// distribution.
type SurrogateConfig struct {
	// LogPrior and Limit are as in CategoricalConfig; LogPrior is log p(m).
	LogPrior []float64
	Limit    int
	// Belief is the kind of belief about rewards. Utility is the rule for choosing models in
	// training.
	Belief  Belief
	Utility surrogate.Utility
	// Beta is the weight β of the standard deviation in the upper confidence bound. It is positive;
	// 0 stands for DefaultBeta.
	Beta float64
	// Seed is the root of the random stream of Thompson draws.
	Seed uint64
}

// Surrogate is q(m) ∝ p(m) exp u(m) (Davies et al. 2025, equation 14) over models that can be
// listed. The utility u(m) of model m is computed from a Gaussian belief about its expected reward,
// which is learned from the rewards of draws and not by a gradient. The logits of its [Categorical]
// are log p + u, which no gradient changes. The belief is kept in Go memory, and only Store copies
// it to a variable.
//
// If beliefs about models are independent, u is computed for all M models after every batch. With a
// Gaussian process it is computed after 1, 2, 4, … batches and then every M/(4B) batches of B
// draws, so that the number of computed utilities is at most four times the number of drawn models.
type Surrogate struct {
	*Categorical
	cfg     SurrogateConfig
	belief  surrogate.Belief
	batches int
	scratch []float64
}

// NewSurrogate returns the distribution over all codes with the given outcome counts. It returns
// the errors of NewCategorical, and an error if Beta is negative.
func NewSurrogate(cards []int, cfg SurrogateConfig) (*Surrogate, error) {
	if !(cfg.Beta >= 0) || math.IsInf(cfg.Beta, 0) {
		return nil, fmt.Errorf("modeldist: β of a surrogate is %v, want a positive number (or 0 for %v)", cfg.Beta, DefaultBeta)
	}
	cfg.Beta = cmp.Or(cfg.Beta, DefaultBeta)
	table, err := NewCategorical(cards, CategoricalConfig{LogPrior: cfg.LogPrior, Limit: cfg.Limit})
	if err != nil {
		return nil, err
	}
	if cfg.Belief == AutoBelief {
		cfg.Belief = ProcessBelief
		if table.Count() <= mostDiagonal {
			cfg.Belief = DiagonalBelief
		}
	}
	table.fixed = true
	s := &Surrogate{Categorical: table, cfg: cfg, scratch: make([]float64, table.Count())}
	s.belief = s.newBelief()
	return s, nil
}

func (s *Surrogate) newBelief() surrogate.Belief {
	if s.cfg.Belief == DiagonalBelief {
		return surrogate.NewDiagonal(s.Count())
	}
	return surrogate.NewProcess(s.Cards(), s.inducing())
}

// inducing returns the largest number of inducing codes of a Gaussian process.
func (s *Surrogate) inducing() int {
	if s.Count() > 1<<16 {
		return surrogate.DefaultInducing / 2
	}
	return surrogate.DefaultInducing
}

// String describes the settings of the distribution, for the record of a run.
func (s *Surrogate) String() string {
	return fmt.Sprintf("surrogate: %s belief, utility %s, β %v, at most %d inducing codes", s.cfg.Belief, s.cfg.Utility, s.cfg.Beta, s.inducing())
}

// Learn updates the belief with a batch of B draws, and q(m) after some of the batches. codes [B*S]
// are drawn from q, and rewards [B] are in nats: the higher, the more probable the model. Rewards
// that are not finite are left out. movement is the change of expected rewards in nats, by training
// of the flow, since the previous batch.
func (s *Surrogate) Learn(ctx *context.Context, codes []int32, rewards []float64, movement float64) error {
	sites := len(s.Cards())
	if len(codes) != sites*len(rewards) {
		return fmt.Errorf("modeldist: %d rewards for codes of %d numbers, want %d sites each", len(rewards), len(codes), sites)
	}
	var models []int
	var finite []float64
	for i, reward := range rewards {
		if !math.IsNaN(reward) && !math.IsInf(reward, 0) {
			models = append(models, space.Encode(s.Cards(), codes[i*sites:(i+1)*sites]))
			finite = append(finite, reward)
		}
	}
	if len(models) == 0 {
		return nil
	}
	s.belief.Observe(models, finite, movement)
	s.batches++
	if !s.due(len(rewards)) {
		return nil
	}
	random := stream.Rand(s.cfg.Seed, fmt.Sprintf("thompson/%d", s.batches))
	return s.write(ctx, surrogate.Utilities(s.belief, s.cfg.Utility, s.cfg.Beta, random, s.scratch))
}

// due reports whether the distribution is computed again after this batch.
func (s *Surrogate) due(batch int) bool {
	if _, ok := s.belief.(*surrogate.Diagonal); ok {
		return true
	}
	every := max(s.Count()/(4*batch), 1)
	return s.batches&(s.batches-1) == 0 || s.batches%every == 0
}

func (s *Surrogate) write(ctx *context.Context, utilities []float64) error {
	logits := floats.AddTo(make([]float64, len(utilities)), s.initial, utilities)
	return s.Variable(ctx).SetValue(tensors.FromFlatDataAndDimensions(logits, len(logits)))
}

// Settle sets q(m) ∝ p(m) exp μ(m), with the expected reward μ(m) of the model m as utility and no
// bonus for exploring. This is the distribution to report. The next Learn continues as if Settle
// had not been called. Before the first observation Settle changes nothing.
func (s *Surrogate) Settle(ctx *context.Context) error {
	if s.batches == 0 {
		return nil
	}
	return s.write(ctx, surrogate.Utilities(s.belief, surrogate.Mean, 0, nil, s.scratch))
}

const (
	stateScope = "surrogate"
	stateName  = "state"
)

// Store writes the belief into a variable. Another Surrogate with the same configuration can
// continue from it and computes exactly the same numbers.
func (s *Surrogate) Store(ctx *context.Context) error {
	state := append(s.belief.State(), float64(s.batches))
	variable := ctx.In(stateScope).Checked(false).VariableWithValue(stateName, state).SetTrainable(false)
	return variable.SetValue(tensors.FromFlatDataAndDimensions(state, len(state)))
}

// Begin restores the belief that Store wrote into ctx, or starts a new belief if there is none.
// Call it before Learn.
func (s *Surrogate) Begin(ctx *context.Context) error {
	s.belief, s.batches = s.newBelief(), 0
	variable := ctx.GetVariableByScopeAndName(ctx.In(stateScope).Scope(), stateName)
	if variable == nil || !variable.HasValue() {
		return nil
	}
	value, err := variable.Value()
	if err != nil {
		return err
	}
	state, err := tensors.CopyFlatData[float64](value)
	if err != nil {
		return err
	}
	s.batches = int(state[len(state)-1])
	return s.belief.SetState(state[:len(state)-1])
}
