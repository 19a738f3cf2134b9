package networks

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/kernel"
)

// networkMover draws and moves states, first layers of the network of a node with its parents (see
// [networkFamily] for the symbols). Only one goroutine may use it.
type networkMover struct {
	*networkFamily
	random     *rand.Rand
	vectors    *kernel.Vectors[float32]
	likelihood *networkLikelihood
	direction  []float64 // weights of the direction of a move [k]
	along      []float32 // inputs of a unit with these weights [n]
	before     []float32 // inputs of the unit after a move [n]
	output     []float32 // outputs of the unit after a move [n]
	part       []float32 // products of a unit's output with all units over a block of rows [H']
	row        []float64 // products of output with all units and with itself [H']
	pull       float64   // product of output with x_j
}

func (n *networkFamily) newMover(random *rand.Rand) *networkMover {
	rows, units := len(n.target), n.units()
	return &networkMover{
		networkFamily: n, random: random, vectors: kernel.VectorsOf[float32](kernel.Detect()), direction: make([]float64, len(n.inputs)),
		along: make([]float32, rows), before: make([]float32, rows), output: make([]float32, rows),
		part: make([]float32, units), row: make([]float64, units), likelihood: newNetworkLikelihood(units, rows, n.squares, n.priorSD),
	}
}

// rowBlock is the number of rows whose products are added in float32; the sums of such blocks are
// added in float64. The outputs of a block fit into the fastest cache.
const rowBlock = 512

func (m *networkMover) emptyState() *networkState {
	units, rows := m.units(), len(m.target)
	return &networkState{
		before: make([]float32, m.hidden*rows), outputs: make([]float32, units*rows), gram: make([]float64, units*units), pull: make([]float64, units),
		logSigma: math.Log(m.sigma), weights: apply.UpTo(m.hidden, func(int) []float64 { return make([]float64, len(m.inputs)) }),
	}
}

func (m *networkMover) drawPrior(s *networkState) {
	if m.sigma == 0 {
		s.logSigma = m.logSD + score.LogSigmaSD*m.random.NormFloat64()
	}
	for _, unitWeights := range s.weights {
		for k := range unitWeights {
			unitWeights[k] = m.priorSD * m.random.NormFloat64()
		}
	}
	m.fill(s)
}

// fill computes the derived quantities of a state from its weights and its noise.
func (m *networkMover) fill(s *networkState) {
	units, rows := m.units(), len(m.target)
	for h, unitWeights := range s.weights {
		before := s.before[h*rows : (h+1)*rows]
		m.combine(before, unitWeights)
		m.vectors.MaxScalar(s.outputs[h*rows:(h+1)*rows], before, 0)
	}
	if m.bias {
		copy(s.outputs[m.hidden*rows:], m.inputs[len(m.inputs)-1])
	}
	for h := range units {
		s.pull[h] = 0
		row := s.gram[h*units : (h+1)*units]
		clear(row)
		for start := 0; start < rows; start += rowBlock {
			output := s.outputs[h*rows+start : h*rows+min(start+rowBlock, rows)]
			m.addProducts(row, s.outputs, start, output)
			s.pull[h] += m.product(m.target[start:], output)
		}
	}
	s.logLik = m.likelihood.logLikelihood(s.gram, s.pull, s.logSigma)
}

// combine sets out to Σ_k w_k x_k, with inputs x and weights w.
func (m *networkMover) combine(out []float32, weights []float64) {
	clear(out)
	for k, w := range weights {
		m.vectors.AddScaled(out, out, m.inputs[k], float32(w))
	}
}

// addProducts adds to sums the inner products of output with the outputs of all units, over a block
// of rows that begins with row start.
func (m *networkMover) addProducts(sums []float64, outputs []float32, start int, output []float32) {
	m.vectors.DotRows(m.part, outputs[start:], len(m.target), output)
	for g, x := range m.part {
		sums[g] += float64(x)
	}
}

// product returns Σ a b over the elements of b.
func (m *networkMover) product(a, b []float32) float64 {
	m.vectors.DotRows(m.part[:1], a, 0, b)
	return float64(m.part[0])
}

// turn rotates the weights of unit h of a state by an angle towards m.direction. It stores the
// unit's inputs, outputs and products after the move in m.
func (m *networkMover) turn(s *networkState, h int, sin, cos float32) {
	rows := len(m.target)
	clear(m.row)
	square, pull := 0.0, 0.0
	for start := 0; start < rows; start += rowBlock {
		end := min(start+rowBlock, rows)
		before, output := m.before[start:end], m.output[start:end]
		m.vectors.MulScalar(before, s.before[h*rows+start:h*rows+end], cos)
		m.vectors.AddScaled(before, before, m.along[start:end], sin)
		m.vectors.MaxScalar(output, before, 0)
		m.addProducts(m.row, s.outputs, start, output)
		square += m.product(output, output)
		pull += m.product(m.target[start:], output)
	}
	m.row[h], m.pull = square, pull
}

