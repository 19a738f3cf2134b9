package varsel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
)

// packedProblem returns a problem with a column that is in every model, a predictor of two columns,
// and models that are lists of up to three predictors.
func packedProblem(t *testing.T) *Problem {
	t.Helper()
	return slotProblem(t, correlated(t, likelihood.GaussianKind, 30, 7, 2),
		DesignOptions{Always: []string{"x4"}, Groups: []PredictorGroup{{Name: "pair", Columns: []string{"x1", "x3"}}}}, ModelOptions{Prior: Prior{MaxSize: 3}})
}

// packedDraws returns one draw of the parameters of every model.
func packedDraws(problem *Problem) (codes [][]int32, theta *mat.Dense) {
	lists := problem.Slots.space
	random := stream.Rand(1, "packed")
	for _, code := range space.All(lists.Cards()) {
		if lists.Valid(code) {
			codes = append(codes, slices.Clone(code))
		}
	}
	theta = mat.NewDense(len(codes), lists.Dim(), nil)
	for i, code := range codes {
		for j, on := range lists.MaskRow(code, nil) {
			if on {
				theta.Set(i, j, random.NormFloat64())
			}
		}
	}
	return codes, theta
}

// TestPackedDrawsAreThoseOfBits compares draws of models as lists, on the scale of the table, with
// the same draws of models as bits. It also maps them back to the coordinates.
func TestPackedDrawsAreThoseOfBits(t *testing.T) {
	problem := packedProblem(t)
	codes, theta := packedDraws(problem)
	packed := problem.toOriginal(codes, theta)
	require.Equal(t, []string{design.InterceptName, "x4", "sigma", "coef.1.1", "coef.1.2", "coef.2.1"}, packed.Names[:6])

	bits := *problem
	bits.Slots = nil
	spread := mat.NewDense(len(codes), bits.Target.space.Dim(), nil)
	var bitCodes [][]int32
	for i, code := range codes {
		bit := make([]int32, len(problem.Design.Predictors))
		for a, j := range problem.Slots.fixed {
			spread.Set(i, j, theta.At(i, a))
		}
		spread.Set(i, bits.Target.Scale, theta.At(i, problem.Slots.scaleCoordinate()))
		for _, member := range problem.Slots.byTable(code) {
			bit[member.predictor] = 1
			for w, j := range problem.Design.Predictors[member.predictor].Coordinates {
				spread.Set(i, j, theta.At(i, problem.Slots.block(member.place)+w))
			}
		}
		bitCodes = append(bitCodes, bit)
	}
	want := bits.toOriginal(bitCodes, spread)
	for i := range codes {
		require.True(t, slices.Equal(bitMembers(bitCodes[i]), problem.members(codes[i])))
		visited := map[int]float64{}
		problem.visit(packed.Codes[i], packed.Values.RawRowView(i), func(column int, value float64) { visited[column] = value })
		bits.visit(bitCodes[i], want.Values.RawRowView(i), func(column int, value float64) {
			require.InDelta(t, value, visited[column], 1e-12)
			delete(visited, column)
		})
		require.Empty(t, visited)
		for site, number := range packed.Codes[i] {
			members := bitMembers(bitCodes[i])
			if site < len(members) {
				require.EqualValues(t, members[site]+1, number)
			} else {
				require.Zero(t, number)
			}
		}
	}
	weights := make([]float64, len(codes))
	for i := range weights {
		weights[i] = float64(i % 3)
	}
	got, expected := problem.summarizeDraws(packed, weights, nil, nil, nil), bits.summarizeDraws(want, weights, nil, nil, nil)
	require.Len(t, got, len(expected))
	for j := range got {
		require.Equal(t, expected[j].Name, got[j].Name)
		require.InDelta(t, float64(expected[j].Mean), float64(got[j].Mean), 1e-12)
		require.InDelta(t, float64(expected[j].Q975GivenIn), float64(got[j].Q975GivenIn), 1e-12)
	}
	// Coefficients of columns that are in no draw are not listed.
	require.Less(t, len(problem.summarizeDraws(problem.toOriginal(codes[len(codes)-1:], theta.Slice(len(codes)-1, len(codes), 0, theta.RawMatrix().Cols).(*mat.Dense)), []float64{1}, nil, nil, nil)), len(got))

	dir := t.TempDir()
	packed.LogP, packed.LogQ = make([]float64, len(codes)), make([]float64, len(codes))
	require.NoError(t, problem.writeDraws(dir, draws.Header{Kind: draws.IID}, packed))
	file, err := draws.Read(dir + "/" + draws.ParquetFile)
	require.NoError(t, err)
	require.Equal(t, []string{"member.1", "member.2", "member.3"}, file.Sites)
	back, found, chains := problem.fromFile(file)
	require.Equal(t, codes, back)
	require.Nil(t, chains)
	require.True(t, mat.EqualApprox(theta, found, 1e-12))
}
