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
	// If SD is zero, Log is the known log σ. Otherwise log σ ~ N(Mean, SD²).
	Log, Mean, SD float64
}

// logDensity returns the log prior density of log σ.
func (n Noise) logDensity(logSigma float64) float64 {
	z := (logSigma - n.Mean) / n.SD
	return -z*z/2 - math.Log(n.SD) - halfLog2Pi
}

// leastSD returns the smallest standard deviation that the posterior of log σ can have, given the
// number of rows and the prior.
func leastSD(rows float64, n Noise) float64 { return 1 / math.Sqrt(2*rows+1/(n.SD*n.SD)) }

// Posterior is the joint posterior of the coefficients of a model and its noise scale.
type Posterior struct {
	*Model
	noise       Noise
	logEvidence float64
	// logSigmas are equidistant values of log σ, a step apart, and shares their posterior
	// probabilities, which sum to one. If log σ is known it is the only value.
	logSigmas, shares []float64
	step              float64
	fine              *interpolation // to draw log σ from; nil before the first draw
}

const (
	// scaleReach bounds the distance of log σ from its prior mean; e^±600 is a float64 number.
	scaleReach = 300
	// scaleCoarse is the step of the search for peaks of the density of log σ. The density changes
	// over distances of ½ or more, so that no peak is hidden between two points.
	scaleCoarse = 0.25
	// scaleDepth is the number of nats below the peak where the posterior is cut off: e^-38 =
	// 3e-17.
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

// normalise divides shares by their sum, which leaves a smaller rounding error than division by the
// evidence.
func (p *Posterior) normalise() { floats.Scale(1/floats.Sum(p.shares), p.shares) }

// posteriorAt returns the same as Posterior, from nodes that are known to resolve the integral.
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

// bounds returns limits of log σ between which all peaks of its density lie. At the lower limit, 3
// below the log of the residuals' scale, the slope of the log likelihood is at least e⁶ − 1 for
// each row, and the slope of the prior within scaleReach of its mean cannot outweigh it. Above the
// scale of the response the positive terms of the slope are below e⁻⁶ for each row, and above its
// mean the prior falls. Each limit is then moved inward, in steps of scaleCoarse, as long as the
// slope cannot change its sign outside: with q singular values and n rows it is at least ρ²/σ² − n,
// and at most |r|²/σ² − n + q, plus the slope of the prior.
func (p *Posterior) bounds() (low, high float64) {
	m, noise, rows := p.Model, p.noise, float64(p.rows)
	low = max(math.Log(m.residual/rows)/2, noise.Mean-scaleReach) - 3
	high = max(min(math.Log(m.size/rows)/2, noise.Mean+scaleReach)+3, noise.Mean) + 3
	// slope is squares/σ² − count plus the slope of the prior at log σ = x; it falls with x
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

// lattice returns the nodes of the integral over log σ. If there is one peak they start at the
// peak, in steps of half the least standard deviation, with which the sums over all nodes and over
// every second node agree to 1e-6. Otherwise they cover all possible peaks.
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

// Evidence returns log p(y | m), the same number as [Posterior.LogEvidence] up to rounding. It uses
// only the nodes that the integral over log σ needs, without the additional nodes for draws.
func (m *Model) Evidence(noise Noise) (float64, error) {
	if noise.SD == 0 {
		return m.LogEvidence(noise.Log), nil
	}
	p := &Posterior{Model: m, noise: noise}
	o := p.lattice()
	if o.From != o.To { // several peaks
		return m.integratedEvidence(noise)
	}
	// A prior whose mean is below the scale of the residuals narrows the posterior of log σ like
	// further rows: at the peak, squares/σ² is at most n minus the (negative) slope of the prior.
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
	return m.integratedEvidence(noise) // or the error, if the density is not finite
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
	for range 4 { // Newton's method with finite differences
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

// interpolation draws log σ exactly, by rejection from a density whose logarithm is linear between
// the points of a fine grid.
type interpolation struct {
	*Posterior
	points, values []float64
	mass           pick.Table // probabilities of the intervals between points
	slack          float64    // largest excess of the log density over its interpolation
}

// scaleFine and drawnFine are numbers of intervals of the interpolation in one interval of the
// quadrature, which is half a standard deviation. With scaleFine the interpolation is within about
// 0.001 of the log density. With drawnFine fewer densities are computed, which suits few draws, and
// one draw in a hundred is rejected.
const scaleFine, drawnFine = 8, 2

// interpolate divides each interval of the quadrature into the given number of intervals.
func (p *Posterior) interpolate(intervals int) *interpolation {
	s := &interpolation{Posterior: p}
	step := p.step / float64(intervals)
	add := func(x float64) { s.points, s.values = append(s.points, x), append(s.values, p.logJoint(x)) }
	for i, x := range p.logSigmas {
		if i == 0 || x > p.logSigmas[i-1]+1.5*p.step { // points start one step before each run of nodes
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
			s.slack = max(s.slack, -bend/8) // height of a parabola above its chord
		}
	}
	s.slack *= 1.5 // since the log density is not quite a parabola
	s.mass = pick.NewTable(cells)
	return s
}

// cell returns the probability of the interval between points i and i+1 under the interpolation.
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
