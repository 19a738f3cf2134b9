package varsel

import (
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/line"
	pickby "github.com/transdim/vti/internal/pick"
)

// laplaceLine approximates the posterior of a model whose response has another parameter, a shape,
// precision or dispersion s, given which the likelihood is log-concave. The density of x = log s is
// that of Laplace's method for the coefficients given x, on a lattice of nodes and linear in
// between (a nested approximation, as of Rue, Martino and Chopin 2009); the coefficients given x
// have a t distribution around their mode, and modes and spreads are interpolated: where the spread
// falls with x, as in proportion to exp(−x), that makes it too wide, never too narrow. One mode of
// both would not do: where a model has about as many coefficients as rows, or rows that are not
// censored, its posterior is a ridge from small s to s without limit, which only the prior of x
// ends.
type laplaceLine struct {
	*line.Integral[*laplaceFit]
	shares   []float64 // of the nodes
	table    pickby.Table
	fits     []*splitFit // given x at the nodes; nil where no draw was near yet
	uneven   bool        // sides of modes have scales
	at       *splitFit   // between two nodes
	mean, sd float64     // of the prior of x
}

// Where the modes of x are looked for, in standard deviations of its prior, how fine, and how well
// the integral is known: the weights of draws correct the rest. Few rows, which cost little, have
// the widest ridges. Sides of all nodes have scales where one of those at the highest node is above
// roundScale. Chosen by hand.
const (
	lineReach, lineStep, lineStepOfFew = 4.0, 0.5, 0.25
	lineDepth, lineTolerance           = 25, 0.05
	mostLineNodes                      = 2000
	fewLineRows                        = 200
	roundScale                         = 1.15
)

// newLaplaceLine follows the mode of the coefficients along x. The coordinates of a are those of
// coefficients alone.
func newLaplaceLine(t *Target, a active) (*laplaceLine, error) {
	l := &laplaceLine{mean: t.mean[t.scale], sd: t.sd[t.scale]}
	step := lineStep
	if len(t.responses.y) <= fewLineRows {
		step = lineStepOfFew
	}
	var found []line.Node[*laplaceFit]
	integral, err := line.Integrate(line.Options{
		From: l.mean - lineReach*l.sd, To: l.mean + lineReach*l.sd, Step: step * l.sd,
		Depth: lineDepth, Tolerance: lineTolerance, Most: mostLineNodes,
	}, func(x float64) (float64, *laplaceFit, error) {
		start, nearest := a.mean, math.Inf(1)
		for _, node := range found {
			if d := math.Abs(node.X - x); d < nearest {
				start, nearest = node.Given.mode, d
			}
		}
		f, err := newLaplaceFit(t, a, math.Exp(x), start)
		if err != nil {
			if math.Abs(x-l.mean) > lineReach*l.sd { // where digits do not suffice
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
	l.Integral = integral
	for _, node := range integral.Nodes {
		l.shares = append(l.shares, math.Exp(node.LogWeight-integral.Log))
	}
	l.table = pickby.NewTable(l.shares)
	l.fits = make([]*splitFit, len(l.shares))
	top := floats.MaxIdx(l.shares)
	l.fits[top] = integral.Nodes[top].Given.splitByFactor(true)
	l.uneven = max(floats.Max(l.fits[top].above), floats.Max(l.fits[top].below)) > roundScale
	within, k := *integral.Nodes[0].Given, len(a.coordinates)
	within.mode = make([]float64, k)
	l.at = &splitFit{laplaceFit: &within, axes: make([]float64, k*k), above: make([]float64, k), below: make([]float64, k)}
	return l, nil
}

// logPrior is the log prior density of x.
func (l *laplaceLine) logPrior(x float64) float64 {
	z := (x - l.mean) / l.sd
	return -z*z/2 - math.Log(l.sd) - halfLog2Pi
}

// draw writes a draw of the coefficients, and x last, to theta, and returns its log joint density
// and that of the approximation.
func (l *laplaceLine) draw(random *rand.Rand, theta []float64) (logJoint, logProposal float64) {
	last := len(theta) - 1
	node := l.table.Index(random.Float64())
	x := l.Nodes[node].X + l.Step*(random.Float64()+random.Float64()-1) // linear on both sides of the node
	logProposal = math.Log(l.moveTo(x) / l.Step)
	logProposal += l.at.draw(random, theta[:last])
	theta[last] = x
	return l.at.logJoint(theta[:last]) + l.logPrior(x), logProposal
}

// moveTo sets the approximation of the coefficients given x, between the nodes beside it, and
// returns the share of x: the density of the approximation times the distance of nodes.
func (l *laplaceLine) moveTo(x float64) (share float64) {
	above := sort.Search(len(l.Nodes), func(i int) bool { return l.Nodes[i].X > x })
	at, k := l.at, len(l.at.mode)
	for _, values := range [][]float64{at.mode, at.axes, at.above, at.below} {
		clear(values)
	}
	first, last := max(above-1, 0), min(above, len(l.Nodes)-1)
	if first < last && l.Nodes[last].X-l.Nodes[first].X > 1.5*l.Step { // nodes in between are negligible
		if x-l.Nodes[first].X < l.Step {
			last = first
		} else {
			first = last
		}
	}
	total := 0.0
	for i := first; i <= last; i++ {
		near, fit := 1-math.Abs(x-l.Nodes[i].X)/l.Step, l.fit(i)
		total += near
		share += near * l.shares[i]
		floats.AddScaled(at.mode, near, fit.mode)
		floats.AddScaled(at.axes, near, fit.axes)
		floats.AddScaled(at.above, near, fit.above)
		floats.AddScaled(at.below, near, fit.below)
	}
	at.logVolume, at.laplaceFit.scale = 0, math.Exp(x)
	for _, values := range [][]float64{at.mode, at.axes, at.above, at.below} {
		floats.Scale(1/total, values)
	}
	for i := range k {
		at.logVolume += math.Log(at.axes[i*k+i])
	}
	return share
}

// fit is the approximation at a node.
func (l *laplaceLine) fit(node int) *splitFit {
	if l.fits[node] == nil {
		l.fits[node] = l.Nodes[node].Given.splitByFactor(l.uneven)
	}
	return l.fits[node]
}
