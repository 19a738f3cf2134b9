package score

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
)

// The evidence of a logistic regression with unbounded importance weights (Pareto k̂ of 1.1) agrees
// with a sum over a grid of its three coefficients.
func TestSeparatedLevelsByQuadrature(t *testing.T) {
	testkit.Long(t)
	p := biochemists(t)
	fem, mar, kids := slices.Index(p.Data.Names, "fem"), slices.Index(p.Data.Names, "mar"), slices.Index(p.Data.Names, "kid5")
	counts, means := map[[3]float64]float64{}, [2]float64{}
	for row := range p.Data.Rows() {
		counts[[3]float64{p.Data.X.At(row, fem), p.Data.X.At(row, kids), p.Data.X.At(row, mar)}]++
		means[0] += p.Data.X.At(row, fem) / float64(p.Data.Rows())
		means[1] += p.Data.X.At(row, kids) / float64(p.Data.Rows())
	}
	normal := func(x, sd float64) float64 { return -x*x/(2*sd*sd) - math.Log(sd) - HalfLog2Pi }
	var logs, slopes []float64
	const step = 0.12 // below the smallest standard deviation
	for intercept := -9.0; intercept < 1; intercept += step {
		for levels := -2.0; levels < 2; levels += step {
			for slope := -12.0; slope < 0; slope += step {
				value := normal(intercept, 4) + normal(levels, 2) + normal(slope, 2) + 3*math.Log(step)
				for row, count := range counts {
					sign := 1 - 2*row[2]
					value -= count * softplus(sign*(intercept+levels*(row[0]-means[0])+slope*(row[1]-means[1])))
				}
				logs, slopes = append(logs, value), append(slopes, slope)
			}
		}
	}
	form := p.Forms()[mar].(*logisticForm)
	parents := dgraph.SetOf(fem, kids)
	estimate := form.evidence(parents)
	require.InDelta(t, logsum.Of(logs), estimate.value, 3*estimate.se)
	require.True(t, estimate.enough(), "%+v", estimate)

	family := form.family(parents)
	center, factor, _ := family.mode()
	rays := estimateEvidence(randomOf(3), family.rays(center, factor).pair, 2_000, 2_000)
	require.InDelta(t, logsum.Of(logs), rays.value, 4*rays.se)
	require.Less(t, rays.se, 0.005)

	if testing.Short() {
		return
	}
	// Draws of the slope, whose posterior is skew, agree with the sum over the grid too.
	mean, sd := stat.PopMeanStdDev(slopes, logsum.Shares(logs))
	const count = 40_000
	draw, random, drawn := form.Posterior(parents), randomOf(4), make([]float64, count)
	for k := range drawn {
		drawn[k] = -math.Sqrt2 * draw(random)[2] // slope of the difference of two levels
	}
	se := sd * math.Sqrt(1.5/count) // the factor 1.5 allows for repeated draws
	require.InDelta(t, mean, stat.Mean(drawn, nil), 3*se)
	require.InDelta(t, sd, stat.StdDev(drawn, nil), 3*se)
}
