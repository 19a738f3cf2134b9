package changepoint

import (
	"cmp"
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/run"
)

// Priors on the working scale, where a series has mean 0 and sd 1; all chosen by hand.
const (
	// The common noise of levels and lines: log σ ~ N(log noiseMedian, noiseSD²), so that with 95
	// percent it is between a fortieth of the sd of the series and ten of them.
	noiseMedian, noiseSD = 0.5, 1.5
	// Variances have the prior of one earlier observation of a tenth of the variance.
	varianceShape, varianceScale = 0.5, 0.05
	// levelWeight is κ: a level with a variance of its own has a prior sd of ten of its sds.
	levelWeight = 0.01
	// slopeSD is the prior sd of a slope per length of the series. A line through the whole series
	// has at most √12.
	slopeSD = 10
)

// node is a value of the parameter that all segments share, with the sums given it.
type node struct {
	shared    float64
	family    family // of rows; nil for events
	recursion *recursion
	logPrior  float64 // density of the shared parameter; 0 where there is none
	// logPrior + log p(data | shared)
	logDensity float64
	// logWeight is logPrior with the weight of the quadrature.
	logWeight float64
}

// logPriorCount is log p(k), truncated and normalised.
func (p *Problem) logPriorCount() []float64 {
	logs := make([]float64, p.Options.MaxChanges+1)
	for k := range logs {
		logs[k] = float64(k)*math.Log(p.Options.MeanChanges) - logFactorial(k)
	}
	total := logsum.Of(logs)
	for k := range logs {
		logs[k] -= total
	}
	return logs
}

// unitTimes are the times of the rows in units of the length of the series.
func (p *Problem) unitTimes() []float64 {
	from, to := p.window()
	u := make([]float64, len(p.times))
	for i, t := range p.times {
		u[i] = (t - from) / (to - from)
	}
	return u
}

// lattice is the quadrature over a shared parameter: equally spaced nodes around the mode of the
// density, whose sum converges faster than any power of their distance (the trapezoidal rule).
type lattice struct {
	problem  *Problem
	logPrior func(x float64) float64
	family   func(x float64) family
	origin   float64
	step     float64
	low      int // first allowed index
	nodes    map[int]*node
	// where modes may be, and, after a scan, where those are that matter
	from, to float64
	modes    [2]float64
}

// evaluate makes the nodes of the indices, on all processors.
func (l *lattice) evaluate(ctx gocontext.Context, indices ...int) error {
	var missing []*node
	for _, i := range indices {
		if l.nodes[i] == nil && i >= l.low {
			l.nodes[i] = &node{shared: l.origin + float64(i)*l.step}
			missing = append(missing, l.nodes[i])
		}
	}
	counts := l.problem.logPriorCount()
	return parallel.Do(len(missing), func(k int) (err error) {
		n := missing[k]
		n.family = l.family(n.shared)
		n.recursion, err = newRecursion(ctx, l.problem.rows(n.family), l.problem.Options.MaxChanges)
		if err != nil {
			return err
		}
		n.logPrior = l.logPrior(n.shared)
		n.logDensity = n.logPrior + logDot(n.recursion.logEvidence, counts)
		return nil
	})
}

func (p *Problem) rows(f family) rows {
	return rows{family: f, count: len(p.y), shortest: p.Options.Shortest, even: p.Options.Places == Spaced}
}

// best is the index of the densest node.
func (l *lattice) best() int {
	at, found := 0, false
	for i, n := range l.nodes {
		if !found || n.logDensity > l.nodes[at].logDensity || n.logDensity == l.nodes[at].logDensity && i < at {
			at, found = i, true
		}
	}
	return at
}

// Constants of the quadrature, chosen by hand.
const (
	// tailNats is how far below the maximum the lattice ends.
	tailNats = 25
	// quadratureError is the difference of the log integral to that of every second node that is
	// good enough; the error of all nodes is about its square.
	quadratureError = 0.003
	// mostNodes stops a quadrature that does not converge.
	mostNodes = 400
)

