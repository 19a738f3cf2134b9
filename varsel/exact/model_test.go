package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// bigEvidence returns log N(y; Xμ, σ²I + X diag(s²) X'), by Cholesky factorisation with 400 bits.
func bigEvidence(y []float64, columns [][]float64, mean, sd []float64, sigma float64) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	product := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(400).Mul(a, b) }
	n := len(y)
	l, r := make([][]*big.Float, n), make([]*big.Float, n)
	for i := range n {
		r[i] = number(y[i])
		for j, column := range columns {
			r[i].Sub(r[i], product(number(column[i]), number(mean[j])))
		}
		l[i] = make([]*big.Float, i+1)
		for k := range i + 1 {
			l[i][k] = number(0)
			for j, column := range columns {
				scaled := product(product(number(column[i]), number(sd[j])), product(number(column[k]), number(sd[j])))
				l[i][k].Add(l[i][k], scaled)
			}
		}
		l[i][i].Add(l[i][i], product(number(sigma), number(sigma)))
	}
	logDet, squares := 0.0, number(0)
	for i := range n {
		for k := range i + 1 {
			for a := range k {
				l[i][k].Sub(l[i][k], product(l[i][a], l[k][a]))
			}
			if k < i {
				l[i][k].Quo(l[i][k], l[k][k])
			}
		}
		mantissa := new(big.Float)
		exponent := l[i][i].MantExp(mantissa)
		value, _ := mantissa.Float64()
		logDet += math.Log(value) + float64(exponent)*math.Ln2
		l[i][i].Sqrt(l[i][i])
		for a := range i {
			r[i].Sub(r[i], product(l[i][a], r[a]))
		}
		r[i].Quo(r[i], l[i][i])
		squares.Add(squares, product(r[i], r[i]))
	}
	quadratic, _ := squares.Float64()
	return -quadratic/2 - logDet/2 - float64(n)*halfLog2Pi
}

// hardModel is a regression for which common methods are inaccurate.
type hardModel struct {
	y        []float64
	columns  [][]float64
	mean, sd []float64
	sigmas   []float64
}

// hardModels returns models with few rows, more columns than rows, near copies of columns, extreme
// scales, or almost no noise.
func hardModels() map[string]hardModel {
	random := stream.Rand(7, "hard")
	regression := func(n, k int, noise float64) hardModel {
		m := hardModel{y: stream.Normals(random, n), sigmas: []float64{1e-6, 1e-3, 0.1, 1, 30, 1e6}}
		for i := range m.y {
			m.y[i] *= noise
		}
		for j := range k {
			column := stream.Normals(random, n)
			if j == 0 {
				for i := range column {
					column[i] = 1
				}
			}
			for i, x := range column {
				m.y[i] += x / float64(j+1)
			}
			m.columns, m.mean, m.sd = append(m.columns, column), append(m.mean, 0), append(m.sd, 1.5)
		}
		if k > 0 {
			m.mean[0], m.sd[0] = 0.7, 10
		}
		return m
	}
	models := map[string]hardModel{
		"plain": regression(12, 4, 1), "one row": regression(1, 2, 1), "two rows": regression(2, 1, 1), "no columns": regression(5, 0, 1),
		"p over n": regression(4, 9, 1), "as many": regression(6, 6, 1),
		"R² of 1 − 1e-7": regression(14, 3, 3e-4), "no noise": regression(10, 3, 0),
	}
	copies := regression(12, 4, 0.5)
	for i := range copies.y {
		// correlation 1 − 1e-9
		copies.columns[3][i] = copies.columns[2][i] + 4e-5*random.NormFloat64()
	}
	models["near copies"] = copies
	exact := regression(12, 4, 0.5)
	exact.columns[3] = exact.columns[2]
	models["copies"] = exact
	for name, unit := range map[string]float64{"tiny": 1e-12, "huge": 1e12} {
		scaled := regression(12, 4, 1)
		for i := range scaled.y {
			scaled.y[i] *= unit
			scaled.columns[1][i] *= unit
			scaled.columns[3][i] /= unit
		}
		scaled.sd[0] = 10 * unit
		for i := range scaled.sigmas {
			scaled.sigmas[i] *= unit
		}
		models[name] = scaled
	}
	return models
}

