package dag

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"
)

// networkFamily is the posterior of the first layer of a family of networks and of its noise. Given these, the node is a linear function of the outputs of the hidden
// units, Φ [n,H'], whose weights have a normal prior: they are integrated out,
//
//	p(x_j | W1, b1, σ) = N(x_j; 0, σ² I + σ0² ΦΦᵀ),
//
// which depends on the data through ΦᵀΦ and Φᵀx_j. With biases the inputs and Φ have a column of ones each: H' = H + 1.
type networkFamily struct {
	inputs  [][]float32 // of the parents, over the rows that count [k][n]
	target  []float32   // x_j [n]
	squares float64     // |x_j|²
	hidden  int
	bias    bool
	priorSD float64
	sigma   float64 // known noise; 0: log σ ~ N(logSD, 2²)
	logSD   float64
}

// newNetworkFamily collects the data of a family that has parents.
func newNetworkFamily(p *Problem, f Family) *networkFamily {
	n := &networkFamily{hidden: p.Model.Hidden, bias: !p.Model.NoBias, priorSD: p.Model.PriorSD, sigma: p.Model.Sigma}
	column := func(j int) (values []float32) {
		for row := range p.Data.Rows() {
			if p.Data.counts(row, f.Node) {
				values = append(values, float32(p.Data.X.At(row, j)))
			}
		}
		return values
	}
	for i := range f.Parents.Nodes() {
		n.inputs = append(n.inputs, column(i))
	}
	n.target = column(f.Node)
	n.squares = inner(n.target, n.target)
	n.logSD = p.Data.logSD(f.Node)
	if n.bias {
		ones := make([]float32, len(n.target))
		for i := range ones {
			ones[i] = 1
		}
		n.inputs = append(n.inputs, ones)
	}
	return n
}

// inner is Σ a b: in float32 within blocks, in float64 over them.
func inner(a, b []float32) (sum float64) {
	const block = 512
	for len(a) > 0 {
		n := min(block, len(a))
		sum += float64(blas32.Dot(blas32.Vector{N: n, Inc: 1, Data: a}, blas32.Vector{N: n, Inc: 1, Data: b}))
		a, b = a[n:], b[n:]
	}
	return sum
}

// units is H'.
func (n *networkFamily) units() int {
	if n.bias {
		return n.hidden + 1
	}
	return n.hidden
}

// networkState is a first layer with what the likelihood needs of it.
type networkState struct {
	weights  [][]float64 // W1, and b1 at the end of each row [H][k]
	before   [][]float32 // the inputs of the hidden units [H][n]
	outputs  [][]float32 // Φ, by column [H'][n]
	gram     []float64   // ΦᵀΦ [H'·H']
	pull     []float64   // Φᵀx_j [H']
	logSigma float64
	logLik   float64
}

// newState draws from the prior.
func (n *networkFamily) newState(random *rand.Rand) *networkState {
	units, rows := n.units(), len(n.target)
	s := &networkState{gram: make([]float64, units*units), pull: make([]float64, units), logSigma: math.Log(n.sigma)}
	if n.sigma == 0 {
		s.logSigma = n.logSD + logSigmaSD*random.NormFloat64()
	}
	for range n.hidden {
		own := make([]float64, len(n.inputs))
		for k := range own {
			own[k] = n.priorSD * random.NormFloat64()
		}
		before := make([]float32, rows)
		n.combine(before, own)
		s.weights, s.before, s.outputs = append(s.weights, own), append(s.before, before), append(s.outputs, make([]float32, rows))
		rectify(s.outputs[len(s.outputs)-1], before)
	}
	if n.bias {
		s.outputs = append(s.outputs, n.inputs[len(n.inputs)-1])
	}
	for h := range units {
		n.products(s.outputs, s.outputs[h], h, s.gram[h*units:(h+1)*units])
		s.pull[h] = inner(s.outputs[h], n.target)
	}
	s.logLik = n.logLikelihood(s.gram, s.pull, s.logSigma, nil)
	return s
}

