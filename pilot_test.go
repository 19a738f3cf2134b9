package vti

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// A pilot run sets a table q(m) to the posterior over models, as accurately as the flow allows.
func TestPilotRunSetsATable(t *testing.T) {
	target := newNormals(t, 4)
	e := newEvaluatorOf(t, target, 128)
	require.NoError(t, pilotRun(t.Context(), e))
	requirePosterior(t, target, e, 0.02)
}

// requirePosterior requires that the total variation distance of q(m) from the closed form is at
// most limit.
func requirePosterior(t *testing.T, target normals, e *evaluator, limit float64) {
	t.Helper()
	codes := space.ListModels(target)
	logModel, err := e.LogModel(codes)
	require.NoError(t, err)
	norm := 4 * math.Log1p(math.Exp(gain))
	var variation, fromPrior float64
	for i, code := range codes {
		exact := math.Exp(target.logEvidence(code) - norm)
		variation += math.Abs(math.Exp(logModel[i])-exact) / 2
		fromPrior += math.Abs(1./16-exact) / 2
	}
	require.Less(t, variation, limit)
	require.Greater(t, fromPrior, 0.15, "without a pilot run")
}

// A network q(m) learns the models of chains, and the fit leaves no variables behind.
func TestPilotRunFitsANetwork(t *testing.T) {
	testkit.Slow(t)
	target := newNormals(t, 4)
	e := newEvaluatorOf(t, target, 256)
	var err error
	e.Models, err = modeldist.NewAutoregressive(target.Cards(), modeldist.AutoregressiveConfig{Hidden: 16, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, pilotRun(t.Context(), e))
	// in a tenth of the models one entry of the code was drawn anew
	requirePosterior(t, target, e, 0.1)
	for variable := range e.Variables.IterVariables() {
		require.NotContains(t, variable.Scope(), pilotScope)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, pilotRun(ctx, e), context.Canceled)
}

// A fit of a network q(m) that is stopped leaves q(m) as it was, whether or not it was evaluated
// before, and no variables of its own.
func TestStoppedFitChangesNothing(t *testing.T) {
	target := newNormals(t, 4)
	network, err := modeldist.NewAutoregressive(target.Cards(), modeldist.AutoregressiveConfig{Hidden: 16, Seed: 1})
	require.NoError(t, err)
	e, fresh := newEvaluatorOf(t, target, 64), newEvaluatorOf(t, target, 64)
	e.Models, fresh.Models = network, network
	codes := space.ListModels(target)
	before, err := e.LogModel(codes)
	require.NoError(t, err)
	requireStoppedFit(t, fresh, codes, before)
	requireStoppedFit(t, e, codes, before)
}

func requireStoppedFit(t *testing.T, e *evaluator, codes [][]int32, before []float64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	draws := 0
	require.ErrorIs(t, fitModels(ctx, e, func(*rand.Rand) []int32 {
		if draws++; draws == 5*64 { // within the fifth step
			cancel()
		}
		return codes[0]
	}), context.Canceled)
	require.Greater(t, draws, 4*64)
	after, err := e.LogModel(codes)
	require.NoError(t, err)
	require.Equal(t, before, after)
	for variable := range e.Variables.IterVariables() {
		require.NotContains(t, variable.Scope(), pilotScope)
	}
}