// Evidences given σ agree with a Cholesky factorisation in 400 bits, also for compressed rows.
func TestConjugateEvidenceInManyBits(t *testing.T) {
	for name, m := range hardModels() {
		c, err := NewModel(m.y, m.columns, m.mean, m.sd, 0, 0)
		require.NoError(t, err, name)
		for _, sigma := range m.sigmas {
			if name == "no noise" && sigma < 1e-3 {
				continue // with such a σ the rounding of the data, of 1e-16, shows
			}
			want := bigEvidence(m.y, m.columns, m.mean, m.sd, sigma)
			// the residual is wrong by up to the rounding error of the response
			tolerance := 1e-9 + (1e-13+0x1p-51*math.Sqrt(c.size/c.residual))*math.Abs(want)
			require.InDelta(t, want, c.LogEvidence(math.Log(sigma)), tolerance, "%s, σ = %g", name, sigma)
		}
		// the same model with two more rows, given only by their sum of squares and without columns
		if len(m.y) < 3 {
			continue
		}
		longer := append(append([]float64{}, m.y...), 0.3, -0.4)
		columns := make([][]float64, len(m.columns))
		for j, column := range m.columns {
			columns[j] = append(append([]float64{}, column...), 0, 0)
		}
		short, err := NewModel(m.y, m.columns, m.mean, m.sd, 2, 0.25)
		require.NoError(t, err)
		long, err := NewModel(longer, columns, m.mean, m.sd, 0, 0)
		require.NoError(t, err)
		for _, sigma := range m.sigmas {
			want := long.LogEvidence(math.Log(sigma))
			require.InDelta(t, want, short.LogEvidence(math.Log(sigma)), 1e-9+1e-13*math.Abs(want), name)
		}
	}
}

// Draws given σ satisfy evidence × conditional density = likelihood × prior.
func TestConjugateDrawsHaveTheirDensity(t *testing.T) {
	for name, m := range hardModels() {
		if len(m.columns) == 0 || name == "tiny" || name == "huge" {
			continue // the sums below lose digits for this model
		}
		c, err := NewModel(m.y, m.columns, m.mean, m.sd, 0, 0)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(3, 4))
		theta := make([]float64, len(m.columns))
		for _, sigma := range []float64{0.1, 1, 30} {
			for range 5 {
				logDensity := c.Draw(math.Log(sigma), random, theta)
				joint := 0.0
				for i, y := range m.y {
					for j, column := range m.columns {
						y -= column[i] * theta[j]
					}
					joint -= y*y/(2*sigma*sigma) + math.Log(sigma) + halfLog2Pi
				}
				for j, v := range theta {
					z := (v - m.mean[j]) / m.sd[j]
					joint -= z*z/2 + math.Log(m.sd[j]) + halfLog2Pi
				}
				require.InDelta(t, joint, c.LogEvidence(math.Log(sigma))+logDensity, 1e-9*(1+math.Abs(joint)), "%s, σ = %g", name, sigma)
			}
		}
	}
}