// copyFrom makes s equal to another state.
func (s *networkState) copyFrom(from *networkState) {
	for h := range s.weights {
		copy(s.weights[h], from.weights[h])
		copy(s.before[h], from.before[h])
		copy(s.outputs[h], from.outputs[h])
	}
	copy(s.gram, from.gram)
	copy(s.pull, from.pull)
	s.logSigma, s.logLik = from.logSigma, from.logLik
}

// combine is Σ_k w_k x_k.
func (n *networkFamily) combine(out []float32, weights []float64) {
	clear(out)
	for k, w := range weights {
		blas32.Axpy(float32(w), blas32.Vector{N: len(out), Inc: 1, Data: n.inputs[k]}, blas32.Vector{N: len(out), Inc: 1, Data: out})
	}
}

// rectify is max(x, 0).
func rectify(out, x []float32) {
	for i, v := range x {
		out[i] = max(v, 0)
	}
}

// products fills a row of the Gram matrix: the products of all units with one whose outputs are given.
func (n *networkFamily) products(outputs [][]float32, own []float32, h int, row []float64) {
	for g := range row {
		if g == h {
			row[g] = inner(own, own)
		} else {
			row[g] = inner(own, outputs[g])
		}
	}
}

// logLikelihood is log N(x_j; 0, σ² I + σ0² ΦΦᵀ), −Inf where rounding leaves nothing of it. factor, if not nil, receives the Cholesky factor of I + σ0²/σ² ΦᵀΦ [H'·H'], by rows.
func (n *networkFamily) logLikelihood(gram, pull []float64, logSigma float64, factor []float64) float64 {
	const most = 65 // units that fit the stack
	units := len(pull)
	var small [most * most]float64
	var solved [most]float64
	lower := factor
	if lower == nil {
		if units > most {
			lower = make([]float64, units*units)
		} else {
			lower = small[:units*units]
		}
	}
	solution := solved[:min(units, most)]
	if units > most {
		solution = make([]float64, units)
	}
	precision := math.Exp(-2 * logSigma)
	ratio := n.priorSD * n.priorSD * precision
	logDet, quadratic := 1.0, 0.0
	logSum := 0.0
	for i := range units {
		row := lower[i*units : (i+1)*units]
		value := pull[i]
		for j := range i + 1 {
			sum := ratio * gram[i*units+j]
			if i == j {
				sum++
			}
			other := lower[j*units : (j+1)*units]
			for k := range j {
				sum -= row[k] * other[k]
			}
			if i != j {
				row[j] = sum / other[j]
				value -= row[j] * solution[j]
				continue
			}
			if !(sum > 0) {
				return math.Inf(-1)
			}
			row[j] = math.Sqrt(sum)
		}
		solution[i] = value / row[i]
		quadratic += solution[i] * solution[i]
		if logDet *= row[i]; logDet > 1e200 {
			logSum += math.Log(logDet)
			logDet = 1
		}
	}
	return -float64(len(n.target))*(logSigma+halfLog2Pi) - n.squares*precision/2 + ratio*precision*quadratic/2 - logSum - math.Log(logDet)
}

// networkMover holds what moves need to try.
type networkMover struct {
	*networkFamily
	random        *rand.Rand
	direction     []float64 // [k]
	along, before []float32 // [n]
	output        []float32 // [n]
	row           []float64 // [H']
	gram, pull    []float64
}

func (n *networkFamily) newMover(random *rand.Rand) *networkMover {
	rows, units := len(n.target), n.units()
	return &networkMover{
		networkFamily: n, random: random, direction: make([]float64, len(n.inputs)), along: make([]float32, rows), before: make([]float32, rows),
		output: make([]float32, rows), row: make([]float64, units), gram: make([]float64, units*units), pull: make([]float64, units),
	}
}

// sweep moves every hidden unit and the noise, and leaves prior · likelihood^β invariant.
func (m *networkMover) sweep(s *networkState, beta float64) {
	for h := range s.weights {
		m.moveUnit(s, h, beta)
	}
	if m.sigma == 0 {
		m.moveNoise(s, beta)
	}
}

