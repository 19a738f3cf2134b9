package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// random returns a random positive definite matrix of n rows with a given mean number of entries in
// each row.
func random(source *rand.Rand, n, each int) (entries []Entry, values []float64, dense *mat.SymDense) {
	dense = mat.NewSymDense(n, nil)
	add := func(i, j int, value float64) {
		entries, values = append(entries, Entry{i, j}), append(values, value)
		dense.SetSym(i, j, dense.At(i, j)+value)
	}
	for i := range n {
		add(i, i, 0.5)
		for range each / 2 {
			j := source.IntN(n)
			if j == i {
				continue
			}
			value := source.NormFloat64()
			add(i, j, value)
			add(i, i, math.Abs(value))
			add(j, j, math.Abs(value))
		}
	}
	return entries, values, dense
}

// crossed returns the precision matrix of the effects of two crossed groupings, with a and b
// levels, for the given number of rows.
func crossed(source *rand.Rand, a, b, rows int) (entries []Entry, values []float64, dense *mat.SymDense) {
	dense = mat.NewSymDense(a+b, nil)
	add := func(i, j int, value float64) {
		entries, values = append(entries, Entry{i, j}), append(values, value)
		dense.SetSym(i, j, dense.At(i, j)+value)
	}
	for i := range a + b {
		add(i, i, 1)
	}
	for range rows {
		i, j := source.IntN(a), a+source.IntN(b)
		add(i, i, 1)
		add(j, j, 1)
		add(j, i, 1)
	}
	return entries, values, dense
}

// TestFactorizeAgain checks that a factorisation of a matrix does not depend on earlier
// factorisations of the same pattern, even if these failed at some row.
func TestFactorizeAgain(t *testing.T) {
	source := rand.New(rand.NewPCG(3, 4))
	for name, n := range map[string]int{"sparse": 120, "panels": 101} {
		t.Run(name, func(t *testing.T) {
			entries, values, _ := random(source, n, map[string]int{"sparse": 3, "panels": 60}[name])
			want, ok := Analyse(n, entries, nil).Factorize(values)
			require.True(t, ok)
			s := Analyse(n, entries, nil)
			for k, e := range entries {
				if e.Row != e.Column || k%7 != 0 {
					continue
				}
				bad := slices.Clone(values)
				bad[k] = -1e6
				_, ok := s.Factorize(bad)
				require.False(t, ok, "entry %d", k)
				bad[k] = math.NaN()
				_, ok = s.Factorize(bad)
				require.False(t, ok, "entry %d", k)
				got, ok := s.Factorize(values)
				require.True(t, ok)
				require.Equal(t, want.LogDet(), got.LogDet())
				require.Equal(t, want.Solve(values[:n]), got.Solve(values[:n]))
			}
		})
	}
}

// TestFactorize compares solutions, determinants and the covariance of draws with a dense factor.
// Some matrices stay sparse, some become dense, and some are between.
func TestFactorize(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for name, build := range map[string]func() ([]Entry, []float64, *mat.SymDense){
		"one":      func() ([]Entry, []float64, *mat.SymDense) { return random(source, 1, 0) },
		"diagonal": func() ([]Entry, []float64, *mat.SymDense) { return random(source, 30, 0) },
		"sparse":   func() ([]Entry, []float64, *mat.SymDense) { return random(source, 120, 3) },
		"dense":    func() ([]Entry, []float64, *mat.SymDense) { return random(source, 60, 60) },
		"nested":   func() ([]Entry, []float64, *mat.SymDense) { return crossed(source, 200, 5, 400) },
		"panels":   func() ([]Entry, []float64, *mat.SymDense) { return random(source, 101, 60) },
		"crossed":  func() ([]Entry, []float64, *mat.SymDense) { return crossed(source, 90, 60, 900) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				entries, values, dense := build()
				n := dense.SymmetricDim()
				s := Analyse(n, entries, nil)
				order := slices.Sorted(slices.Values(s.order))
				for i := range n {
					require.Equal(t, i, order[i], "an order has every row once")
				}
				f, ok := s.Factorize(values)
				require.True(t, ok)
				var want mat.Cholesky
				require.True(t, want.Factorize(dense))
				require.InDelta(t, want.LogDet(), f.LogDet(), 1e-9*float64(n))
				require.InDelta(t, want.LogDet(), f.LogDetOfLast(n), 1e-9*float64(n))
				var inverse mat.SymDense
				require.NoError(t, want.InverseTo(&inverse))
				lastFew := s.order[n/3:] // their marginal covariance is the inverse of the Schur complement
				marginal := mat.NewSymDense(len(lastFew), nil)
				for a, i := range lastFew {
					for b, j := range lastFew[:a+1] {
						marginal.SetSym(a, b, inverse.At(i, j))
					}
				}
				var alone mat.Cholesky
				require.True(t, alone.Factorize(marginal))
				require.InDelta(t, -alone.LogDet(), f.LogDetOfLast(len(lastFew)), 1e-8*float64(n))
				b := make([]float64, n)
				for i := range b {
					b[i] = source.NormFloat64()
				}
				var solved, back mat.VecDense
				require.NoError(t, want.SolveVecTo(&solved, mat.NewVecDense(n, slices.Clone(b))))
				got := f.Solve(b)
				require.InDeltaSlice(t, solved.RawVector().Data, got, 1e-8)
				back.MulVec(dense, mat.NewVecDense(n, got))
				require.InDeltaSlice(t, b, back.RawVector().Data, 1e-8)

				// Spread multiplies by a matrix M, for which M Mᵀ must be A⁻¹.
				m := mat.NewDense(n, n, nil)
				for j := range n {
					unit := make([]float64, n)
					unit[j] = 1
					m.SetCol(j, f.Spread(unit))
				}
				var covariance, identity mat.Dense
				covariance.Mul(m, m.T())
				identity.Mul(&covariance, dense)
				for i := range n {
					identity.Set(i, i, identity.At(i, i)-1)
				}
				require.Less(t, mat.Norm(&identity, math.Inf(1)), 1e-8)
			}
		})
	}
}

