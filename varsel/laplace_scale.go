package varsel

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/varsel/regression"
)

// laplaceLine approximates the posterior of a model whose response has a second parameter s: a
// shape, precision or dispersion. Given s, the likelihood is log-concave. The density of x = log s
// comes from Laplace's method for the coefficients given x, at the nodes of a lattice, and is
// linear between nodes (a nested approximation, as in Rue, Martino and Chopin 2009). The mode of
// the coefficients given x is interpolated linearly between nodes too. The deviation of a draw from
// this mode comes from the approximation at one of the two nodes next to x.
//
// A Laplace approximation at the joint mode would fail. If the number of coefficients is close to
// the number of uncensored rows, the posterior is a ridge along x, whose end depends only on the
// prior of x. Across the ridge, each row confines its linear predictor to a width in proportion to
// 1/s; within these walls the posterior equals the prior.
type laplaceLine struct {
	*line.Integral[*laplaceFit]
	shares   []float64 // probabilities of the nodes
	table    pick.Table
	fits     []*splitFit // approximation given x at each node; nil before it is first drawn from
	uneven   bool        // whether the two sides of a mode have different scales
	lastFit  laplaceFit  // approximation at the x of the last draw
	step     []float64   // scratch
	mean, sd float64     // mean and sd of the normal prior of x
}

// lineReach is the range of the search for modes of x, on each side of its prior mean. lineStep is
// the step of the search, and lineStepOfFew the step for at most fewLineRows rows. All three are in
// standard deviations of the prior of x. lineDepth, lineTolerance and mostLineNodes are options of
// [line.Integrate]. Finer settings cost time; the weights of draws correct the remaining error.
// With few rows, posteriors have the widest ridges and take little time, so that the steps are
// finer. The two sides of a mode get different scales if there are at most fewEvents positive
// responses (uncensored times, counts above 0) for each coefficient, or if the approximation at the
// node of highest density has a side whose scale, in standard deviations, is above roundScale. A
// node whose weight is more than spreadDepth nats below the largest counts with the scales of the
// nearest node above this depth.
const (
	lineReach, lineStep, lineStepOfFew = 4.0, 0.5, 0.25
	lineDepth, lineTolerance           = 25, 0.05
	mostLineNodes                      = 2000
	fewLineRows                        = 200
	fewEvents                          = 4
	roundScale                         = 1.15
	spreadDepth                        = 12
)

// firstOfRidge is the number of draws for the first estimate of an evidence. Where the posterior is
// a narrow ridge, a third of the draws is effective, with a few large weights, and the engine's
// default of 8 draws may miss these.
const firstOfRidge = 64

// newLaplaceLine finds the mode of the coefficients along x, the log of the second parameter. The
// argument a holds the coordinates of the coefficients, without x.
func newLaplaceLine(t *Target, a regression.Active) (*laplaceLine, error) {
	l := &laplaceLine{mean: t.Mean[t.Scale], sd: t.SD[t.Scale]}
	step := lineStep
	if len(t.Responses.Y) <= fewLineRows {
		step = lineStepOfFew
	}
	var found []line.Node[*laplaceFit]
	integral, err := line.Integrate(line.Options{
		From: l.mean - lineReach*l.sd, To: l.mean + lineReach*l.sd, Step: step * l.sd,
		Depth: lineDepth, Tolerance: lineTolerance, Most: mostLineNodes,
	}, func(x float64) (float64, *laplaceFit, error) {
		start, nearest := a.Mean, math.Inf(1)
		for _, node := range found {
			if d := math.Abs(node.X - x); d < nearest {
				start, nearest = node.Given.mode, d
			}
		}
		f, err := newLaplaceFit(t, a, math.Exp(x), start)
		if err != nil {
			if math.Abs(x-l.mean) > lineReach*l.sd { // rounding errors at an extreme scale, outside the range of the search
				return math.Inf(-1), nil, nil
			}
			return 0, nil, err
		}
		found = append(found, line.Node[*laplaceFit]{X: x, Given: f})
		return f.logIntegral() + l.logPrior(x), f, nil
	})
	if err != nil {
		return nil, err
	}
	l.Integral, l.lastFit, l.step = integral, *integral.Nodes[0].Given, make([]float64, len(a.Coordinates))
	l.lastFit.mode = make([]float64, len(a.Coordinates))
	events := len(apply.Where(len(t.Responses.Y), func(i int) bool { return t.Responses.Y[i] > 0 }))
	l.share(events <= fewEvents*len(a.Coordinates))
	return l, nil
}

