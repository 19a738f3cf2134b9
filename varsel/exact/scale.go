package exact

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
)

// Noise is the prior of the noise scale σ, or its known value.
type Noise struct {
	// Log is log σ, where SD is zero; else log σ ~ N(Mean, SD²).
	Log, Mean, SD float64
}

// logDensity returns the log prior density of log σ.
func (n Noise) logDensity(logSigma float64) float64 {
	z := (logSigma - n.Mean) / n.SD
	return -z*z/2 - math.Log(n.SD) - halfLog2Pi
}

// leastSD returns the least standard deviation that the posterior of log σ can have given the
// number of rows.
func leastSD(rows float64, n Noise) float64 { return 1 / math.Sqrt(2*rows+1/(n.SD*n.SD)) }

// Posterior is the posterior of a model and its noise scale.
type Posterior struct {
	*Model
	noise       Noise
	logEvidence float64
	// logSigmas are values of log σ, a step apart, with shares that sum to one: the posterior of
	// log σ. A known log σ is the only value.
	logSigmas, shares []float64
	step              float64
	fine              *interpolation // to draw from, once it is needed
}

const (
	// scaleReach bounds the distance of log σ from its prior mean: e^±300 can still be squared.
	scaleReach = 300
	// scaleCoarse is the spacing of the search for peaks. The terms of the log density change over
	// distances of ½ or more, so that no peak falls between two points unseen.
	scaleCoarse = 0.25
	// scaleDepth is how far below the peak, in nats, the posterior is followed: e^-38 is 3e-17.
	scaleDepth = 38
)

// Posterior returns the joint posterior of the coefficients and log σ under a prior of σ.
func (m *Model) Posterior(noise Noise) (*Posterior, error) {
	p := &Posterior{Model: m, noise: noise}
	if noise.SD == 0 {
		p.logEvidence, p.logSigmas, p.shares = m.LogEvidence(noise.Log), []float64{noise.Log}, []float64{1}
		return p, nil
	}
	integral, err := line.Of(p.lattice(), p.logJoint)
	if err != nil {
		return nil, fmt.Errorf("the density of log σ: %w", err)
	}
	p.logEvidence, p.step = integral.Log, integral.Step
	for _, node := range integral.Nodes {
		p.logSigmas, p.shares = append(p.logSigmas, node.X), append(p.shares, math.Exp(node.LogWeight-integral.Log))
	}
	p.normalise()
	return p, nil
}

// normalise scales shares to a sum of one, up to their own rounding rather than the rounding of the
// evidence.
func (p *Posterior) normalise() { floats.Scale(1/floats.Sum(p.shares), p.shares) }

// posteriorAt does the same as Posterior at nodes that are known to resolve the integral.
func (m *Model) posteriorAt(noise Noise, nodes []float64, step float64) *Posterior {
	p := &Posterior{Model: m, noise: noise, step: step, shares: make([]float64, len(nodes))}
	for i, x := range nodes {
		p.shares[i] = p.logJoint(x)
	}
	top := floats.Max(p.shares)
	first, last := 0, len(nodes)
	for ; p.shares[first] < top-scaleDepth; first++ {
	}
	for ; p.shares[last-1] < top-scaleDepth; last-- {
	}
	p.logSigmas, p.shares = nodes[first:last], p.shares[first:last]
	for i, logJoint := range p.shares {
		p.shares[i] = math.Exp(logJoint - top)
	}
	p.logEvidence = top + math.Log(step*floats.Sum(p.shares))
	p.normalise()
	return p
}

