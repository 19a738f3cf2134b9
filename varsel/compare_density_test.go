package varsel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/table"
)

// TestFromOriginalInvertsToOriginal checks that coefficients are the same after a conversion to the
// scale of the table and back, for every scaling.
func TestFromOriginalInvertsToOriginal(t *testing.T) {
	data, err := table.Parse("data.csv", []byte("one,a,b,y\n2,1,2,3\n2,2,50,4.5\n2,4,30,1\n2,5,10,7\n2,9,-7,6\n"))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 1))
	for name, opt := range map[string]DesignOptions{
		"standardised":     {Target: "y", Exclude: []string{"one"}},
		"own ones":         {Target: "y", Always: []string{"one"}, NoIntercept: true},
		"as it is":         {Target: "y", Exclude: []string{"one"}, NoStandardize: true},
		"without any ones": {Target: "y", Exclude: []string{"one"}, NoIntercept: true},
	} {
		t.Run(name, func(t *testing.T) {
			design, err := NewDesign(data, opt)
			require.NoError(t, err)
			theta := make([]float64, design.Dim())
			for j := range theta {
				theta[j] = random.NormFloat64()
			}
			beta := design.Scaling.ToOriginal(nil, theta)
			assert.InDeltaSlice(t, theta, design.Scaling.FromOriginal(nil, beta), 1e-12)
			assert.Panics(t, func() { design.Scaling.FromOriginal(nil, theta[1:]) })
		})
	}
}

// TestDrawsComeBack checks that draws, with log σ, are unchanged by a conversion to their form in
// files and back.
func TestDrawsComeBack(t *testing.T) {
	data, err := table.Parse("data.csv", []byte("a,b,y\n1,2,3\n2,50,4.5\n4,30,1\n5,10,7\n9,-7,6\n"))
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "y"})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{})
	require.NoError(t, err)
	codes := [][]int32{{1, 1}, {1, 0}, {0, 0}}
	theta := mat.NewDense(3, 4, []float64{0.3, 1, -2, 0.1, -0.2, 0.5, 0, -1, 0.7, 0, 0, 2})
	original := problem.toOriginal(codes, theta)
	assert.Equal(t, problem.coordinateNames(), original.Names)
	file := &draws.Draws{Header: draws.Header{Cards: []int{2, 2}, Coordinates: original.Names}}
	file.LogP = make([]float64, 3)
	for i, code := range codes {
		file.Codes = append(file.Codes, code...)
		file.Theta = append(file.Theta, original.Values.RawRowView(i)...)
	}
	back, found, chains := problem.fromFile(file)
	assert.Equal(t, codes, back)
	assert.Nil(t, chains)
	assert.True(t, mat.EqualApprox(theta, found, 1e-12), "%v", mat.Formatted(found))
}

func TestNegativeMean(t *testing.T) {
	values := []float64{1, 3, math.Inf(-1), 2, 6, math.NaN()}
	independent := negativeMean(values, nil)
	assert.Equal(t, Number(-3), independent.Mean)
	assert.Equal(t, 2, independent.NonFinite)
	assert.InDelta(t, math.Sqrt((4+0+1+9)/3.0/4), float64(independent.SE), 1e-12)

	// Two chains with means 2 and 4, constant within chains: the whole error is between the chains.
	chains := negativeMean(values, []int32{1, 1, 1, 2, 2, 2})
	assert.Equal(t, Number(-3), chains.Mean)
	assert.InDelta(t, 1, float64(chains.SE), 1e-12)
}
