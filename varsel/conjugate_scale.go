package varsel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/logsum"
)

// scalePosterior is the posterior of x = log σ of one model, by the trapezoid rule: for functions
// that are analytic and vanish at both ends it converges faster than any power of the step.
type scalePosterior struct {
	logDensity  func(x float64) float64 // log p(y, x | m)
	points      []float64               // equally spaced in each run of them
	values      []float64               // logDensity at the points
	step        float64
	logEvidence float64
}

const (
	// scaleDepth is how far below its peak, in nats, the posterior is followed: e^-38 is 3e-17.
	scaleDepth = 38
	// scaleReach bounds the distance of log σ from its prior mean: e^±300 can still be squared.
	scaleReach = 300
	// scaleCoarse is the spacing of the search for peaks. The terms of the log density change over
	// distances of ½ or more, so no peak of theirs falls between two points that both see nothing
	// of it.
	scaleCoarse = 0.25
)

// newScalePosterior integrates the evidence of a model over log σ ~ N(mean, sd²), in steps as
// those of logSigmaGrid.
func newScalePosterior(m *conjugate, mean, sd float64) (*scalePosterior, error) {
	p := &scalePosterior{step: logSigmaStep(m.rows, sd)}
	p.logDensity = func(x float64) float64 {
		standard := (x - mean) / sd
		return m.logEvidence(x) - standard*standard/2 - math.Log(sd) - halfLog2Pi
	}
	// No peak lies beyond these. Three below the logarithm of the residuals' scale the log density
	// rises by e⁶ − 1 for each row, more than the prior can take back within scaleReach. Above the
	// scale of the response its terms change by less than e⁻⁶ for each row, and above the prior
	// mean the prior falls.
	low := max(math.Log(m.residual/float64(m.rows))/2, mean-scaleReach) - 3
	high := max(min(math.Log(m.size/float64(m.rows))/2, mean+scaleReach)+3, mean) + 3
	coarse := p.coarse(low, high)
	best := math.Inf(-1)
	var peaks []float64
	for i, value := range coarse {
		if (i == 0 || coarse[i-1] <= value) && (i == len(coarse)-1 || coarse[i+1] <= value) {
			at, top := p.climb(low + float64(i)*scaleCoarse)
			peaks, best = append(peaks, at), max(best, top)
		}
	}
	if math.IsNaN(best) || math.IsInf(best, 0) {
		return nil, errors.New("the density of log σ is not finite")
	}
	slices.Sort(peaks)
	for _, peak := range peaks {
		if len(p.points) > 0 && peak <= p.points[len(p.points)-1] {
			continue // on the way down from another
		}
		if err := p.follow(peak, best-scaleDepth); err != nil {
			return nil, err
		}
	}
	p.logEvidence = logsum.Of(p.values) + math.Log(p.step)
	return p, nil
}

// coarse evaluates the log density from low to high.
func (p *scalePosterior) coarse(low, high float64) (values []float64) {
	for i := 0; low+float64(i)*scaleCoarse <= high; i++ {
		values = append(values, p.logDensity(low+float64(i)*scaleCoarse))
	}
	return values
}

// climb returns the peak next to a point, by golden sections of the interval around it.
func (p *scalePosterior) climb(near float64) (at, value float64) {
	const ratio = 0.6180339887498949
	low, high := near-scaleCoarse, near+scaleCoarse
	a, b := high-ratio*(high-low), low+ratio*(high-low)
	fa, fb := p.logDensity(a), p.logDensity(b)
	for high-low > p.step/8 {
		if fa > fb {
			high, b, fb = b, a, fa
			a = high - ratio*(high-low)
			fa = p.logDensity(a)
		} else {
			low, a, fa = a, b, fb
			b = low + ratio*(high-low)
			fb = p.logDensity(b)
		}
	}
	return a, max(fa, fb)
}

