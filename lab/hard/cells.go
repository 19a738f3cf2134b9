package hard

import (
	"container/heap"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
)

// boundedRow describes the density of a residual r given the noise scale σ by two functions. The
// function standard returns the logarithm of σ times the density, for square = (r/σ)². The function
// largest returns the logarithm of the largest density over all |r| ≥ least and all σ from low to
// high.
type boundedRow struct {
	standard func(square float64) float64
	largest  func(least, low, high float64) float64
}

func studentRow(degrees float64) boundedRow {
	above, _ := math.Lgamma((degrees + 1) / 2)
	below, _ := math.Lgamma(degrees / 2)
	constant := above - below - math.Log(degrees*math.Pi)/2
	standard := func(square float64) float64 { return constant - (degrees+1)/2*math.Log1p(square/degrees) }
	return boundedRow{standard, func(least, low, high float64) float64 {
		sigma := math.Min(math.Max(least, low), high) // the density increases in σ up to σ = |r|
		return standard(least*least/(sigma*sigma)) - math.Log(sigma)
	}}
}

// robustRow returns the density of noise with distribution (1−share) N(0, σ²) + share N(0, (ratio
// σ)²).
func robustRow(share, ratio float64) boundedRow {
	far := 1 / (ratio * ratio)
	part := func(share, r, sigma float64) float64 {
		return math.Log(share) - halfLog2Pi - math.Log(sigma) - r*r/(sigma*sigma)/2
	}
	return boundedRow{
		func(square float64) float64 {
			return math.Log(share/ratio+(1-share)*math.Exp(-(1-far)*square/2)) - far*square/2 - halfLog2Pi
		},
		func(least, low, high float64) float64 { // both densities grow with the scale up to |r|
			return logsum.Add(part(1-share, least, math.Min(math.Max(least, low), high)), part(share, least, math.Min(math.Max(least, ratio*low), ratio*high)))
		},
	}
}

// These are the constants of the integral over cells, boxes of parameters. A cell is finished if
// two Gauss-Legendre rules agree on its integral, and if they cannot have missed a mode in the
// cell: either the upper bound on the log density is less than hiddenGain above the largest log
// density at the nodes, or no residual varies by more than the noise scale in the cell. Unfinished
// cells are left out as soon as the upper bounds on their integrals add up to less than cellsLeft
// times the integral over the finished cells.
const (
	cellNodes   = 4 // nodes along each direction; the second rule has one less
	cellError   = 1e-5
	hiddenGain  = 6.0
	cellsLeft   = 1e-4
	mostCells   = 3_000_000
	priorReach  = 10.0 // half the width of the first cell, in standard deviations of the priors
	mostCellDim = 3
	// negligibleCell is a share of the whole integral. For a cell with a larger share the accepted
	// relative error is cellError. For a cell with a smaller share the accepted error is cellError
	// times negligibleCell of the whole integral.
	negligibleCell = 1e-3
	// roughly is the factor by which tolerances are larger in the first pass than in the second
	// pass. Moments from the first pass give the bounds on second moments in the second pass.
	roughly = 100
)

// cell is a box in the space of whitened coefficients and, if σ is unknown, log σ.
type cell struct {
	centre, half []float64
	peak         float64 // upper bound on the log density in the cell
	bound        float64 // upper bound on the log integral over the cell, and on its second moments
	factor       float64 // log of the largest (θ − mean)²/variance in the cell
	split        int     // the direction in which to divide the cell
	smooth       bool    // whether no residual varies by more than the noise scale in the cell
}

// cellQueue is a heap of cells. The first cell has the largest bound.
type cellQueue []*cell