// sweep moves every hidden unit and the noise by MCMC. It leaves prior · likelihood^β invariant.
func (m *networkMover) sweep(s *networkState, beta float64) {
	for h := range s.weights {
		m.moveUnit(s, h, beta)
	}
	if m.sigma == 0 {
		m.moveNoise(s, beta)
	}
}

// moveUnit moves a unit on an ellipse through its weights and a draw from their prior (elliptical
// slice sampling, Murray, Adams and MacKay 2010).
func (m *networkMover) moveUnit(s *networkState, h int, beta float64) {
	if !m.likelihood.without(h, s.gram, s.pull, s.logSigma) {
		return
	}
	units := len(s.pull)
	for k := range m.direction {
		m.direction[k] = m.priorSD * m.random.NormFloat64()
	}
	m.combine(m.along, m.direction)
	level := beta*s.logLik - m.random.ExpFloat64()
	angle := 2 * math.Pi * m.random.Float64()
	low, high := angle-2*math.Pi, angle
	for range 60 {
		sin, cos := math.Sincos(angle)
		m.turn(s, h, float32(sin), float32(cos))
		if logLik := m.likelihood.with(m.row, m.row[h], m.pull); beta*logLik >= level {
			copy(s.before[h*len(m.before):], m.before)
			copy(s.outputs[h*len(m.output):], m.output)
			for g, value := range m.row {
				s.gram[h*units+g], s.gram[g*units+h] = value, value
			}
			s.pull[h], s.logLik = m.pull, logLik
			for k := range s.weights[h] {
				s.weights[h][k] = s.weights[h][k]*cos + m.direction[k]*sin
			}
			return
		}
		if angle < 0 {
			low = angle
		} else {
			high = angle
		}
		angle = low + (high-low)*m.random.Float64()
	}
}

// moveNoise moves log σ by slice sampling (Neal 2003).
func (m *networkMover) moveNoise(s *networkState, beta float64) {
	logDensity := func(logSigma float64) (total, logLik float64) {
		logLik = m.likelihood.logLikelihood(s.gram, s.pull, logSigma)
		return beta*logLik - dgraph.Square((logSigma-m.logSD)/score.LogSigmaSD)/2, logLik
	}
	level, _ := logDensity(s.logSigma)
	level -= m.random.ExpFloat64()
	width := math.Min(1, 2/math.Sqrt(1+2*beta*float64(len(m.target)))) * 2
	below := func(end, step float64) float64 { // the first end with a density below level
		for range 30 {
			if total, _ := logDensity(end); total < level {
				break
			}
			end += step
		}
		return end
	}
	low := s.logSigma - width*m.random.Float64()
	low, high := below(low, -width), below(low+width, width)
	for range 60 {
		logSigma := low + (high-low)*m.random.Float64()
		total, logLik := logDensity(logSigma)
		if total >= level {
			s.logSigma, s.logLik = logSigma, logLik
			return
		}
		if logSigma < s.logSigma {
			low = logSigma
		} else {
			high = logSigma
		}
	}
}

// parameters draws the output layer given the first layer, and returns all parameters, see
// [sem.Layout].
func (m *networkMover) parameters(l sem.Layout, f dgraph.Family, s *networkState) []float64 {
	theta := make([]float64, l.Dim())
	at := 0
	for i := range f.Parents.Nodes() {
		for h := range m.hidden {
			theta[i*m.hidden+h] = s.weights[h][at]
		}
		at++
	}
	// The output weights are normal with precision A/σ0², A = I + σ0²/σ² ΦᵀΦ = L Lᵀ, and mean
	// σ0²/σ² A⁻¹ Φᵀx. A draw solves Lᵀ w = σ0²/σ² L⁻¹ Φᵀx + σ0 ε, with ε standard normal.
	ratio, units := m.priorSD*m.priorSD*math.Exp(-2*s.logSigma), len(s.pull)
	precision, w := make([]float64, len(s.gram)), make([]float64, units)
	floats.AddScaled(precision, ratio, s.gram)
	floats.AddScaled(w, ratio, s.pull)
	for i := range units {
		precision[i*units+i]++
	}
	factor, _ := dense.Factorize(precision, units, 0) // the factor exists for every state with a finite likelihood
	factor.SolveLower(w)
	for i := range w {
		w[i] += m.priorSD * m.random.NormFloat64()
	}
	factor.SolveUpper(w)
	copy(theta[l.W2():], w)
	if m.bias {
		for h := range m.hidden {
			theta[l.B1()+h] = s.weights[h][at]
		}
	}
	if m.sigma == 0 {
		theta[l.Weights()] = s.logSigma
	}
	return theta
}