// The integral over log σ agrees with a sum over a finer and wider grid in 400 bits. The mean and
// the sd of draws of log σ agree with the sums to 5 standard errors.
func TestScalePosteriorInManyBits(t *testing.T) {
	for name, m := range hardModels() {
		if name == "no noise" {
			continue // the only noise of this model is rounding error
		}
		t.Run(name, func(t *testing.T) {
			mean, sd := 0.2, 2.0
			if unit := m.sigmas[3]; unit != 1 {
				mean += math.Log(unit)
			}
			c, err := NewModel(m.y, m.columns, m.mean, m.sd, 0, 0)
			require.NoError(t, err)
			p, err := c.Posterior(Noise{Mean: mean, SD: sd})
			require.NoError(t, err)

			step := 1 / math.Sqrt(65+1.55*(2*float64(len(m.y))+1/(sd*sd))) / 2 // resolves every posterior of log σ
			var points, values []float64
			best := math.Inf(-1)
			for x := p.logSigmas[0] - 2; x < p.logSigmas[len(p.logSigmas)-1]+2; x += step {
				z := (x - mean) / sd
				value := bigEvidence(m.y, m.columns, m.mean, m.sd, math.Exp(x)) - z*z/2 - math.Log(sd) - halfLog2Pi
				points, values, best = append(points, x), append(values, value), max(best, value)
			}
			var total, first, second float64
			for i, value := range values {
				mass := math.Exp(value - best)
				total, first, second = total+mass, first+mass*points[i], second+mass*points[i]*points[i]
			}
			require.InDelta(t, best+math.Log(total*step), p.logEvidence, 1e-9)

			const draws = 4000
			random := stream.Rand(9, name)
			interpolated := p.interpolate(drawnFine)
			var sum, squares, fourth float64
			wantMean := first / total
			wantVariance := second/total - wantMean*wantMean
			for range draws {
				x, logDensity := interpolated.draw(random)
				require.InDelta(t, p.logJoint(x)-p.logEvidence, logDensity, 1e-12)
				d := x - wantMean
				sum, squares, fourth = sum+d, squares+d*d, fourth+d*d*d*d
			}
			require.InDelta(t, 0, sum/draws, 5*math.Sqrt(wantVariance/draws))
			require.InDelta(t, wantVariance, squares/draws, 5*math.Sqrt(fourth)/draws)
		})
	}
}

// If the response has no noise, σ is as small as its rounding error: every draw of log σ must lie
// between −50 and −20.
func TestScalePosteriorWithoutNoise(t *testing.T) {
	m := hardModels()["no noise"]
	c, err := NewModel(m.y, m.columns, m.mean, m.sd, 0, 0)
	require.NoError(t, err)
	p, err := c.Posterior(Noise{SD: 2})
	require.NoError(t, err)
	random, theta := stream.Rand(1, "none"), make([]float64, len(m.columns))
	for range 100 {
		x, _ := p.Draw(random, theta)
		require.Less(t, x, -20.0)
		require.Greater(t, x, -50.0)
	}
	_, err = NewModel([]float64{1, math.Inf(1)}, m.columns[:0], nil, nil, 0, 0)
	require.Error(t, err)
}

// No peak of the posterior of log σ is overlooked, whatever the prior and the residuals. Models
// have few rows and at most one coefficient for each row. The evidence agrees with a sum over a
// fine grid of all σ whose squares are floating-point numbers.
func TestScalePosteriorFindsAllPeaks(t *testing.T) {
	random := stream.Rand(4, "peaks")
	for trial := range 60 {
		rows := 1 + random.IntN(8)
		c := &Model{rows: rows, residual: 1e-300}
		for range random.IntN(rows + 1) {
			d, u := math.Exp(8*random.NormFloat64()), math.Exp(4*random.NormFloat64())
			c.d, c.c = append(c.d, d), append(c.c, d*u*random.NormFloat64())
			c.size += c.c[len(c.c)-1] * c.c[len(c.c)-1]
		}
		if len(c.d) < rows || random.IntN(2) == 0 {
			c.residual = math.Exp(12 * random.NormFloat64())
		}
		c.size += c.residual
		mean, sd := 10*random.NormFloat64(), 2.0
		p, err := c.Posterior(Noise{Mean: mean, SD: sd})
		require.NoError(t, err)
		const step = 0.01
		var values []float64
		for x := -scaleReach / step; x <= scaleReach/step; x++ {
			values = append(values, p.logJoint(mean+x*step))
		}
		require.InDelta(t, logsum.Of(values)+math.Log(step), p.logEvidence, 1e-8, "trial %d: %+v, prior mean %g", trial, c, mean)
	}
}
