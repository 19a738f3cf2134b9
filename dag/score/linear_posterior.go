package score

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
)

// linearPosterior is the posterior of the parameters of a linear family.
type linearPosterior struct {
	spectrum
	priorSD float64
	first   float64 // log σ of the first cell of a grid, or known
	step    float64 // 0: known
	cells   pick.Table
}

func (s *LinearStats) posterior(parents dgraph.Set, sigma, priorSD float64) *linearPosterior {
	out := &linearPosterior{spectrum: s.Spectrum(parents), priorSD: priorSD, first: math.Log(sigma)}
	if sigma > 0 {
		return out
	}
	type cell struct{ logSigma, logDensity float64 }
	var cells []cell
	top := math.Inf(-1)
	out.step = out.overNoise(s.LogSD, priorSD, noiseCell, func(logSigma, logDensity float64) {
		cells = append(cells, cell{logSigma, logDensity})
		top = math.Max(top, logDensity)
	})
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.logSigma, b.logSigma) })
	cells = slices.DeleteFunc(cells, func(c cell) bool { return !(c.logDensity > top-logsum.Negligible/2) })
	out.first = cells[0].logSigma
	var weights []float64
	for _, c := range cells {
		// Cells between two modes may be left out.
		for float64(len(weights)) < math.Round((c.logSigma-out.first)/out.step) {
			weights = append(weights, 0)
		}
		weights = append(weights, math.Exp(c.logDensity-top))
	}
	out.cells = pick.NewTable(weights)
	return out
}

// draw draws log σ and the weights of the parents.
func (p *linearPosterior) draw(random *rand.Rand) (logSigma float64, weights []float64) {
	logSigma = p.first
	if p.step > 0 {
		logSigma += p.step * (float64(p.cells.Index(random.Float64())) + random.Float64() - 0.5)
	}
	precision := math.Exp(-2 * logSigma)
	weights = make([]float64, len(p.Values))
	for k, value := range p.Values {
		own := value*precision + 1/Square(p.priorSD)
		along := p.Signed[k]*precision/own + random.NormFloat64()/math.Sqrt(own)
		for i := range weights {
			weights[i] += p.Vectors.At(i, k) * along
		}
	}
	return logSigma, weights
}

// moments are the posterior means and variances of the weights of the parents, in their order:
// those given the noise scale, averaged over its posterior. Variances are sums of squares of
// deviations, which keep their digits where they are small compared with the means.
func (s *LinearStats) moments(parents dgraph.Set, sigma, priorSD float64) (means, variances []float64) {
	given := s.Spectrum(parents)
	k := len(given.Values)
	type cell struct {
		logDensity       float64
		means, variances []float64
	}
	var cells []cell
	top := math.Inf(-1)
	visit := func(logSigma, logDensity float64) {
		own := cell{logDensity, make([]float64, k), make([]float64, k)}
		precision := math.Exp(-2 * logSigma)
		for direction, value := range given.Values {
			total := value*precision + 1/Square(priorSD)
			along := given.Signed[direction] * precision / total
			for i := range k {
				own.means[i] += given.Vectors.At(i, direction) * along
				own.variances[i] += Square(given.Vectors.At(i, direction)) / total
			}
		}
		cells, top = append(cells, own), math.Max(top, logDensity)
	}
	if sigma > 0 {
		visit(math.Log(sigma), 0)
	} else {
		given.overNoise(s.LogSD, priorSD, 1, visit)
	}
	total := 0.0
	means, variances = make([]float64, k), make([]float64, k)
	for _, own := range cells {
		share := math.Exp(own.logDensity - top)
		total += share
		floats.AddScaled(means, share, own.means)
	}
	floats.Scale(1/total, means)
	for _, own := range cells {
		share := math.Exp(own.logDensity-top) / total
		for i := range k {
			variances[i] += share * (own.variances[i] + Square(own.means[i]-means[i]))
		}
	}
	return means, variances
}

// logJoint is log p(x_j, θ | x_pa) of a linear family.
func (s *LinearStats) logJoint(l sem.Layout, f dgraph.Family, theta []float64, priorSD float64) float64 {
	sum := 0.0
	residual := mat.Col(nil, f.Node, s.root()) // not by sums of squares, which would cancel
	for i := range f.Parents.Nodes() {
		for row := range residual {
			residual[row] -= theta[i] * s.root().At(row, i)
		}
		sum -= Square(theta[i]/priorSD)/2 + math.Log(priorSD) + HalfLog2Pi
	}
	logSigma := l.LogSigma(theta)
	sum -= floats.Dot(residual, residual)*math.Exp(-2*logSigma)/2 + float64(s.rows)*(logSigma+HalfLog2Pi)
	if l.Sigma == 0 {
		sum -= Square((logSigma-s.LogSD)/LogSigmaSD)/2 + math.Log(LogSigmaSD) + HalfLog2Pi
	}
	return sum
}

// noiseCell is the cell of the grid of log σ that draws come from, in units of overNoise: a uniform
// draw within cells adds a part in 2,000 to a variance.
const noiseCell = 0.1