func (q cellQueue) Len() int           { return len(q) }
func (q cellQueue) Less(i, j int) bool { return q[i].bound > q[j].bound }
func (q cellQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *cellQueue) Push(x any)        { *q = append(*q, x.(*cell)) }
func (q *cellQueue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

// cellIntegral integrates the posterior of one model over cells.
type cellIntegral struct {
	p           *regressionProblem
	row         boundedRow
	coordinates []int
	free        bool       // whether σ is unknown; the last direction is then log σ
	axes        *mat.Dense // θ = axes·u, with whitened coefficients u; [k, k], upper triangular
	logJacobian float64    // log determinant of axes
	design      *mat.Dense // design matrix of u [n, k]
	target      []float64  // y minus offset
	// reference holds means and variances of θ and σ from the first pass, from which bounds on
	// second moments follow. It is nil in the first pass.
	reference *modelMoments

	nodes, logWeights [2][]float64 // nodes and log weights of the two rules on [−1, 1]
	scratch           []float64
}

// cells returns the exact posterior of models of at most mostCellDim parameters by branch and
// bound: it divides the space of parameters into cells until the integral over each cell is
// accurate. Upper bounds on the density in a cell, which follow from the range of each residual in
// it, decide which cells are divided and which are left out. If the bounds are right, no mode can
// be missed, however narrow it is.
func (p *regressionProblem) cells(row boundedRow) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		c := &cellIntegral{p: p, row: row, coordinates: coordinates, free: p.sigma == 0}
		if k := c.dim(); len(coordinates) == 0 || k > mostCellDim {
			return modelMoments{}, fmt.Errorf("cells: got %d parameters, want 1 to %d", k, mostCellDim)
		}
		for i, nodes := range []int{cellNodes, cellNodes - 1} {
			points, weights := make([]float64, nodes), make([]float64, nodes)
			quad.Legendre{}.FixedLocations(points, weights, -1, 1)
			for k := range weights {
				weights[k] = math.Log(weights[k])
			}
			c.nodes[i], c.logWeights[i] = points, weights
		}
		if err := c.whiten(); err != nil {
			return modelMoments{}, err
		}
		first, err := c.solve()
		if err != nil {
			return modelMoments{}, err
		}
		// Integrate again with bounds on second moments, so that cells far from the mean that
		// contribute to them are not left out.
		c.reference = &first
		return c.solve()
	}
}

func (c *cellIntegral) dim() int {
	if c.free {
		return len(c.coordinates) + 1
	}
	return len(c.coordinates)
}

// whiten chooses coordinates of the coefficients. In these, the posterior is about standard normal
// if the noise is normal with its known scale or the scale that its prior expects.
func (c *cellIntegral) whiten() error {
	p, n, k := c.p, len(c.p.y), len(c.coordinates)
	c.target = slices.Clone(p.y)
	if p.offset != nil {
		floats.Sub(c.target, p.offset)
	}
	x := mat.NewDense(n, k, nil)
	for a, j := range c.coordinates {
		for i := range n {
			x.Set(i, a, p.x.At(i, j))
		}
	}
	scale := p.sigma
	if c.free {
		scale = math.Exp(p.logSigmaMean)
	}
	var precision mat.Dense
	precision.Mul(x.T(), x)
	precision.Scale(1/(scale*scale), &precision)
	for a, j := range c.coordinates {
		precision.Set(a, a, precision.At(a, a)+1/(p.priorSD[j]*p.priorSD[j]))
	}
	factor, ok := dense.Factorize(precision.RawMatrix().Data, k, 0)
	if !ok {
		return fmt.Errorf("cells: the precision of %d coefficients has no Cholesky factor", k)
	}
	c.axes = axesOf(factor)
	for a := range k {
		c.logJacobian += math.Log(math.Abs(c.axes.At(a, a)))
	}
	c.design = mat.NewDense(n, k, nil)
	c.design.Mul(x, c.axes)
	return nil
}

// whole returns the first cell of the search. It reaches priorReach standard deviations of the
// priors to each side of their means.
func (c *cellIntegral) whole() (*cell, error) {
	k := len(c.coordinates)
	var inverse mat.Dense
	if err := inverse.Inverse(c.axes); err != nil {
		return nil, err
	}
	w := &cell{centre: make([]float64, c.dim()), half: make([]float64, c.dim())}
	for a := range k {
		for b, j := range c.coordinates {
			w.centre[a] += inverse.At(a, b) * c.p.priorMean[j]
			w.half[a] += math.Abs(inverse.At(a, b)) * priorReach * c.p.priorSD[j]
		}
	}
	if c.free {
		w.centre[k], w.half[k] = c.p.logSigmaMean, priorReach*c.p.logSigmaSD
	}
	c.judge(w)
	return w, nil
}

