package wide

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/varsel/design"
)

// Evidences, screening, scans of pairs, and births and deaths (of predictors) must give the same
// numbers from known inner products of the columns as from rows.
func TestKnownInnerProductsAreThoseOfTheRows(t *testing.T) {
	const p, samples = 9, 40
	from := correlated(samples, p)
	column := func(j int) []float64 { return from.X.RawMatrix().Data[j:] }
	valuesOf := func(j int) (x []float64) {
		for i := range samples {
			x = append(x, column(j)[i*from.X.RawMatrix().Stride])
		}
		return x
	}
	s := &design.Statistics{Rows: samples}
	for j := range p {
		s.Names, s.Along = append(s.Names, string(rune('a'+j))), append(s.Along, stat.Correlation(valuesOf(1+j), from.Y, nil))
		for k := range p {
			s.Correlations = append(s.Correlations, stat.Correlation(valuesOf(1+j), valuesOf(1+k), nil))
		}
		s.Correlations[j*p+j] = 1
	}
	d, err := design.OfStatistics("scores", s, design.Options{Target: "y", Likelihood: from.Likelihood})
	require.NoError(t, err)
	for _, sigma := range []float64{0, 0.6} {
		rows, known := searchOf(d, sigma), searchOf(d, sigma)
		rows.Responses.More, rows.Responses.Residual = d.Residual()
		known.Responses, known.Products = rows.Responses, s.Products()
		for _, model := range [][]int{nil, {2}, {7, 0, 4}} {
			require.InDelta(t, rows.evidence(t, model...), known.evidence(t, model...), 1e-9)
			f, g := rows.fit(), known.fit()
			f.find(model)
			g.find(model)
			require.InDeltaSlice(t, f.squares[:1+p], g.squares[:1+p], 1e-8)
			require.InDeltaSlice(t, f.inner[:1+p], g.inner[:1+p], 1e-8)
			want, got := f.evidences(model), g.evidences(model)
			for j := range want {
				require.Equal(t, math.IsNaN(want[j]), math.IsNaN(got[j]))
				if !math.IsNaN(want[j]) {
					require.InDelta(t, want[j], got[j], 1e-9)
				}
			}
			a, b := f.jointScan(model), g.jointScan(model)
			require.Equal(t, a.predictor, b.predictor)
			for _, both := range [][2][]float64{{a.along, b.along}, {a.ridge, b.ridge}, {a.alone, b.alone}, {a.price, b.price}, {{a.squares, a.freedom}, {b.squares, b.freedom}}} {
				require.InDeltaSlice(t, both[0], both[1], 1e-8)
			}
			for c := range a.predictor {
				for e := range c {
					require.InDelta(t, a.inner(c, e), b.inner(c, e), 1e-10)
				}
			}
			require.Equal(t, len(a.bestTriples(9)), len(b.bestTriples(9)))
		}
		a, b := rows.Births(nil, nil, nil).(*gaussian), known.Births(nil, nil, nil).(*gaussian)
		require.InDeltaSlice(t, a.all.norms, b.all.norms, 1e-8)
		require.InDeltaSlice(t, a.all.along, b.all.along, 1e-8)
		for c := range a.all.norms {
			require.InDeltaSlice(t, a.known.Row(c)[:1+p], b.known.Row(c)[:1+p], 1e-10)
		}
	}
}

// Products.Model must return false for columns that nearly depend on each other, and for a model
// that explains nearly all of the response: inner products have too few digits there, and evidences
// then come from the rows.
func TestModelsOfFewDigitsAreLeftToTheRows(t *testing.T) {
	for _, c := range []struct {
		r     float64
		along []float64
		ok    bool
	}{{0.5, []float64{0.3, 0.2}, true}, {1 - 1e-12, []float64{0.3, 0.3}, false}, {0, []float64{1, 0}, false}} {
		s := &design.Statistics{Names: []string{"a", "b"}, Rows: 100, Correlations: []float64{1, c.r, c.r, 1}, Along: c.along}
		s.Linear, s.Explained = []float64{0, 99 * c.along[0], 99 * c.along[1]}, (c.along[0]*c.along[0]+c.along[1]*c.along[1]-2*c.r*c.along[0]*c.along[1])/(1-c.r*c.r)
		_, _, _, ok := s.Products().Model([]int{0, 1, 2})
		require.Equal(t, c.ok, ok, "correlation %g", c.r)
	}
}