// bounds returns values of log σ beyond which no peak lies. At 3 below the logarithm of the
// residuals' scale, the slope of the log density is e⁶ − 1 for each row, more than the slope of the
// prior can outweigh within scaleReach. Above the scale of the response the slope of its terms is
// below e⁻⁶ for each row, and above the prior mean the prior falls. From there the bounds move
// inward, in steps of scaleCoarse, as long as the slope has one sign beyond them: with q singular
// values it is at least ρ²/σ² − n, and at most |r|²/σ² − n + q, plus the slope of the prior.
func (p *Posterior) bounds() (low, high float64) {
	m, noise, rows := p.Model, p.noise, float64(p.rows)
	low = max(math.Log(m.residual/rows)/2, noise.Mean-scaleReach) - 3
	high = max(min(math.Log(m.size/rows)/2, noise.Mean+scaleReach)+3, noise.Mean) + 3
	// squares/σ² − count plus the slope of the prior, which falls with log σ
	slope := func(x, squares, count float64) float64 {
		return squares*math.Exp(-2*x) - count + (noise.Mean-x)/(noise.SD*noise.SD)
	}
	for x := low + scaleCoarse; x < high && slope(x, m.residual, rows) > 0; x += scaleCoarse {
		low = x
	}
	for x := high - scaleCoarse; x > low && slope(x, m.size, rows-float64(len(m.d))) < 0; x -= scaleCoarse {
		high = x
	}
	return low, high
}

// lattice returns the nodes of the integral: around the only peak, in steps that resolve it, or
// over all possible peaks if there may be several. With nodes half of the least standard deviation
// apart, the sum over all nodes and the sum over every second node agree to 1e-6.
func (p *Posterior) lattice() line.Options {
	low, high := p.bounds()
	peaks, highest, before, best := 0, low, math.Inf(-1), math.Inf(-1)
	rising := true
	for x := low; x <= high; x += scaleCoarse {
		value := p.logJoint(x)
		if value > best {
			highest, best = x, value
		}
		if value < before && rising {
			peaks++
		}
		rising, before = value >= before, value
	}
	if rising {
		peaks++
	}
	if peaks > 1 {
		return line.Options{From: low, To: high, Step: scaleCoarse, Depth: scaleDepth}
	}
	return line.Options{From: highest, To: highest, Step: 0.5 * leastSD(float64(p.rows), p.noise), Depth: scaleDepth}
}

// Evidence returns log p(y | m), the same number as [Posterior.LogEvidence] up to rounding, with
// fewer nodes: as many as the sum needs, and none for draws.
func (m *Model) Evidence(noise Noise) (float64, error) {
	if noise.SD == 0 {
		return m.LogEvidence(noise.Log), nil
	}
	p := &Posterior{Model: m, noise: noise}
	o := p.lattice()
	if o.From != o.To { // several peaks
		return m.integratedEvidence(noise)
	}
	// A prior that pulls σ below the scale of the residuals adds to the curvature as further rows
	// do: at the peak, squares/σ² is at most n less the slope of the prior.
	pull := max(0, (o.From+scaleCoarse-noise.Mean)/(noise.SD*noise.SD))
	step := walkStep(leastSD(float64(m.rows)+pull, noise))
	top, logs := math.Inf(-1), make([]float64, 0, 64)
	add := func(x float64) (negligible bool) {
		log := p.logJoint(x)
		top, logs = max(top, log), append(logs, log)
		return !(log > top-scaleDepth)
	}
	for x := o.From; !add(x); x += step {
	}
	for x := o.From - step; !add(x); x -= step {
	}
	if sum := logsum.Of(logs) + math.Log(step); !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		return sum, nil
	}
	return m.integratedEvidence(noise) // or the error of the density
}

func (m *Model) integratedEvidence(noise Noise) (float64, error) {
	p, err := m.Posterior(noise)
	if err != nil {
		return 0, err
	}
	return p.logEvidence, nil
}

// LogEvidence returns log p(y | m), including all constants.
func (p *Posterior) LogEvidence() float64 { return p.logEvidence }

// logJoint returns log p(y, log σ | m).
func (p *Posterior) logJoint(logSigma float64) float64 {
	return p.Model.LogEvidence(logSigma) + p.noise.logDensity(logSigma)
}

