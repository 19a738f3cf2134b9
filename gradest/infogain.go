package gradest

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
)

// DefaultHalvings is the value that replaces 0 in the field Halvings of [InformationGain]. The
// smallest step is then a millionth of the first.
const DefaultHalvings = 20

// InformationGain bounds the change of the entropy of q(m) in one step (appendix D.2 of the VTI
// paper). Of the steps ψ + scale·step with scale 1, 1/2, …, 2^-Halvings it takes the largest that
// changes the entropy of q by at most Epsilon nats, and no step if none satisfies the bound.
// Without such a bound q(m) can concentrate on models only because their parameters are fitted
// first.
type InformationGain struct {
	Epsilon  float64 // ε of eq. 57 in nats, positive
	Halvings int     // largest number K of halvings to try; 0 means DefaultHalvings
}

// Validate returns an error if Epsilon is not positive and finite, or if Halvings is not between 0
// and 1000.
func (c InformationGain) Validate() error {
	if !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 1) {
		return fmt.Errorf("gradest: information gain bound is %v nats, want a positive number", c.Epsilon)
	}
	if c.Halvings < 0 || c.Halvings > 1000 { // 2^-1000 is still a float64
		return fmt.Errorf("gradest: %d halvings, want 1 to 1000 (or 0 for %d)", c.Halvings, DefaultHalvings)
	}
	return nil
}

// Scales returns 1, 1/2, …, 2^-Halvings, the fractions of a step that are tried.
func (c InformationGain) Scales() []float64 {
	return powersOfHalf(cmp.Or(c.Halvings, DefaultHalvings) + 1)
}

// powersOfHalf returns 1, 1/2, …, 2^-(n-1).
func powersOfHalf(n int) []float64 {
	return apply.UpTo(n, func(k int) float64 { return math.Ldexp(1, -k) })
}

// maxBlock is the number of logits that Categorical computes at once: 8 MiB in float64.
const maxBlock = 1 << 20

// Categorical returns the fraction of step to take so that the information gain is within its
// bound, from exact entropies: logits and step [M] of the same dtype -> scalar of that dtype. A
// logit may be -Inf if the step at that logit is finite. The logits after each candidate step are
// the rows of a [Halvings+1, M] array, computed in blocks of about maxBlock numbers.
func (c InformationGain) Categorical(logits, step *graph.Node) *graph.Node {
	const where = "gradest.InformationGain.Categorical"
	c.mustBeValid()
	assertVector(where, "logits", logits)
	assertBatch(where, "step", step, logits.Shape().Dim(0))
	logits, step = graph.StopGradient(logits), graph.StopGradient(step)
	g := logits.Graph()
	scales := c.Scales()
	rows := max(1, maxBlock/logits.Shape().Dim(0))
	var entropies []*graph.Node
	for start := 0; start < len(scales); start += rows {
		block := scales[start:min(start+rows, len(scales))]
		column := graph.InsertAxes(graph.ConstAsDType(g, logits.DType(), block), -1) // [rows, 1]
		candidates := graph.Add(graph.InsertAxes(logits, 0), graph.Mul(column, graph.InsertAxes(step, 0)))
		entropies = append(entropies, CategoricalEntropy(candidates))
	}
	return LargestStep(CategoricalEntropy(logits), graph.Concatenate(entropies, 0), c.Epsilon)
}

// Network returns the fraction of the steps to take, a float64 scalar. steps[i] is the proposed
// increment of variables[i]. logProb returns log q [B] of one fixed batch, which was drawn from the
// present q. logProb computes log q from the current graph values of the variables.
//
// Entropies are estimated by [ImportanceEntropy]. Each candidate scale costs one evaluation of
// logProb, so keep Halvings small: with 6 halvings the smallest scale is 1/64. Graph values of
// variables are left unchanged.
func (c InformationGain) Network(variables []*context.Variable, steps []*graph.Node, logProb func() *graph.Node) *graph.Node {
	c.mustBeValid()
	if len(variables) != len(steps) {
		panic(fmt.Errorf("gradest.InformationGain.Network: %d variables but %d steps", len(variables), len(steps)))
	}
	logQ := toFloat64(logProb())
	current := graph.Neg(graph.ReduceAllMean(logQ))
	var entropies []*graph.Node
	for _, scale := range c.Scales() {
		moved := toFloat64(moveVariables(variables, steps, scale, logProb))
		entropies = append(entropies, ImportanceEntropy(logQ, moved))
	}
	return LargestStep(current, graph.Stack(entropies, 0), c.Epsilon)
}

