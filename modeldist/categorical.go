package modeldist

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/space"
)

// DefaultLimit is the largest number of models that a [Categorical] holds by default. Their logits,
// gradient and optimiser state take 32 MiB.
const DefaultLimit = 1 << 20

// CategoricalConfig configures [NewCategorical]. With the zero value, training starts from the
// uniform distribution.
type CategoricalConfig struct {
	// LogPrior holds the initial logits of the models in lexicographic order of their codes,
	// usually log p(m). They need not be normalised. -Inf excludes a model permanently. Nil means
	// that all logits are equal.
	LogPrior []float64
	// Limit is the largest number of models that NewCategorical accepts; 0 means DefaultLimit.
	Limit int
}

// Categorical is the distribution q(m) ∝ exp ψ_m with one trainable logit for each code of a space
// (Davies et al. 2025, section 3.2). All its arithmetic is in float64.
type Categorical struct {
	cards   []int
	initial []float64 // ψ at the start; 0 for excluded models, whose logits are never read
	allowed []bool    // false for excluded models; nil when there are none
	fixed   bool      // whether no gradient changes the logits
}

// NewCategorical returns the categorical distribution over all codes with the given outcome counts.
// It returns an error for a limit out of its range, for a space larger than the limit, and for a
// LogPrior of the wrong length, with NaN or +Inf, or without a possible model.
func NewCategorical(cards []int, cfg CategoricalConfig) (*Categorical, error) {
	if cfg.Limit < 0 || cfg.Limit > math.MaxInt32 {
		return nil, fmt.Errorf("modeldist: limit of %d models, want 0 to %d", cfg.Limit, math.MaxInt32)
	}
	if err := space.CheckCards(cards); err != nil {
		return nil, err
	}
	limit := cmp.Or(cfg.Limit, DefaultLimit)
	count, ok := space.CountCodes(cards)
	if !ok || count > limit {
		return nil, tooLarge(count, ok, limit)
	}
	if err := memory.Check(fmt.Sprintf("modeldist: a table of %d models", count), 8*float64(count)); err != nil {
		return nil, err
	}
	c := &Categorical{cards: slices.Clone(cards), initial: make([]float64, count)}
	if cfg.LogPrior == nil {
		return c, nil
	}
	if len(cfg.LogPrior) != count {
		return nil, fmt.Errorf("modeldist: log prior has %d values, the space has %d models", len(cfg.LogPrior), count)
	}
	allowed := make([]bool, count)
	left := 0
	for index, logit := range cfg.LogPrior {
		if math.IsNaN(logit) || math.IsInf(logit, 1) {
			return nil, fmt.Errorf("modeldist: log prior of model %d (code %v) is %v",
				index, space.Decode(cards, index, nil), logit)
		}
		if !math.IsInf(logit, -1) {
			c.initial[index] = logit
			allowed[index] = true
			left++
		}
	}
	if left == 0 {
		return nil, fmt.Errorf("modeldist: the log prior is -Inf for all %d models", count)
	}
	if left < count {
		c.allowed = allowed
	}
	return c, nil
}

// tooLarge returns an error that states the memory for logits of all models and an alternative.
func tooLarge(count int, ok bool, limit int) error {
	models, memory := "more than 2^62", "more memory than any machine has"
	if ok {
		// Each model needs four float64: its logit, the gradient, and the two moments of Adam.
		models, memory = fmt.Sprint(count), fmt.Sprintf("%.3g GiB", float64(count)*4*8/(1<<30))
	}
	return fmt.Errorf("modeldist: a table of %s models needs %s for logits, gradients and optimiser state, "+
		"and the limit is %d models: use an autoregressive distribution (NewAutoregressive), "+
		"which grows with the number of sites instead", models, memory, limit)
}

// Cards returns the number of outcomes of each site of a code. Callers must not change the slice.
func (c *Categorical) Cards() []int { return c.cards }

// Count returns M, the number of codes.
func (c *Categorical) Count() int { return len(c.initial) }

// Variable returns the logits ψ, [M] float64; the entries of excluded models have zero gradient.
func (c *Categorical) Variable(ctx *context.Context) *context.Variable {
	logits := ctx.In("categorical").Checked(false).VariableWithValue("logits", c.initial)
	if c.fixed {
		logits.SetTrainable(false)
	}
	return logits
}

// Logits returns the current logits, not normalised: [M] float64, -Inf for excluded models.
func (c *Categorical) Logits(ctx *context.Context, g *graph.Graph) *graph.Node {
	logits := c.Variable(ctx).ValueGraph(g)
	if c.allowed == nil {
		return logits
	}
	return graph.Where(graph.Const(g, c.allowed), logits, graph.Infinity(g, dtypes.Float64, -1))
}

// LogProbs returns the log probabilities of all models in lexicographic order of their codes: [M]
// float64, -Inf for excluded models.
func (c *Categorical) LogProbs(ctx *context.Context, g *graph.Graph) *graph.Node {
	logits := c.Logits(ctx, g)
	return graph.Sub(logits, logSumExp(logits))
}

// LogProb returns log q of each code: codes [B, S] int32 -> [B] float64, -Inf for excluded models.
func (c *Categorical) LogProb(ctx *context.Context, codes *graph.Node) *graph.Node {
	space.AssertCodes("modeldist.Categorical.LogProb", codes, len(c.cards))
	logits := c.Logits(ctx, codes.Graph())
	chosen := graph.Gather(logits, graph.InsertAxes(space.Index(c.cards, codes), -1))
	return graph.Sub(chosen, logSumExp(logits))
}

// Entropy returns the entropy of q in nats, a float64 scalar, exactly.
func (c *Categorical) Entropy(ctx *context.Context, g *graph.Graph) *graph.Node {
	return gradest.CategoricalEntropy(c.Logits(ctx, g))
}

// Sample draws codes by inverting the cumulative distribution: uniform random numbers [B, S]
// float64 -> codes [B, S] int32. It uses only the first column of the uniforms. The cost is O(M + B
// log M). A model of probability zero is never drawn.
func (c *Categorical) Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node {
	assertUniforms("modeldist.Categorical.Sample", uniforms, len(c.cards))
	logits := c.Logits(ctx, uniforms.Graph())
	weights := graph.Exp(graph.Sub(logits, graph.ReduceAllMax(logits)))
	u := graph.Squeeze(graph.SliceAxis(uniforms, 1, graph.AxisElem(0)), 1)
	index := invertCDF(graph.InsertAxes(weights, 0), u)
	// Without StopGradient, differentiating log q would need the gradient of comparisons, which
	// does not exist.
	return graph.StopGradient(space.Codes(c.cards, index))
}

// logSumExp returns log ∑ exp x over the last axis. Some entries of a row, but not all, may be
// -Inf.
func logSumExp(x *graph.Node) *graph.Node {
	peak := graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1))
	sum := graph.ReduceSum(graph.Exp(graph.Sub(x, peak)), -1)
	return graph.Add(graph.Log(sum), graph.Squeeze(peak, -1))
}

func assertUniforms(where string, uniforms *graph.Node, sites int) {
	if uniforms.DType() != dtypes.Float64 || uniforms.Rank() != 2 || uniforms.Shape().Dim(1) != sites {
		panic(fmt.Errorf("%s: want uniforms of shape [B, %d] and dtype Float64, got %s", where, sites, uniforms.Shape()))
	}
}