// scales returns the smallest and the largest noise scale in cell w.
func (c *cellIntegral) scales(w *cell) (low, high float64) {
	if !c.free {
		return c.p.sigma, c.p.sigma
	}
	k := len(c.coordinates)
	return math.Exp(w.centre[k] - w.half[k]), math.Exp(w.centre[k] + w.half[k])
}

// judge sets the bounds of cell w and the direction along which its density may vary most.
func (c *cellIntegral) judge(w *cell) {
	low, high := c.scales(w)
	k := len(c.coordinates)
	gains := make([]float64, c.dim())
	bound := 0.0
	middle := math.Sqrt(low * high)
	w.smooth = high < 3*low
	for i, y := range c.target {
		residual, reach := y, 0.0
		row := c.design.RawRowView(i)
		for a := range k {
			residual -= row[a] * w.centre[a]
			reach += math.Abs(row[a]) * w.half[a]
		}
		least := math.Max(0, math.Abs(residual)-reach)
		bound += c.row.largest(least, low, high)
		w.smooth = w.smooth && reach < middle+least/2
		for a := range k {
			gains[a] += math.Abs(row[a]) * w.half[a] / (middle + least)
		}
	}
	factor := 0.0 // log of the largest (θ − mean)²/variance in the cell
	for b, j := range c.coordinates {
		theta, reach := 0.0, 0.0
		for a := range k {
			theta += c.axes.At(b, a) * w.centre[a]
			reach += math.Abs(c.axes.At(b, a)) * w.half[a]
		}
		z := math.Max(0, math.Abs(theta-c.p.priorMean[j])-reach) / c.p.priorSD[j]
		bound -= z*z/2 + math.Log(c.p.priorSD[j]) + halfLog2Pi
		for a := range k {
			gains[a] += math.Abs(c.axes.At(b, a)) * w.half[a] / c.p.priorSD[j] * math.Max(1, z)
		}
		if c.reference != nil {
			far := math.Abs(theta-c.reference.mean[b]) + reach
			factor = math.Max(factor, math.Log(far*far/c.reference.variance[b]))
		}
	}
	if c.free {
		z := math.Max(0, math.Abs(w.centre[k]-c.p.logSigmaMean)-w.half[k]) / c.p.logSigmaSD
		bound -= z*z/2 + math.Log(c.p.logSigmaSD) + halfLog2Pi
		gains[k] = 2 * float64(len(c.target)) * w.half[k]
		if c.reference != nil {
			far := math.Max(high-c.reference.mean[k], c.reference.mean[k]-low)
			factor = math.Max(factor, math.Log(far*far/c.reference.variance[k]))
		}
	}
	w.peak, w.split = bound+c.logJacobian, floats.MaxIdx(gains)
	w.bound, w.factor = w.peak+factor, factor
	for _, half := range w.half {
		w.bound += math.Log(2 * half)
	}
}

// logDensity returns log p(y, u, log σ) at point, which holds u and log σ. It writes θ and σ to
// values.
func (c *cellIntegral) logDensity(point, values []float64) float64 {
	k := len(c.coordinates)
	sigma, sum := c.p.sigma, c.logJacobian
	if c.free {
		sigma = math.Exp(point[k])
		values[k] = sigma
		z := (point[k] - c.p.logSigmaMean) / c.p.logSigmaSD
		sum -= z*z/2 + math.Log(c.p.logSigmaSD) + halfLog2Pi
	}
	for b, j := range c.coordinates {
		theta := 0.0
		for a := range k {
			theta += c.axes.At(b, a) * point[a]
		}
		values[b] = theta
		z := (theta - c.p.priorMean[j]) / c.p.priorSD[j]
		sum -= z*z/2 + math.Log(c.p.priorSD[j]) + halfLog2Pi
	}
	for i, y := range c.target {
		residual := y
		row := c.design.RawRowView(i)
		for a := range k {
			residual -= row[a] * point[a]
		}
		residual /= sigma
		sum += c.row.standard(residual * residual)
	}
	return sum - float64(len(c.target))*math.Log(sigma)
}

