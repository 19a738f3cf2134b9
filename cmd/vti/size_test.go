package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestTableOfSmallModels trains a q(m) that lists the probability of every model with at most three
// of 15 predictors. Inclusion probabilities must be within 5 standard errors of the exact answer
// under the same limit; the test fails by chance once in 10⁵ runs.
func TestTableOfSmallModels(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "", "")
	asked := []string{testdata(t, "uscrime.csv"), "--target", "y", "--sigma", "200", "--max-size", "3", "--json"}
	got := decode(t, mustRun(t, tiny(append(append([]string{"varsel"}, asked...), "--sampler", "categorical", "--certify-draws", "4000")...)...).stdout)
	exact := decode(t, mustRun(t, append(append([]string{"exact"}, asked...), "--quiet")...).stdout)
	require.True(t, got.Certificate.Complete)
	assert.Equal(t, 576, got.Certificate.ModelsChecked, "1 + 15 + 105 + 455")
	for s, in := range got.Inclusion {
		assert.InDelta(t, exact.Inclusion[s].Certified, in.Certified, 5*(*in.SE)+1e-3, in.Name)
	}
	for _, model := range got.Models {
		assert.LessOrEqual(t, model.Size, 3)
	}
}