// share sets the probabilities of the nodes. If the two sides of a mode get different scales, it
// corrects the integral over the coefficients at each node for this. The argument few says whether
// there are few positive responses.
func (l *laplaceLine) share(few bool) {
	logs := apply.To(l.Nodes, func(node line.Node[*laplaceFit]) float64 { return node.LogWeight })
	top := floats.MaxIdx(logs)
	l.fits = make([]*splitFit, len(logs))
	l.fits[top] = l.Nodes[top].Given.splitAlong(true)
	if sides := slices.Concat(l.fits[top].above, l.fits[top].below); len(sides) > 0 {
		l.uneven = few || slices.Max(sides) > roundScale
	}
	if l.uneven {
		l.addSpreads(logs, top)
	}
	l.shares = logsum.Shares(logs)
	l.table = pick.NewTable(l.shares)
}

// addSpreads adds the logarithm of the spread of each node to its log weight. top is the node of
// the largest weight.
func (l *laplaceLine) addSpreads(logs []float64, top int) {
	least := logs[top] - spreadDepth
	for _, direction := range []int{-1, 1} {
		spread := l.fits[top].logSpread
		for i := top + direction; i >= 0 && i < len(logs); i += direction {
			if logs[i] >= least {
				spread = l.fit(i).logSpread
			}
			logs[i] += spread
		}
	}
	logs[top] += l.fits[top].logSpread
}

func (l *laplaceLine) logPrior(x float64) float64 {
	z := (x - l.mean) / l.sd
	return -z*z/2 - math.Log(l.sd) - halfLog2Pi
}

// draw writes a draw of the coefficients, followed by x, to theta. It returns the log joint density
// of the draw and its log density under the approximation.
func (l *laplaceLine) draw(random *rand.Rand, theta []float64) (logJoint, logProposal float64) {
	last := len(theta) - 1
	node := l.table.Index(random.Float64())
	x := l.Nodes[node].X + l.Step*(random.Float64()+random.Float64()-1) // the density is a triangle around the node
	first, second := l.beside(x)
	firstNearness, secondNearness := l.nearness(first, x), 0.0
	if second != first {
		secondNearness = l.nearness(second, x)
	}
	chosen := l.fit(first)
	if random.Float64()*(firstNearness+secondNearness) < secondNearness {
		chosen = l.fit(second)
	}
	chosen.drawStep(random, l.step)
	logDensity := math.Log(firstNearness) + l.fit(first).logStep(l.step)
	if secondNearness > 0 {
		logDensity = logsum.Add(logDensity, math.Log(secondNearness)+l.fit(second).logStep(l.step))
	}
	for i, step := range l.step {
		mode := (firstNearness*l.fits[first].mode[i] + secondNearness*l.fits[second].mode[i]) / (firstNearness + secondNearness)
		theta[i] = mode + step
	}
	theta[last], l.lastFit.scale = x, math.Exp(x)
	share := firstNearness*l.shares[first] + secondNearness*l.shares[second]
	return l.lastFit.logJoint(theta[:last]) + l.logPrior(x), logDensity + math.Log(share/(firstNearness+secondNearness)/l.Step)
}

// beside returns the nodes below and above x. If one of them is more than a step away, it returns
// the other node twice.
func (l *laplaceLine) beside(x float64) (first, second int) {
	above := sort.Search(len(l.Nodes), func(i int) bool { return l.Nodes[i].X > x })
	first, second = max(above-1, 0), min(above, len(l.Nodes)-1)
	switch {
	case l.nearness(first, x) <= 0:
		return second, second
	case l.nearness(second, x) <= 0:
		return first, first
	}
	return first, second
}

// nearness falls linearly from 1 at a node to 0 at the next node.
func (l *laplaceLine) nearness(node int, x float64) float64 {
	return 1 - math.Abs(x-l.Nodes[node].X)/l.Step
}

func (l *laplaceLine) fit(node int) *splitFit {
	if l.fits[node] == nil {
		l.fits[node] = l.Nodes[node].Given.splitAlong(l.uneven)
	}
	return l.fits[node]
}
