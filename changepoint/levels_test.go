package changepoint

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// smallSeries returns the values and times of a series of eight rows.
func smallSeries() (y, u []float64) {
	return []float64{-0.9, -0.4, -1.2, 0.1, 1.1, 0.8, 1.4, -0.7}, []float64{0, 0.1, 0.3, 0.4, 0.55, 0.7, 0.9, 1}
}

// integral returns the log of the integral of exp(logf), by the midpoint rule.
func integral(low, high float64, steps int, logf func(x float64) float64) float64 {
	total, h := 0.0, (high-low)/float64(steps)
	for i := range steps {
		total += h * math.Exp(logf(low+(float64(i)+0.5)*h))
	}
	return math.Log(total)
}

// For segments with a level or a line, and known noise, the test compares the evidence in closed
// form with the multivariate normal density of the rows.
func TestNormalSegmentsAreMultivariateNormal(t *testing.T) {
	y, u := smallSeries()
	s := newSums(y, u)
	level := newMeans(s, 0.6, 1.3)
	line := slopes{level, 2.5}
	for from := range y {
		for to := from + 1; to <= len(y); to++ {
			n, middle := to-from, 0.0
			for _, x := range u[from:to] {
				middle += x / float64(n)
			}
			flat, steep := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
			for i := range n {
				for j := i; j < n; j++ {
					c := 1.3 * 1.3
					if i == j {
						c += 0.36
					}
					flat.SetSym(i, j, c)
					steep.SetSym(i, j, c+2.5*2.5*(u[from+i]-middle)*(u[from+j]-middle))
				}
			}
			a, _ := distmv.NewNormal(make([]float64, n), flat, nil)
			b, _ := distmv.NewNormal(make([]float64, n), steep, nil)
			require.InDelta(t, a.LogProb(y[from:to]), level.logEvidence(from, to), 1e-9)
			require.InDelta(t, b.LogProb(y[from:to]), line.logEvidence(from, to), 1e-9)
		}
	}
}

// For segments with a variance, a level and a variance, or a rate of counts, the test compares the
// evidence in closed form with numerical integrals over these parameters.
func TestSegmentsAreIntegrals(t *testing.T) {
	y, u := smallSeries()
	s := newSums(y, u)
	logNormal := func(x, mean, sd float64) float64 { return distuv.Normal{Mu: mean, Sigma: sd}.LogProb(x) }
	// logScale returns the log prior density of log σ, for σ² ~ InverseGamma.
	logScale := func(x float64) float64 {
		v := math.Exp(2 * x)
		return varianceShape*math.Log(varianceScale) - logsum.Gamma(varianceShape) - (varianceShape+1)*math.Log(v) - varianceScale/v + math.Log(2*v)
	}
	spread := variances{s, 0.2, varianceShape, varianceScale}
	both := normals{s, 0.3, varianceShape, varianceScale}
	for _, part := range [][2]int{{0, 8}, {2, 5}, {6, 8}} {
		rows := y[part[0]:part[1]]
		want := integral(-6, 8, 20_000, func(x float64) float64 {
			total := logScale(x)
			for _, v := range rows {
				total += logNormal(v, 0.2, math.Exp(x))
			}
			return total
		})
		require.InDelta(t, want, spread.logEvidence(part[0], part[1]), 1e-5)
		want = integral(-5, 6, 400, func(x float64) float64 {
			sigma := math.Exp(x)
			return logScale(x) + integral(-12*sigma, 12*sigma, 400, func(z float64) float64 {
				total := logNormal(z, 0, sigma/math.Sqrt(0.3))
				for _, v := range rows {
					total += logNormal(v, z, sigma)
				}
				return total
			})
		})
		require.InDelta(t, want, both.logEvidence(part[0], part[1]), 2e-3)
	}
	counts := []float64{3, 0, 2, 7, 1}
	logs := make([]float64, 6)
	for i, c := range counts {
		logs[i+1] = logs[i] + logsum.Gamma(c+1)
	}
	f := rates{newSums(counts, counts), logs, 1.5, 0.7}
	want := integral(0, 40, 40_000, func(x float64) float64 {
		total := distuv.Gamma{Alpha: 1.5, Beta: 0.7}.LogProb(x)
		for _, c := range counts[1:4] {
			total += distuv.Poisson{Lambda: x}.LogProb(c)
		}
		return total
	})
	require.InDelta(t, want, f.logEvidence(1, 4), 1e-6)
}

// The test compares means of draws of the parameters of a segment with posterior means in closed
// form, to four standard errors: about one seed in 2,000 fails by chance.
func TestDrawsOfSegments(t *testing.T) {
	y, u := smallSeries()
	s := newSums(y, u)
	random := stream.Rand(1, "draws")
	const draws = 20_000
	check := func(want float64, one func(random *rand.Rand) float64) {
		t.Helper()
		mean, square := 0.0, 0.0
		for range draws {
			x := one(random)
			mean += x / draws
			square += x * x / draws
		}
		require.InDelta(t, want, mean, 4*math.Sqrt((square-mean*mean)/draws))
	}
	level := newMeans(s, 0.5, 1)
	sum, _ := s.segment(3, 8)
	check(sum/0.25/(5/0.25+1), func(r *rand.Rand) float64 { return level.draw(3, 8, r).mean })
	both := normals{s, 0.3, 0.5, 0.05}
	mean, kappa, a, b := both.posterior(0, 8)
	require.Greater(t, kappa, 8.0)
	check(mean, func(r *rand.Rand) float64 { return both.draw(0, 8, r).mean })
	check(a/b, func(r *rand.Rand) float64 { sd := both.draw(0, 8, r).sd; return 1 / (sd * sd) })
	check(0.4, func(r *rand.Rand) float64 { return stream.Gamma(0.4, r) })
}
