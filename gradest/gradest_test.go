package gradest_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/lab/testkit"
)

// sigmas is the tolerance of the statistical tests in standard errors: a correct estimate fails a
// single comparison with probability 6e-7.
const sigmas = 5

// run evaluates fn with the variables of ctx.
func run[F context.ExecGraphFn](t testing.TB, ctx *context.Context, fn F, inputs ...any) []any {
	t.Helper()
	outputs, err := context.ExecOnceN(testkit.Backend(t), ctx, fn, inputs...)
	require.NoError(t, err)
	values := make([]any, len(outputs))
	for i, out := range outputs {
		values[i] = out.Value()
	}
	return values
}

// softmax returns probabilities from logits by the definition, for comparison.
func softmax(logits []float64) []float64 {
	total := floats.LogSumExp(logits)
	probs := make([]float64, len(logits))
	for i, logit := range logits {
		probs[i] = math.Exp(logit - total)
	}
	return probs
}

// entropyOf returns −∑ p log p with 0 log 0 = 0, by the definition, for comparison.
func entropyOf(logits []float64) float64 {
	total := floats.LogSumExp(logits)
	entropy := 0.0
	for _, logit := range logits {
		if p := math.Exp(logit - total); p > 0 {
			entropy -= p * (logit - total)
		}
	}
	return entropy
}