// Peak returns the mode of the posterior of log σ, and minus the second derivative of its log
// density there. For a known σ it returns log σ and infinity.
func (p *Posterior) Peak() (logSigma, curvature float64) {
	peak := p.logSigmas[floats.MaxIdx(p.shares)]
	if p.noise.SD == 0 {
		return peak, math.Inf(1)
	}
	const apart = 1e-3
	for range 4 { // steps of Newton's method, by differences
		low, middle, high := p.logJoint(peak-apart), p.logJoint(peak), p.logJoint(peak+apart)
		curvature = (2*middle - low - high) / (apart * apart)
		peak += (high - low) / (2 * apart * curvature)
	}
	return peak, curvature
}

// Draw writes a draw of the coefficients to theta [k]. It returns a draw of log σ, and the log
// density of the coefficients and log σ. It must not be called concurrently.
func (p *Posterior) Draw(random *rand.Rand, theta []float64) (logSigma, logDensity float64) {
	logSigma = p.noise.Log
	if p.noise.SD > 0 {
		if p.fine == nil {
			p.fine = p.interpolate(drawnFine)
		}
		logSigma, logDensity = p.fine.draw(random)
	}
	return logSigma, logDensity + p.Model.Draw(logSigma, random, theta)
}

// interpolation draws log σ exactly, by rejection from the density whose logarithm is linear
// between points of a finer grid.
type interpolation struct {
	*Posterior
	points, values []float64
	mass           pick.Table // of the cells between points
	slack          float64    // largest excess of the log density over its interpolation
}

// scaleFine is the number of intervals of the interpolation in one interval of the quadrature,
// which is half a standard deviation. The interpolation is then within about 0.001 of the log
// density. With drawnFine intervals, draws from a model with few of them take less work, and one
// draw in a hundred is rejected.
const scaleFine, drawnFine = 8, 2

// interpolate interpolates with the given number of intervals in one interval of the quadrature.
func (p *Posterior) interpolate(intervals int) *interpolation {
	s := &interpolation{Posterior: p}
	step := p.step / float64(intervals)
	add := func(x float64) { s.points, s.values = append(s.points, x), append(s.values, p.logJoint(x)) }
	for i, x := range p.logSigmas {
		if i == 0 || x > p.logSigmas[i-1]+1.5*p.step { // a run of points begins one step earlier
			for k := intervals; k > 0; k-- {
				add(x - float64(k)*step)
			}
		}
		for k := range intervals {
			add(x + float64(k)*step)
		}
	}
	add(p.logSigmas[len(p.logSigmas)-1] + p.step)
	cells := make([]float64, len(s.points)-1)
	for i := range cells {
		cells[i] = s.cell(i)
		if i == 0 {
			continue
		}
		even := s.points[i+1]-s.points[i] < 1.5*step && s.points[i]-s.points[i-1] < 1.5*step
		if bend := s.values[i+1] - 2*s.values[i] + s.values[i-1]; even && s.values[i] > p.logEvidence-scaleDepth {
			s.slack = max(s.slack, -bend/8) // of a parabola above its chord
		}
	}
	s.slack *= 1.5 // a parabola is an approximation
	s.mass = pick.NewTable(cells)
	return s
}

// cell returns the mass between points i and i+1 under the interpolation.
func (s *interpolation) cell(i int) float64 {
	width, low := s.points[i+1]-s.points[i], s.values[i]-s.logEvidence
	if rise := s.values[i+1] - s.values[i]; math.Abs(rise) > 1e-9 {
		return width * math.Exp(low) * math.Expm1(rise) / rise
	}
	return width * math.Exp(low)
}

// draw returns a draw of log σ and its log posterior density.
func (s *interpolation) draw(random *rand.Rand) (logSigma, logDensity float64) {
	for {
		i, share := s.mass.Index(random.Float64()), random.Float64()
		rise := s.values[i+1] - s.values[i]
		if math.Abs(rise) > 1e-9 {
			share = math.Log1p(share*math.Expm1(rise)) / rise
		}
		x := s.points[i] + share*(s.points[i+1]-s.points[i])
		value := s.logJoint(x)
		if math.Log(1-random.Float64()) <= value-(s.values[i]+share*rise)-s.slack {
			return x, value - s.logEvidence
		}
	}
}