// BenchmarkFactorize factorises a matrix whose factor has a dense part of 1,128 rows, the number of
// lecturers in the data InstEval.
func BenchmarkFactorize(b *testing.B) {
	entries, values, _ := crossed(rand.New(rand.NewPCG(3, 4)), 1128, 2972, 73421)
	s := Analyse(1128+2972, entries, nil)
	for b.Loop() {
		_, ok := s.Factorize(values)
		require.True(b, ok)
	}
}

// TestLogProduct checks logarithms of products that are beyond the range of float64.
func TestLogProduct(t *testing.T) {
	for _, factor := range []float64{3, 1e-310, 1e308, 1e-3} {
		product := logProduct{product: 1}
		for range 700 {
			product.times(factor)
		}
		require.InEpsilon(t, 700*math.Log(factor), product.log(), 1e-13, "%v", factor)
	}
}

func TestNotPositiveDefinite(t *testing.T) {
	s := Analyse(2, []Entry{{0, 0}, {1, 1}, {1, 0}}, nil)
	for _, values := range [][]float64{{1, 1, 2}, {0, 1, 0}, {1, math.NaN(), 0}, {1, math.Inf(1), 0}} {
		_, ok := s.Factorize(values)
		require.False(t, ok, "%v", values)
	}
}

// TestOrderKeepsNestedLevelsApart checks that the levels of a nested grouping are eliminated first:
// the factor then has only the entries of the matrix.
func TestOrderKeepsNestedLevelsApart(t *testing.T) {
	var entries []Entry
	const groups, each = 40, 25
	n := groups * (each + 1)
	for i := range n {
		entries = append(entries, Entry{i, i})
	}
	for g := range groups { // the groups come first, a bad order
		for k := range each {
			entries = append(entries, Entry{groups + g*each + k, g})
		}
	}
	s := Analyse(n, entries, nil)
	require.LessOrEqual(t, s.first[s.head]+s.head, len(entries))
	require.Equal(t, len(entries), entriesOf(s), fmt.Sprint("head ", s.head))
}

// TestCheapestHead checks that the dense part begins at the column for which a factor takes least
// time. Columns with few entries must be outside of the dense part, whatever their number, and
// columns with many entries inside.
func TestCheapestHead(t *testing.T) {
	for name, c := range map[string]struct{ sparse, entries, dense int }{
		"nested":  {2000, 1, 0},
		"crossed": {3000, 25, 1100},
		"filled":  {0, 0, 40},
	} {
		var counts []int
		for range c.sparse {
			counts = append(counts, c.entries)
		}
		for k := range c.dense {
			counts = append(counts, c.dense-1-k)
		}
		head := cheapestHead(counts)
		require.InDelta(t, c.sparse, head, 0.05*float64(c.dense)+leastDense, name)
	}
}

// entriesOf returns the number of entries of a factor, including its dense part.
func entriesOf(s *Symbolic) int {
	rest := s.n - s.head
	return s.first[s.head] + s.head + rest*(rest+1)/2
}