// follow adds the points around a peak where the log density is above a floor. Those of several
// peaks that meet are those of one grid.
func (p *scalePosterior) follow(peak, floor float64) error {
	before := math.Inf(-1) // the last point of the peak before
	if len(p.points) > 0 {
		before = p.points[len(p.points)-1]
		peak = before + p.step*math.Ceil((peak-before)/p.step)
	}
	// walk adds points from x on, and reports whether the density vanished.
	walk := func(x, step float64) bool {
		const most = 1 << 16
		for range most {
			value := p.logDensity(x)
			if value <= floor || x <= before+p.step/2 {
				return true
			}
			p.points, p.values = append(p.points, x), append(p.values, value)
			x += step
		}
		return false
	}
	start := len(p.points)
	vanished := walk(peak-p.step, -p.step)
	slices.Reverse(p.points[start:])
	slices.Reverse(p.values[start:])
	if !walk(peak, p.step) || !vanished {
		return errors.New("the density of log σ does not vanish")
	}
	return nil
}

// sampler draws log σ exactly, by rejection from the density whose logarithm is linear between
// points of a finer grid.
type scaleSampler struct {
	*scalePosterior
	points, values []float64
	cumulative     []float64 // of the mass left of each point, largest 1
	slack          float64   // of the log density above its interpolation
}

// scaleFine is the number of intervals in one of the quadrature: the interpolation is then within
// about 0.001 of the log density, and one draw in a thousand is rejected.
const scaleFine = 8

func (p *scalePosterior) sampler() *scaleSampler {
	s := &scaleSampler{scalePosterior: p}
	step := p.step / scaleFine
	for i, x := range p.points {
		if i == 0 || x > p.points[i-1]+1.5*p.step { // a run of points begins one step earlier
			for k := scaleFine; k > 0; k-- {
				s.add(x - float64(k)*step)
			}
		}
		for k := range scaleFine {
			s.add(x + float64(k)*step)
		}
	}
	s.add(p.points[len(p.points)-1] + p.step)
	s.cumulative = make([]float64, len(s.points))
	for i := 1; i < len(s.points); i++ {
		s.cumulative[i] = s.cumulative[i-1] + s.cell(i)
		if i+1 < len(s.points) {
			bend := s.values[i+1] - 2*s.values[i] + s.values[i-1]
			if even := s.points[i+1]-s.points[i] < 1.5*step && s.points[i]-s.points[i-1] < 1.5*step; even && s.values[i] > p.logEvidence-scaleDepth {
				s.slack = max(s.slack, -bend/8) // of a parabola above its chord
			}
		}
	}
	s.slack *= 1.5 // a parabola is an approximation
	total := s.cumulative[len(s.cumulative)-1]
	for i := range s.cumulative {
		s.cumulative[i] /= total
	}
	return s
}

func (s *scaleSampler) add(x float64) {
	s.points, s.values = append(s.points, x), append(s.values, s.logDensity(x))
}

// cell is the mass between points i−1 and i under the interpolation.
func (s *scaleSampler) cell(i int) float64 {
	width := s.points[i] - s.points[i-1]
	low, high := s.values[i-1]-s.logEvidence, s.values[i]-s.logEvidence
	if rise := high - low; math.Abs(rise) > 1e-9 {
		return width * math.Exp(low) * math.Expm1(rise) / rise
	}
	return width * math.Exp(low)
}

// draw returns a draw of log σ and its log posterior density.
func (s *scaleSampler) draw(random *rand.Rand) (logSigma, logDensity float64) {
	for {
		u := random.Float64()
		i, _ := slices.BinarySearch(s.cumulative, u)
		i = min(max(i, 1), len(s.points)-1)
		share := (u - s.cumulative[i-1]) / (s.cumulative[i] - s.cumulative[i-1])
		rise := s.values[i] - s.values[i-1]
		if math.Abs(rise) > 1e-9 {
			share = math.Log1p(share*math.Expm1(rise)) / rise
		}
		x := s.points[i-1] + share*(s.points[i]-s.points[i-1])
		value := s.logDensity(x)
		if math.Log(1-random.Float64()) <= value-(s.values[i-1]+share*rise)-s.slack {
			return x, value - s.logEvidence
		}
	}
}
