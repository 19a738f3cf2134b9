package evaluate

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
)

// TestExplain checks that a batch size that would fit is added to errors about memory only.
func TestExplain(t *testing.T) {
	e := &Evaluator{Batch: 1000}
	require.NoError(t, e.Explain(nil))
	other := errors.New("something else")
	require.Equal(t, other, e.Explain(other))
	require.ErrorContains(t, e.Explain(&gpu.Failure{OutOfMemory: true}), "a batch of 1000 draws is too large")
}
