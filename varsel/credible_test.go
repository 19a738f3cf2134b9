package varsel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// twins returns a table of seven predictors. The predictor twin hardly differs from x1, and both z1
// and x1 affect the response.
func twins(t *testing.T) *Problem {
	random := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("y,x1,x2,z1,twin,z2,z3,z4\n")
	for range 80 {
		x := make([]float64, 7)
		for j := range x {
			x[j] = random.NormFloat64()
		}
		x[3] = x[0] + 0.05*x[3]
		fmt.Fprintf(&text, "%v", x[0]-x[2]+random.NormFloat64())
		for _, value := range x {
			fmt.Fprintf(&text, ",%v", value)
		}
		text.WriteString("\n")
	}
	design, err := NewDesign(must(table.Parse("twins", []byte(text.String()))), DesignOptions{Target: "y", Likelihood: likelihood.GaussianKind})
	require.NoError(t, err)
	return must(NewProblem(design, ModelOptions{}))
}

// The correlated predictors x1 and twin form one credible set, whichever method finds the models.
func TestCredibleSetsOfTwins(t *testing.T) {
	problem := twins(t)
	result, err := RunExact(t.Context(), problem, nil, "")
	require.NoError(t, err)
	require.Len(t, result.CredibleSets, 2)
	require.Equal(t, []string{"z1"}, result.CredibleSets[0].Predictors)
	require.ElementsMatch(t, []string{"x1", "twin"}, result.CredibleSets[1].Predictors)
	require.Greater(t, float64(result.CredibleSets[1].Purity), 0.99)
	require.Greater(t, float64(result.CredibleSets[1].Probability), 0.99)
	require.Less(t, float64(result.CredibleSets[1].ExactlyOne), float64(result.CredibleSets[1].Probability))

	problem.Credible = 0.9999999 // even z1, whose effect is larger, is less certain than this
	result, err = RunExact(t.Context(), problem, nil, "")
	require.NoError(t, err)
	for _, set := range result.CredibleSets {
		require.GreaterOrEqual(t, float64(set.Probability), 0.9999999)
	}
	require.ErrorContains(t, CheckCredible(0.4), "got 0.4, want a probability between 0.5 and 1")
	require.NoError(t, CheckCredible(0))
}
