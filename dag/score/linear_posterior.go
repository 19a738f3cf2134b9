package score

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/pick"
)

// linearPosterior is the posterior of the parameters of a linear family.
type linearPosterior struct {
	spectrum
	priorSD float64
	noise   []noiseCell
	step    float64 // the width of cells
	cells   pick.Table
}

// noiseCell is a cell of the posterior of log σ, with its share in it.
type noiseCell struct{ logSigma, share float64 }

// noiseOf are the cells of the posterior of log σ, in units of overNoise; one, if σ is known.
func (s *LinearStats) noiseOf(given spectrum, sigma, priorSD, width float64) (cells []noiseCell, step float64) {
	if sigma > 0 {
		return []noiseCell{{math.Log(sigma), 1}}, 0
	}
	over, err := given.overNoise(s.LogSD, priorSD, width)
	if err != nil { // whose evidence has been refused
		return []noiseCell{{math.NaN(), 1}}, 0
	}
	for _, node := range over.Nodes {
		cells = append(cells, noiseCell{node.X, math.Exp(node.LogWeight - over.Log)})
	}
	return cells, over.Step
}

func (s *LinearStats) posterior(parents dgraph.Set, sigma, priorSD float64) *linearPosterior {
	out := &linearPosterior{spectrum: s.Spectrum(parents), priorSD: priorSD}
	out.noise, out.step = s.noiseOf(out.spectrum, sigma, priorSD, fineCells)
	var shares []float64
	for _, cell := range out.noise {
		shares = append(shares, cell.share)
	}
	out.cells = pick.NewTable(shares)
	return out
}

// draw draws log σ and the weights of the parents.
func (p *linearPosterior) draw(random *rand.Rand) (logSigma float64, weights []float64) {
	cell := 0
	if p.step > 0 {
		cell = p.cells.Index(random.Float64())
		logSigma = p.step * (random.Float64() - 0.5)
	}
	logSigma += p.noise[cell].logSigma
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
	cells, _ := s.noiseOf(given, sigma, priorSD, 1)
	means, variances = make([]float64, k), make([]float64, k)
	own := make([][]float64, len(cells)) // means given the noise
	for c, cell := range cells {
		own[c] = make([]float64, k)
		precision := math.Exp(-2 * cell.logSigma)
		for direction, value := range given.Values {
			total := value*precision + 1/Square(priorSD)
			along := given.Signed[direction] * precision / total
			for i := range k {
				own[c][i] += given.Vectors.At(i, direction) * along
				variances[i] += cell.share * Square(given.Vectors.At(i, direction)) / total
			}
		}
		floats.AddScaled(means, cell.share, own[c])
	}
	for c, cell := range cells {
		for i := range k {
			variances[i] += cell.share * Square(own[c][i]-means[i])
		}
	}
	return means, variances
}

// logJoint is log p(x_j, θ | x_pa) of a linear family.
func (s *LinearStats) logJoint(l sem.Layout, f dgraph.Family, theta []float64, priorSD float64) float64 {
	sum := 0.0
	residual := s.column(f.Node) // not by sums of squares, which would cancel
	for i := range f.Parents.Nodes() {
		floats.AddScaled(residual, -theta[i], s.column(i))
		sum -= Square(theta[i]/priorSD)/2 + math.Log(priorSD) + HalfLog2Pi
	}
	logSigma := l.LogSigma(theta)
	sum -= floats.Dot(residual, residual)*math.Exp(-2*logSigma)/2 + float64(s.rows)*(logSigma+HalfLog2Pi)
	if l.Sigma == 0 {
		sum -= Square((logSigma-s.LogSD)/LogSigmaSD)/2 + math.Log(LogSigmaSD) + HalfLog2Pi
	}
	return sum
}

// fineCells is the width of the cells of log σ that draws come from, in units of overNoise: a
// uniform draw within cells adds a part in 2,000 to a variance.
const fineCells = 0.1