func moveVariables(variables []*context.Variable, steps []*graph.Node, scale float64, fn func() *graph.Node) *graph.Node {
	before := make([]*graph.Node, len(variables))
	for i, v := range variables {
		before[i] = v.ValueGraph(steps[i].Graph())
		v.SetValueGraph(graph.StopGradient(graph.Add(before[i], graph.MulScalar(steps[i], scale))))
	}
	defer func() {
		for i, v := range variables {
			v.SetValueGraph(before[i])
		}
	}()
	return fn()
}

func (c InformationGain) mustBeValid() {
	if err := c.Validate(); err != nil {
		panic(err)
	}
}

// LargestStep returns the first of 1, 1/2, …, 2^-K for which |entropy − candidates[k]| ≤ epsilon,
// or 0 if there is none. entropy, a scalar, is the entropy before the step. candidates [K+1] holds
// the entropies after the step times each of these fractions, in the same dtype. A candidate that
// is NaN never satisfies the bound.
func LargestStep(entropy, candidates *graph.Node, epsilon float64) *graph.Node {
	const where = "gradest.LargestStep"
	assertScalar(where, "entropy", entropy)
	assertVector(where, "candidates", candidates)
	scales := graph.ConstAsDType(entropy.Graph(), entropy.DType(), powersOfHalf(candidates.Shape().Dim(0)))
	pass := graph.LessOrEqual(graph.Abs(graph.Sub(candidates, entropy)), graph.Scalar(entropy.Graph(), entropy.DType(), epsilon))
	return graph.StopGradient(graph.ReduceAllMax(graph.Where(pass, scales, graph.ZerosLike(scales))))
}

// mostUnseen bounds the factor by which the mean of the weights q'/q over the sample may differ
// from its expectation 1. It still accepts a q' that gives a probability of 1/20 to models outside
// of the sample.
const mostUnseen = 1.05

// ImportanceEntropy estimates the entropy of a distribution q' from models drawn from q (eq. 54 to
// 56 of the VTI paper): logQ and logQNew [N] are log q and log q' of each drawn model -> scalar.
//
// The weights q'/q are formed from joint log probabilities and divided by their sum. The error of
// the estimate is then proportional to the spread of log q' over models and not to the size of log
// q'. In eq. 56 the weights are divided by N instead, which gives the same estimate if q' = q.
//
// The result is NaN if the mean weight, whose expectation is 1, is off by more than a factor 1.05:
// q' then has mass on models outside of the sample.
func ImportanceEntropy(logQ, logQNew *graph.Node) *graph.Node {
	const where = "gradest.ImportanceEntropy"
	assertVector(where, "logQ", logQ)
	assertBatch(where, "logQNew", logQNew, logQ.Shape().Dim(0))
	logWeight := graph.Sub(logQNew, logQ)
	peak := graph.ReduceAllMax(logWeight)
	weight := graph.Exp(graph.Sub(logWeight, peak))
	total := graph.ReduceAllSum(weight)
	possible := graph.IsFinite(logQNew) // 0·log 0 = 0 for models that q' excludes
	terms := graph.Mul(weight, graph.Where(possible, logQNew, graph.ZerosLike(logQNew)))
	entropy := graph.Neg(graph.Div(graph.ReduceAllSum(terms), total))

	logMean := graph.Add(peak, graph.Log(graph.DivScalar(total, float64(logQ.Shape().Dim(0)))))
	trusted := graph.LessOrEqual(graph.Abs(logMean), graph.Scalar(logQ.Graph(), logQ.DType(), math.Log(mostUnseen)))
	return graph.Where(trusted, entropy, graph.Scalar(logQ.Graph(), logQ.DType(), math.NaN()))
}

// Advance returns value + scale·step for a scalar scale. If scale is 0 it returns exactly value.
func Advance(value, step, scale *graph.Node) *graph.Node {
	assertScalar("gradest.Advance", "scale", scale)
	moved := graph.Add(value, graph.Mul(graph.ConvertDType(scale, value.DType()), step))
	return graph.Where(graph.IsPositive(scale), moved, value)
}

func toFloat64(x *graph.Node) *graph.Node {
	return graph.StopGradient(graph.ConvertDType(x, dtypes.Float64))
}
