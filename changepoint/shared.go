package changepoint

import (
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/run"
)

// The priors are vague. They are on the working scale, on which a series has mean 0 and standard
// deviation 1.
const (
	// noiseMedian and noiseSD set the prior of the common standard deviation σ of the noise, log σ
	// ~ N(log noiseMedian, noiseSD²). Its central 95 percent reach from a fortieth to ten times the
	// standard deviation of the series.
	noiseMedian, noiseSD = 0.5, 1.5
	// varianceShape and varianceScale set the prior of variances, which is worth one observation
	// whose squared deviation is a tenth of the series' variance.
	varianceShape, varianceScale = 0.5, 0.05
	// levelWeight is κ in the prior N(0, σ²/κ) of the level of a segment with variance σ², if each
	// segment has a separate variance. The prior standard deviation of the level is 10σ.
	levelWeight = 0.01
	// slopeSD is the prior standard deviation of a slope, the change of the mean over the length of
	// the series. A line through the whole series has a slope of at most √12.
	slopeSD = 10
)

// node is a value of the shared parameter, with the sums over places given this value.
type node struct {
	shared    float64
	recursion *recursion
	logPrior  float64 // log prior density of the shared parameter; 0 if none is shared
	// logWeight is logPrior plus the log weight of the node in the quadrature.
	logWeight float64
}

// logPriorCount returns log p(k), truncated and normalised.
func (p *Problem) logPriorCount() []float64 {
	logs := apply.UpTo(p.Options.MaxChanges+1, func(k int) float64 { return float64(k)*math.Log(p.Options.MeanChanges) - logFactorial(k) })
	floats.AddConst(-logsum.Of(logs), logs)
	return logs
}

// unitTimes returns the times of the rows in units of the length of the series.
func (p *Problem) unitTimes() []float64 {
	from, to := p.window()
	return apply.To(p.times, func(t float64) float64 { return (t - from) / (to - from) })
}

// shared describes a parameter of all segments: its log prior density, the family of the rows given
// its value, and the settings of the integral over its values.
type shared struct {
	logPrior func(x float64) float64
	family   func(x float64) family
	where    line.Options
}

// Constants of the quadrature over the shared parameter.
const (
	// tailNats is the depth below the maximum, in nats, at which a log density is negligible.
	tailNats = 25
	// quadratureError is the accepted difference, in nats, between the log integrals over all nodes
	// and over every second node. The error of the sum over all nodes is about the square of this
	// difference.
	quadratureError = 0.003
	// mostNodes is the number of nodes at which a quadrature that does not converge stops.
	mostNodes = 400
	// scanDistance is the distance between neighbouring points of the first search for modes, in
	// units of the shared parameter. In a short range it is the length of the range divided by
	// scanPoints. The density may have two modes: one where nearly all variation is noise, and one
	// where every few rows are a segment.
	scanDistance, scanPoints = 0.3, 12
)

// between returns the settings of a search for modes, and of the integral around them, in a range.
func between(from, to float64) line.Options {
	return line.Options{
		From: from, To: to, Step: math.Min(scanDistance, (to-from)/scanPoints), Low: math.Inf(-1), High: math.Inf(1),
		Depth: tailNats, Tolerance: quadratureError, Most: mostNodes, Parallel: true,
	}
}

// errNoNoise means that the rows within each segment do not differ.
var errNoNoise = errors.New("the rows of each segment are equal up to rounding, so that there is no noise to speak of: want values with noise, or counts with --model rate")

