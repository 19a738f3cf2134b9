package vti

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A round whose draws all have no weight leaves a plan that can be written: NaN ended such runs,
// robust lists of predictors among them, at the next checkpoint.
func TestRoundWithoutWeightsCanBeWritten(t *testing.T) {
	s := &solver{t: &trainer{}, target: newNormals(t, 1), cfg: SolveConfig{Precision: 0.01}}
	nan := math.NaN()
	round := s.report(&Certificate{Verdict: Failed, KHat: nan, ESS: nan, LogEvidence: nan}, false)
	require.Zero(t, round.ESS)
	_, err := json.Marshal(s.plan)
	require.NoError(t, err)
}
