package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/draws"
)

// No draws are files that say so.
func TestNoDraws(t *testing.T) {
	problem := haldProblem(t, ModelOptions{Sigma: 2.5})
	dim := problem.Target.space.Dim()
	empty := problem.toOriginal(nil, mat.NewDense(1, dim, nil))
	dir := t.TempDir()
	require.NoError(t, problem.writeDraws(dir, draws.Header{Kind: draws.IID}, empty))
	for _, name := range []string{DrawsCSV, DrawsParquet} {
		read, err := draws.Read(dir + "/" + name)
		require.NoError(t, err)
		require.Empty(t, read.Codes)
	}
	for _, c := range problem.summarizeDraws(empty, nil, nil) {
		assert.True(t, math.IsNaN(float64(c.Mean)))
	}
}