// errNoNoise says that rows within segments do not differ.
var errNoNoise = errors.New("the rows of each segment are equal up to rounding, so that there is no noise to speak of: want values with noise, or counts with --model rate")

// scanDistance is the distance of the points of the search for modes, at least scanPoints where the
// range is short. Chosen by hand.
const scanDistance, scanPoints = 0.3, 12

// scan looks for modes wherever they may be, as those of a series in which either nearly all rows
// are noise or every few of them are a segment, and moves the origin to the densest.
func (l *lattice) scan(ctx gocontext.Context) error {
	lowest := math.Inf(-1)
	if l.low != math.MinInt32 {
		lowest = l.origin + float64(l.low)*l.step
	}
	search := *l
	search.step, search.low, search.nodes = math.Min(scanDistance, (l.to-l.from)/scanPoints), math.MinInt32, map[int]*node{}
	var indices []int
	for i := int(math.Ceil((l.from - l.origin) / search.step)); l.origin+float64(i)*search.step <= l.to; i++ {
		if l.origin+float64(i)*search.step >= lowest {
			indices = append(indices, i)
		}
	}
	if !slices.Contains(indices, 0) {
		indices = append(indices, 0)
	}
	if err := search.evaluate(ctx, indices...); err != nil {
		return err
	}
	var peaks []*node
	for i, n := range search.nodes {
		if search.densityAt(i-1) > n.logDensity || search.densityAt(i+1) > n.logDensity {
			continue
		}
		peak, err := search.climb(ctx, n, l.step, lowest)
		if err != nil {
			return err
		}
		peaks = append(peaks, peak)
	}
	slices.SortFunc(peaks, func(a, b *node) int { return cmp.Compare(b.logDensity, a.logDensity) })
	moved := peaks[0].shared
	l.modes = [2]float64{moved, moved}
	for _, peak := range peaks {
		if peak.logDensity > peaks[0].logDensity-tailNats {
			l.modes[0], l.modes[1] = math.Min(l.modes[0], peak.shared), math.Max(l.modes[1], peak.shared)
		}
	}
	if l.low != math.MinInt32 {
		l.low += int(math.Ceil((l.origin - moved) / l.step))
	}
	l.origin = moved
	return l.evaluate(ctx, 0)
}

// densityAt is the log density of a node, −Inf where there is none.
func (l *lattice) densityAt(index int) float64 {
	if n := l.nodes[index]; n != nil {
		return n.logDensity
	}
	return math.Inf(-1)
}

// climb halves the distance to the neighbours of a node, and goes to the densest, until it is a
// step.
func (l *lattice) climb(ctx gocontext.Context, n *node, step, lowest float64) (*node, error) {
	near := *l
	for near.step > step {
		near.step, near.origin, near.nodes = near.step/2, n.shared, map[int]*node{0: n}
		near.low = -1
		if n.shared-near.step < lowest {
			near.low = 0
		}
		if err := near.evaluate(ctx, -1, 1); err != nil {
			return nil, err
		}
		n = near.nodes[near.best()]
	}
	return n, nil
}

// integrate extends and refines the lattice until its sum has converged.
func (l *lattice) integrate(ctx gocontext.Context) ([]*node, error) {
	for {
		best := l.best()
		if best == l.low {
			return nil, &run.Unanswerable{Err: fmt.Errorf("%s: column %q: %w", l.problem.Path, l.problem.Options.Value, errNoNoise)}
		}
		top := l.nodes[best].logDensity
		low, high := slices.Min(keys(l.nodes)), slices.Max(keys(l.nodes))
		var more []int
		if low > l.low && (l.nodes[low].logDensity > top-tailNats || low == best || l.nodes[low].shared > l.modes[0]) {
			more = append(more, low-1)
		}
		if l.nodes[high].logDensity > top-tailNats || high == best || l.nodes[high].shared < l.modes[1] {
			more = append(more, high+1)
		}
		if len(more) > 0 {
			if err := l.evaluate(ctx, more...); err != nil {
				return nil, err
			}
		} else if fine, coarse := l.sum(1), l.sum(2); math.Abs(fine-coarse) < quadratureError {
			return l.list(), nil
		} else if err := l.refine(ctx); err != nil {
			return nil, err
		}
		if len(l.nodes) > mostNodes {
			return nil, errors.New("the integral over the parameter that all segments share did not converge")
		}
	}
}

