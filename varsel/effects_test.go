package varsel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/varsel/exact"
)

// TestContrastsAreThoseOfTheMixture compares the difference of two marginal means of a factor with
// its closed form.
func TestContrastsAreThoseOfTheMixture(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 2))
	var text strings.Builder
	text.WriteString("g,x,y\n")
	for i := range 24 {
		x := random.NormFloat64()
		fmt.Fprintf(&text, "%c,%v,%v\n", 'a'+i%3, x, 1+x+0.8*float64(i%3/2)+random.NormFloat64())
	}
	stored, problem := finishedExact(t, text.String(), DesignOptions{Target: "y"}, ModelOptions{Sigma: 1})
	e, err := predict.EffectsOf(t.Context(), stored, predict.EffectsConfig{Of: []predict.Focus{{Name: "g", Values: []string{"a", "c"}}}, Contrast: predict.ToReference})
	require.NoError(t, err)
	require.Equal(t, "y", e.Response)

	asked, err := problem.ExactProblem()
	require.NoError(t, err)
	answer, err := exact.Enumerate(t.Context(), asked)
	require.NoError(t, err)
	scaling := problem.Design.Scaling
	third := problem.Design.Predictors[0].Coordinates[1] // the indicator of c
	mean, square, zero := 0.0, 0.0, 0.0
	for _, model := range answer.Models {
		if model.Code[0] == 0 {
			zero += model.Probability
			continue
		}
		columns, right, factor := normalPosterior(t, problem, asked, model.Code)
		row := mat.NewVecDense(len(columns), nil)
		for a, c := range columns {
			if c == third {
				row.SetVec(a, scaling.YSD/scaling.SD[c])
			}
		}
		var centre, spread mat.VecDense
		require.NoError(t, factor.SolveVecTo(&centre, right))
		require.NoError(t, factor.SolveVecTo(&spread, row))
		m := mat.Dot(row, &centre)
		mean += model.Probability * m
		square += model.Probability * (m*m + mat.Dot(row, &spread))
	}
	sd := math.Sqrt(square - mean*mean)
	// There are 10,000 draws. The three checks together raise a false alarm in one of 40,000 seeds.
	c := e.Contrasts[0]
	assert.InDelta(t, mean, float64(c.Mean), 4.5*sd/100)
	assert.InDelta(t, sd, float64(c.SD), 4.5*sd/100)
	assert.InDelta(t, zero, float64(c.Zero), 4.5*math.Sqrt(zero*(1-zero))/100)
	require.Greater(t, zero, 0.05)
	require.Less(t, zero, 0.95)
}