// moveUnit moves a unit on an ellipse through its weights and a draw from their prior (elliptical slice sampling, Murray, Adams and MacKay 2010).
func (m *networkMover) moveUnit(s *networkState, h int, beta float64) {
	units := len(s.pull)
	for k := range m.direction {
		m.direction[k] = m.priorSD * m.random.NormFloat64()
	}
	m.combine(m.along, m.direction)
	level := beta*s.logLik - m.random.ExpFloat64()
	angle := 2 * math.Pi * m.random.Float64()
	low, high := angle-2*math.Pi, angle
	copy(m.gram, s.gram)
	copy(m.pull, s.pull)
	for range 60 {
		sin, cos := math.Sincos(angle)
		a, b, old := float32(cos), float32(sin), s.before[h]
		before, output, along := m.before[:len(old)], m.output[:len(old)], m.along[:len(old)]
		for i, v := range old {
			x := a*v + b*along[i]
			before[i], output[i] = x, max(x, 0)
		}
		m.products(s.outputs, output, h, m.row)
		for g, value := range m.row {
			m.gram[h*units+g], m.gram[g*units+h] = value, value
		}
		m.pull[h] = inner(output, m.target)
		logLik := m.logLikelihood(m.gram, m.pull, s.logSigma, nil)
		if beta*logLik >= level {
			copy(s.before[h], before)
			copy(s.outputs[h], output)
			copy(s.gram, m.gram)
			s.pull[h], s.logLik = m.pull[h], logLik
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
		logLik = m.logLikelihood(s.gram, s.pull, logSigma, nil)
		return beta*logLik - square((logSigma-m.logSD)/logSigmaSD)/2, logLik
	}
	level, _ := logDensity(s.logSigma)
	level -= m.random.ExpFloat64()
	width := math.Min(1, 2/math.Sqrt(1+2*beta*float64(len(m.target)))) * 2
	low := s.logSigma - width*m.random.Float64()
	high := low + width
	for k := 0; k < 30; k++ {
		if total, _ := logDensity(low); total < level {
			break
		}
		low -= width
	}
	for k := 0; k < 30; k++ {
		if total, _ := logDensity(high); total < level {
			break
		}
		high += width
	}
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

// parameters draws the output layer given the first one, and returns all parameters as a layout has them.
func (m *networkMover) parameters(l layout, f Family, s *networkState) []float64 {
	theta := make([]float64, l.dim())
	units := len(s.pull)
	lower := make([]float64, units*units)
	m.logLikelihood(s.gram, s.pull, s.logSigma, lower)
	at := 0
	for i := range f.Parents.Nodes() {
		for h := range m.hidden {
			theta[i*m.hidden+h] = s.weights[h][at]
		}
		at++
	}
	// Precision A/σ0² with A = L Lᵀ and mean σ0²/σ² A⁻¹ Φᵀx: solve Lᵀ w = σ0²/σ² L⁻¹ Φᵀx + σ0 ε.
	ratio := m.priorSD * m.priorSD * math.Exp(-2*s.logSigma)
	w := make([]float64, units)
	for i := range units {
		w[i] = ratio * s.pull[i]
		for k := range i {
			w[i] -= lower[i*units+k] * w[k]
		}
		w[i] /= lower[i*units+i]
	}
	for i := range units {
		w[i] += m.priorSD * m.random.NormFloat64()
	}
	for i := units - 1; i >= 0; i-- {
		for k := i + 1; k < units; k++ {
			w[i] -= lower[k*units+i] * w[k]
		}
		w[i] /= lower[i*units+i]
	}
	copy(theta[l.w2():], w)
	if m.bias {
		for h := range m.hidden {
			theta[l.b1()+h] = s.weights[h][at]
		}
	}
	if m.sigma == 0 {
		theta[l.weights()] = s.logSigma
	}
	return theta
}