// integrate returns the nodes of the integral over a shared parameter, in ascending order. It
// returns an error if the density is largest near the lower end of the range: within the usual
// distance of two nodes.
func (p *Problem) integrate(ctx gocontext.Context, s shared) ([]*node, error) {
	var lock sync.Mutex
	counts, top, topShared := p.logPriorCount(), math.Inf(-1), 0.0
	integral, err := line.Integrate(s.where, func(x float64) (float64, *node, error) {
		n := &node{shared: x, logPrior: s.logPrior(x)}
		var err error
		if n.recursion, err = newRecursion(ctx, p.rows(s.family(x)), p.Options.MaxChanges); err != nil {
			return 0, nil, err
		}
		logDensity := n.logPrior + logDot(n.recursion.logEvidence, counts)
		lock.Lock()
		defer lock.Unlock()
		if logDensity > top {
			top, topShared = logDensity, x
		}
		return logDensity, n, nil
	})
	if topShared < s.where.Low+0.7/math.Sqrt(2*float64(len(p.y))) {
		return nil, &run.Unanswerable{Err: fmt.Errorf("%s: column %q: %w", p.Path, p.Options.Value, errNoNoise)}
	}
	if err != nil {
		return nil, err
	}
	nodes := make([]*node, len(integral.Nodes))
	for i, kept := range integral.Nodes {
		nodes[i] = kept.Given
		nodes[i].logWeight = kept.Given.logPrior + math.Log(integral.Step)
	}
	return nodes, nil
}

func (p *Problem) rows(f family) rows {
	return rows{family: f, count: len(p.y), shortest: p.Options.Shortest, even: p.Options.Places == Spaced}
}

// noise describes the shared parameter log σ of segments with a level or a line, where σ is the
// standard deviation of the noise.
func (p *Problem) noise(s *sums) shared {
	prior := distuv.Normal{Mu: math.Log(noiseMedian), Sigma: noiseSD}
	// Rounded values cannot show less noise than the rounding errors.
	lowest := math.Log(p.resolution / math.Sqrt(12))
	logNorm := math.Log(prior.Survival(lowest))
	differences := apply.UpTo(len(p.y)-1, func(i int) float64 { return math.Abs(p.y[i+1] - p.y[i]) })
	slices.Sort(differences)
	// The median absolute difference of two normal numbers is 0.6745 √2 σ.
	start := math.Log(math.Max(stat.Quantile(0.5, stat.Empirical, differences, nil), p.resolution) / (0.6745 * math.Sqrt2))
	start = math.Max(math.Min(start, 0), lowest+0.1)
	out := shared{
		where:    between(math.Max(lowest, math.Min(p.leastNoise(), start-3)), math.Max(start, 0)+scanDistance),
		logPrior: func(x float64) float64 { return prior.LogProb(x) - logNorm },
		family: func(x float64) family {
			levels := newMeans(s, math.Exp(x), p.Options.LevelSD)
			if p.Options.Kind == Slope {
				return slopes{levels, slopeSD}
			}
			return levels
		},
	}
	out.where.Low = lowest
	return out
}

// leastNoise returns a lower bound of log σ at a mode, for segments with a level or a line. Second
// differences of rows that no change affects are noise with standard deviation √6 σ. If MaxChanges
// changes may affect all second differences, the bound is six prior standard deviations below the
// prior median.
func (p *Problem) leastNoise() float64 {
	var squares []float64
	for i := 2; i < len(p.y); i++ {
		second := p.y[i] - 2*p.y[i-1] + p.y[i-2]
		squares = append(squares, second*second)
	}
	slices.Sort(squares)
	least := math.Log(noiseMedian) - 6*noiseSD
	if left := len(squares) - 2*p.Options.MaxChanges; left > 0 {
		least = math.Max(least, math.Log(stat.Mean(squares[:left], nil)/6)/2-1)
	}
	return least
}

func (p *Problem) commonMean(s *sums) shared {
	const farthest = 4 // largest distance of the mean from 0, in prior standard deviations
	return shared{
		where:    between(math.Max(slices.Min(p.y), -farthest), math.Min(slices.Max(p.y), farthest)),
		logPrior: distuv.UnitNormal.LogProb,
		family:   func(x float64) family { return variances{s, x, varianceShape, varianceScale} },
	}
}
