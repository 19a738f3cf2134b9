package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/testkit"
)

// The factor that is written out, and equations solved with it, against gonum.
func TestCholeskyAgainstGonum(t *testing.T) {
	random := stream.Rand(1, "cholesky")
	for _, d := range []int{1, 2, 5} {
		a, b := make([]float64, 2*d*d), make([]float64, 2*d)
		more := make([]float64, 2*d)
		var exact []mat.Cholesky
		for member := range 2 {
			loads := mat.NewDense(d, d, nil)
			loads.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, loads)
			var gram mat.SymDense
			gram.SymOuterK(1, loads)
			for i := range d {
				for j := range d {
					a[member*d*d+i*d+j] = gram.At(i, j)
				}
			}
			for i := range d {
				b[member*d+i], more[member*d+i] = random.NormFloat64(), random.Float64()
				gram.SetSym(i, i, gram.At(i, i)+more[member*d+i])
			}
			var cholesky mat.Cholesky
			require.True(t, cholesky.Factorize(&gram))
			exact = append(exact, cholesky)
		}
		got := MustExecOnceN(testkit.Backend(t), func(a, more, b *Node) []*Node {
			factor := cholesky(Reshape(a, 2, d, d), Reshape(more, 2, d))
			b = Reshape(b, 2, d)
			return []*Node{factor.solve(b), factor.solveTransposed(b), factor.solveTransposed(factor.solve(b)), factor.logDet()}
		}, a, more, b)
		for member, cholesky := range exact {
			right := mat.NewVecDense(d, b[member*d:(member+1)*d])
			var factor mat.TriDense
			cholesky.LTo(&factor)
			var want [3]mat.VecDense
			require.NoError(t, want[0].SolveVec(&factor, right))
			require.NoError(t, want[1].SolveVec(factor.T(), right))
			require.NoError(t, cholesky.SolveVecTo(&want[2], right))
			for i := range want {
				require.InDeltaSlice(t, want[i].RawVector().Data, tensors.MustCopyFlatData[float64](got[i])[member*d:(member+1)*d], 1e-9)
			}
			require.InDelta(t, cholesky.LogDet()/2, tensors.MustCopyFlatData[float64](got[3])[member], 1e-10)
		}
	}
}

// A member's encoding does not depend on which others take part: a sum of sites weighs only what is
// summed over.
func TestEncodingsOfParts(t *testing.T) {
	c := newClasses([]int32{0, 0, 0, 1, 2, 2}, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2})
	school := c.model.plates[0]
	for name, of := range encoders {
		t.Run(name, func(t *testing.T) {
			all := c.encodings(t, of, dtypes.Float64, c.school, nil)
			part := c.encodings(t, of, dtypes.Float64, c.school, map[*Plate]int{school: 2})
			require.Len(t, part, 2)
			for _, row := range part {
				nearest := math.Inf(1)
				for _, other := range all {
					nearest = math.Min(nearest, distance(row, other))
				}
				require.Less(t, nearest, 1e-12)
			}
		})
	}
}

// On linear regressions in groups, with normal noise, sites give the posterior of the coefficients:
// two in a group, whose normal equations differ from group to group.
func TestSitesOfRegressions(t *testing.T) {
	const groups, rows = 8, 10
	m := NewModel()
	group, row := m.Plate("group", groups), m.Plate("row", rows)
	z := m.Latent("z", Normal(Number(0), Number(1)), On(group), Event(2))
	x := m.Constant("x", On(group, row), Event(2))
	y := m.Observed("y", Normal(Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, x, z), Number(0.5)), On(group, row))
	random := stream.Rand(1, "regressions")
	data := Values{}
	var exact float64
	for range groups {
		truth := [2]float64{random.NormFloat64(), random.NormFloat64()}
		covariance := mat.NewSymDense(rows, nil)
		xs, ys := make([][2]float64, rows), make([]float64, rows)
		for i := range rows {
			first := random.NormFloat64()
			xs[i] = [2]float64{first, 0.7*first + random.NormFloat64()}
			ys[i] = xs[i][0]*truth[0] + xs[i][1]*truth[1] + 0.5*random.NormFloat64()
			data[x], data[y] = append(data[x], xs[i][:]...), append(data[y], ys[i])
			for j := range i + 1 {
				covariance.SetSym(i, j, xs[i][0]*xs[j][0]+xs[i][1]*xs[j][1])
			}
			covariance.SetSym(i, i, covariance.At(i, i)+0.25)
		}
		var cholesky mat.Cholesky
		require.True(t, cholesky.Factorize(covariance))
		var solved mat.VecDense
		require.NoError(t, cholesky.SolveVecTo(&solved, mat.NewVecDense(rows, ys)))
		exact -= 0.5*(mat.Dot(&solved, mat.NewVecDense(rows, ys))+cholesky.LogDet()) + rows*halfLogTwoPi
	}
	p := fit(t, m, data, Config{Family: AmortizedBranch, Steps: 600})
	elbo, _, err := p.ELBO(t.Context(), 100, "elbo")
	require.NoError(t, err)
	require.InDelta(t, exact, elbo, 0.01*groups)
}

// Plates that are crossed with those of a variable decide about its data, plates that are nested in
// them or above do not. Mixtures have no sites: a datum tells of one of several components.
func TestCrossedPlates(t *testing.T) {
	m := NewModel()
	student, lecturer := m.Plate("student", 2), m.Plate("lecturer", 3)
	rating := m.Plate("rating", 4).In(student, []int32{0, 0, 1, 1}).In(lecturer, []int32{0, 1, 1, 2})
	s := m.Latent("s", Normal(Number(0), Number(1)), On(student))
	d := m.Latent("d", Normal(Number(0), Number(1)), On(lecturer))
	y := m.Observed("y", Normal(Of(func(v []*Node) *Node { return Add(v[0], v[1]) }, s, d), Number(1)), On(rating))
	require.NoError(t, m.Err())
	require.Equal(t, []*Plate{lecturer}, crossedPlates(y, s.plates))
	require.Equal(t, []*Plate{student}, crossedPlates(y, d.plates))
	require.True(t, s.hasSites())

	c := newClasses([]int32{0, 0, 0, 1, 2, 2}, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2})
	require.Empty(t, crossedPlates(c.mark, c.school.plates))
	require.Empty(t, crossedPlates(c.mark, c.pupil.plates))
	require.True(t, c.pupil.hasSites())
	require.False(t, c.overall.hasSites())

	mixture := gaussianMixtureOf(2)
	require.False(t, mixture.hasSites())
}

// gaussianMixtureOf is the mean of each group of a mixture.
func gaussianMixtureOf(components int) *Variable {
	m := NewModel()
	group, sample := m.Plate("group", 2), m.Plate("sample", 3)
	mean := m.Latent("mean", Normal(Number(0), Number(1)), On(group), Event(components))
	share := m.Latent("share", Dirichlet(Number(1)), On(group), Event(components))
	of := make([]Density, components)
	for i := range of {
		of[i] = Normal(At(mean, i), Number(1))
	}
	m.Observed("x", Mixture(share, of...), On(group, sample))
	return mean
}