func keys(nodes map[int]*node) (list []int) {
	for i := range nodes {
		list = append(list, i)
	}
	return list
}

// sum is the log integral by every stride-th node.
func (l *lattice) sum(stride int) float64 {
	total := math.Inf(-1)
	at := keys(l.nodes)
	slices.Sort(at)
	for _, i := range at {
		if i%stride == 0 {
			total = logsum.Add(total, l.nodes[i].logDensity+math.Log(l.step*float64(stride)))
		}
	}
	return total
}

// refine halves the step.
func (l *lattice) refine(ctx gocontext.Context) error {
	finer := map[int]*node{}
	for i, n := range l.nodes {
		finer[2*i] = n
	}
	low, high := slices.Min(keys(finer)), slices.Max(keys(finer))
	l.nodes, l.step, l.low = finer, l.step/2, 2*l.low
	var between []int
	for i := low + 1; i < high; i += 2 {
		between = append(between, i)
	}
	return l.evaluate(ctx, between...)
}

// list is the nodes in order, with their weights.
func (l *lattice) list() (list []*node) {
	at := keys(l.nodes)
	slices.Sort(at)
	for _, i := range at {
		n := l.nodes[i]
		n.logWeight = n.logPrior + math.Log(l.step)
		list = append(list, n)
	}
	return list
}

// noiseLattice is the quadrature over log σ of levels and lines.
func (p *Problem) noiseLattice(s *sums) *lattice {
	prior := distuv.Normal{Mu: math.Log(noiseMedian), Sigma: noiseSD}
	// values that are rounded cannot show less noise than that of rounding
	lowest := math.Log(p.resolution / math.Sqrt(12))
	logNorm := math.Log(prior.Survival(lowest))
	differences := make([]float64, len(p.y)-1)
	for i := range differences {
		differences[i] = math.Abs(p.y[i+1] - p.y[i])
	}
	slices.Sort(differences)
	// The median absolute difference of two normal numbers is 0.6745 √2 σ.
	start := math.Log(math.Max(stat.Quantile(0.5, stat.Empirical, differences, nil), p.resolution) / (0.6745 * math.Sqrt2))
	start = math.Max(math.Min(start, 0), lowest+0.1)
	l := &lattice{
		problem: p, from: math.Max(lowest, math.Min(p.leastNoise(), start-3)), to: math.Max(start, 0) + scanDistance,
		origin: start, step: 0.7 / math.Sqrt(2*float64(len(p.y))), nodes: map[int]*node{},
		logPrior: func(x float64) float64 { return prior.LogProb(x) - logNorm },
		family: func(x float64) family {
			levels := means{s, math.Exp(x), p.Options.LevelSD}
			if p.Options.Kind == Slope {
				return slopes{levels, slopeSD}
			}
			return levels
		},
	}
	l.low = int(math.Ceil((lowest - start) / l.step))
	return l
}

// leastNoise is a bound of the log noise of levels and lines at a mode: beside the most changes,
// second differences of rows are noise alone, √6 σ. Where changes may leave none it is six prior
// standard deviations below the prior median.
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

// meanLattice is the quadrature over the common mean of variances.
func (p *Problem) meanLattice(s *sums) *lattice {
	prior := distuv.Normal{Mu: 0, Sigma: 1}
	middle := stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(p.y)), nil)
	const farthest = 4 // prior standard deviations
	return &lattice{
		problem: p, from: math.Max(slices.Min(p.y), -farthest), to: math.Min(slices.Max(p.y), farthest),
		origin: middle, step: 0.5 / math.Sqrt(float64(len(p.y))), nodes: map[int]*node{}, low: math.MinInt32,
		logPrior: prior.LogProb,
		family:   func(x float64) family { return variances{s, x, varianceShape, varianceScale} },
	}
}