// rule returns the log integral over cell w by the first or the second rule, and the largest log
// density at its nodes. Unless the argument kept is nil, rule appends to it the log weight of each
// node and the parameters at the node.
func (c *cellIntegral) rule(w *cell, which int, kept *cellNodesKept) (logIntegral, largest float64) {
	dim := len(w.centre)
	nodes, logWeights := c.nodes[which], c.logWeights[which]
	place, point, nodeValues := make([]int, dim), make([]float64, dim), make([]float64, dim)
	largest = math.Inf(-1)
	volume := 0.0
	for _, half := range w.half {
		volume += math.Log(half)
	}
	masses := c.scratch[:0]
	for {
		weight := volume
		for a, i := range place {
			point[a] = w.centre[a] + w.half[a]*nodes[i]
			weight += logWeights[i]
		}
		density := c.logDensity(point, nodeValues)
		largest = math.Max(largest, density)
		masses = append(masses, density+weight)
		if kept != nil {
			kept.values = append(kept.values, nodeValues...)
		}
		a := 0
		for ; a < dim; a++ {
			if place[a]++; place[a] < len(nodes) {
				break
			}
			place[a] = 0
		}
		if a == dim {
			break
		}
	}
	if kept != nil {
		kept.logMass = append(kept.logMass, masses...)
	}
	c.scratch = masses
	return logsum.Of(masses), largest
}

// cellNodesKept holds the log weights of nodes, and one row of parameters for each node.
type cellNodesKept struct{ logMass, values []float64 }

// solve divides cells until the integral over the unfinished cells is negligible. It returns the
// evidence and moments from the finished cells.
func (c *cellIntegral) solve() (modelMoments, error) {
	first, err := c.whole()
	if err != nil {
		return modelMoments{}, err
	}
	queue := &cellQueue{first}
	kept := &cellNodesKept{}
	done := math.Inf(-1) // log integral over the finished cells
	factor := 1.0
	if c.reference == nil {
		factor = roughly
	}
	for count := 0; queue.Len() > 0; count++ {
		// The largest bound times the number of cells bounds the integral over all unfinished
		// cells.
		if (*queue)[0].bound+math.Log(float64(queue.Len())) < done+math.Log(factor*cellsLeft) {
			break
		}
		if count > mostCells {
			return modelMoments{}, fmt.Errorf("cells: the integral is not accurate after %d cells", mostCells)
		}
		w := heap.Pop(queue).(*cell)
		if coarse, largest := c.rule(w, 1, nil); w.smooth || w.peak-largest < hiddenGain {
			before := *kept
			fine, _ := c.rule(w, 0, kept)
			// The tolerance is larger for cells with a smaller share of the integral.
			if math.Abs(coarse-fine) < factor*cellError*math.Max(1, negligibleCell*math.Exp(done-fine-w.factor)) {
				done = logsum.Add(done, fine)
				continue
			}
			*kept = before
		}
		for _, side := range []float64{-1, 1} {
			part := &cell{centre: slices.Clone(w.centre), half: slices.Clone(w.half)}
			part.half[w.split] /= 2
			part.centre[w.split] += side * part.half[w.split]
			c.judge(part)
			heap.Push(queue, part)
		}
	}
	k := c.dim()
	out := modelMoments{logEvidence: logsum.Of(kept.logMass)}
	_, out.mean, out.variance = averages(kept.logMass, k, func(i int, add func(at int, mean, variance float64)) {
		for a, v := range kept.values[i*k : (i+1)*k] {
			add(a, v, 0)
		}
	})
	return out, nil
}
