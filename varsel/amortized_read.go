package varsel

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/regression"
)

// The arrays of amortize.Problem.Data, in order. N is the largest number of rows in the family (the
// set of tables that a network is trained for), P its largest number of predictors, and D its
// number of coordinates.
const (
	designArray    = iota // X, its intercept first and zeros for log σ [N, D]
	responseArray         // y, and the constant in the log density of y [N, 2]
	rowArray              // numbers that the network reads for each row [N, rowNumbers]
	presentArray          // 1 where there is a row [N]
	columnArray           // 1 where there is a predictor [P]
	predictorArray        // numbers that the network reads for each predictor [P, predictorNumbers]
	tableArray            // numbers that the network reads for the whole table [tableNumbers]
	priorArray            // means and sds of the priors of coefficients, and log σ if known [2D+1]
	sizeArray             // log p(m) by the size of m [P+1]
)

const (
	rowNumbers       = 3
	predictorNumbers = 5
	tableNumbers     = 6
	tableHidden      = 32
	predictorContext = 8 // numbers that the network computes for each predictor, in addition to the predictorNumbers that it reads
)

// Problem returns a table as a problem of the family, and the positions of its predictors and
// coordinates among the predictors and coordinates of the family. It returns an error if the family
// does not include the table.
func (f *Family) Problem(p *Problem) (*amortize.Problem, amortize.Place, error) {
	if err := f.Fits(p); err != nil {
		return nil, amortize.Place{}, err
	}
	s := newSketch(p, f.each)
	logPrior := p.Model.Prior.LogProbs(len(p.Design.Predictors))
	masses := s.masses(logPrior)
	inclusion := inclusionOf(masses)
	for _, v := range append(slices.Clone(inclusion), s.fit.theta...) {
		if math.IsNaN(v) {
			return nil, amortize.Place{}, fmt.Errorf("the mode of the largest model was not found")
		}
	}
	place := f.place(p, inclusion)
	out := &amortize.Problem{LogMass: f.spread(masses, place.Sites)}
	out.Precision, out.Linear = f.placeQuadratic(s, place)
	r := &reading{family: f, p: p, sketch: s, place: place, inclusion: inclusion}
	rows := r.rowArrays()
	out.Data = append(rows, append(r.predictors(), r.tableArray(), r.prior(), r.sizes(logPrior))...)
	return out, place, nil
}

// place gives the predictors of a table positions in the family, in order of falling inclusion
// probability.
func (f *Family) place(p *Problem, inclusion []float64) amortize.Place {
	order := rank.Order(len(inclusion), func(a, b int) int { return cmp.Compare(inclusion[b], inclusion[a]) })
	place := amortize.Place{Sites: make([]int, len(order)), Coordinates: make([]int, p.Target.space.Dim())}
	for site, j := range order {
		place.Sites[j], place.Coordinates[1+j] = site, 1+site
	}
	if p.Target.Scale >= 0 {
		place.Coordinates[p.Target.Scale] = f.dim() - 1
	}
	return place
}

// reading computes the numbers that a network reads of a table.
type reading struct {
	family    *Family
	p         *Problem
	sketch    *sketch
	place     amortize.Place
	inclusion []float64 // inclusion probabilities of predictors by the normal approximations (sketch)

	// noise scale, weights of the rows and mean weight, at the mode of the largest model
	scale   float64
	weights []float64
	average float64
}

// rowArrays returns the arrays of the rows: the design matrix, the response, the numbers that the
// network reads for each row, and ones where there is a row.
func (r *reading) rowArrays() []amortize.Array {
	f, p, n, dim := r.family, r.p, r.p.Design.Rows(), r.family.dim()
	x, y, present, rows := make([]float64, f.rows*dim), make([]float64, f.rows*2), make([]float64, f.rows), make([]float64, f.rows*rowNumbers)
	eta := make([]float64, n)
	for i := range n {
		present[i] = 1
		for j := range len(r.inclusion) + 1 {
			x[i*dim+r.place.Coordinates[j]] = p.Design.X.At(i, j)
			eta[i] += r.sketch.fit.theta[j] * p.Design.X.At(i, j)
		}
		y[2*i], y[2*i+1] = p.Design.Y[i], p.Target.Responses.LogConstant(p.Design.Y[i])
	}
	r.scale = math.Exp(r.sketch.fit.logScale)
	newton := regression.Responses{Likelihood: p.Target.Responses.Likelihood, Y: p.Design.Y}
	weights, working := newton.Working(eta, r.scale, true)
	r.weights, r.average = weights, stat.Mean(weights, nil)
	for i := range n {
		// the residual in units of the noise, the standardised response, and the log of the row's
		// weight over the mean weight
		rows[i*rowNumbers] = bounded((working[i] - eta[i]) * math.Sqrt(weights[i]))
		rows[i*rowNumbers+1] = bounded((p.Design.Y[i] - stat.Mean(p.Design.Y, nil)) / math.Max(stat.StdDev(p.Design.Y, nil), 1e-9))
		rows[i*rowNumbers+2] = bounded(math.Log(weights[i] / r.average))
	}
	return []amortize.Array{array(x, f.rows, dim), array(y, f.rows, 2), array(rows, f.rows, rowNumbers), array(present, f.rows)}
}

// predictors returns the arrays of the predictors: ones where there is a predictor, and the numbers
// that the network reads for each, which come from the normal approximations (sketch).
func (r *reading) predictors() []amortize.Array {
	f, s := r.family, r.sketch
	columns, predictors, sds := make([]float64, f.most), make([]float64, f.most*predictorNumbers), s.deviations()
	for j, site := range r.place.Sites {
		columns[site] = 1
		prior := s.fit.SD[1+j]
		copy(predictors[site*predictorNumbers:], []float64{
			1, bounded(logit(r.inclusion[j])), bounded(math.Abs(s.fit.theta[1+j]) / sds[1+j]), math.Log(prior / sds[1+j]), r.inclusion[j],
		})
	}
	return []amortize.Array{array(columns, f.most), array(predictors, f.most, predictorNumbers)}
}

// tableArray returns the array of the table as a whole. It must be called after rowArrays, whose
// scale and weights it uses.
func (r *reading) tableArray() amortize.Array {
	p, groups := r.p, len(r.inclusion)
	spread := 1.0
	if p.Design.Likelihood.Continuous() {
		spread = stat.StdDev(p.Design.Y, nil)
	}
	return array([]float64{
		math.Log(float64(p.Design.Rows())) - 4, float64(groups) / float64(r.family.most), math.Log(p.Model.SlabScale / spread),
		bounded(math.Log(r.scale / spread)), math.Log(r.average * r.scale * r.scale), stat.StdDev(r.weights, nil) / r.average,
	}, tableNumbers)
}

// prior returns the array of the priors of all coordinates: their means, their standard deviations,
// and log σ if it is known.
func (r *reading) prior() amortize.Array {
	dim := r.family.dim()
	prior := make([]float64, 2*dim+1)
	for j := range dim {
		prior[dim+j] = 1
	}
	for j, to := range r.place.Coordinates {
		prior[to], prior[dim+to] = r.p.Target.Mean[j], r.p.Target.SD[j]
	}
	prior[2*dim] = r.p.Target.LogScale
	return array(prior, 2*dim+1)
}

func (r *reading) sizes(logPrior []float64) amortize.Array {
	sizes := make([]float64, r.family.most+1)
	for k := range sizes {
		sizes[k] = absent
		if k < len(logPrior) {
			sizes[k] = math.Max(logPrior[k], absent)
		}
	}
	return array(sizes, len(sizes))
}

func array(values []float64, dims ...int) amortize.Array {
	return amortize.Array{Values: values, Dims: dims}
}

// absent is used in place of log 0, which is not finite.
const absent = -1e30

// bounded clips a number that a network reads to the range from −8 to 8.
func bounded(x float64) float64 {
	const largest = 8
	return math.Max(-largest, math.Min(largest, x))
}

func logit(p float64) float64 { return math.Log(math.Max(p, 1e-9)) - math.Log(math.Max(1-p, 1e-9)) }

// spread moves the log masses (log p(m) p(y | m), up to a constant) of a table's models m to the
// indices of the family's codes. The lowest bit of a table's index is the first predictor. The
// highest bit of a family's index is the first site of the code.
func (f *Family) spread(masses []float64, sites []int) []float64 {
	wide := slices.Repeat([]float64{absent}, 1<<f.most)
	for m, v := range masses {
		wide[f.index(m, sites)] = math.Max(v, absent)
	}
	return wide
}

// index returns the index in the family of the table's model m. The lowest bit of m is the first
// predictor.
func (f *Family) index(m int, sites []int) (index int) {
	for j, site := range sites {
		index |= (m >> j & 1) << (f.most - 1 - site)
	}
	return index
}

// placeQuadratic returns the normal approximation of the largest model or, if f.each is set, of all
// models, in the coordinates of the family: its precision matrix, and the precision matrix times
// the mean.
func (f *Family) placeQuadratic(s *sketch, place amortize.Place) (precision, linear []float64) {
	tableDim, dim, count := len(place.Coordinates), f.dim(), 1
	if f.each {
		count = 1 << f.most
	}
	precision, linear = make([]float64, count*dim*dim), make([]float64, count*dim)
	for row := range count * dim {
		precision[row*dim+row%dim] = 1
	}
	put := func(index int, h, b []float64) {
		for i, from := range place.Coordinates {
			linear[index*dim+from] = b[i]
			for j, to := range place.Coordinates {
				precision[(index*dim+from)*dim+to] = h[i*tableDim+j]
			}
		}
	}
	if !f.each {
		h, b := make([]float64, tableDim*tableDim), make([]float64, tableDim)
		s.fit.store(h, b)
		put(0, h, b)
		return precision, linear
	}
	groups := len(place.Sites)
	for m := range 1 << groups {
		anchor := int(bits.Reverse32(uint32(m)) >> (32 - groups)) // in the index of an anchor the first site is the highest bit
		put(f.index(m, place.Sites), s.anchors.precision[anchor*tableDim*tableDim:(anchor+1)*tableDim*tableDim], s.anchors.linear[anchor*tableDim:(anchor+1)*tableDim])
	}
	return precision, linear
}

// Width implements [amortize.Family].
func (f *Family) Width() int {
	return f.most*(predictorContext+predictorNumbers) + tableHidden + tableNumbers
}

// Encode implements [amortize.Family]. For each predictor the network reads the set of its values
// in all rows, each with the response, residual and weight of the row. Then all predictors attend
// to each other.
func (f *Family) Encode(ctx *vti.Context, data []*Node) *Node {
	rows, about := data[rowArray], data[predictorArray]
	batch := rows.Shape().Dim(0)
	positive := func(x *Node) *Node { return GreaterThan(x, ZerosLike(x)) }
	x := InsertAxes(SliceAxis(data[designArray], 2, AxisRange(1, 1+f.most)), -1) // [B, N, P, 1]
	shared := BroadcastToDims(InsertAxes(rows, 2), batch, f.rows, f.most, 3)     // [B, N, P, 3]
	cells := Concatenate([]*Node{x, shared, Mul(BroadcastToShape(x, shared.Shape()), shared)}, -1)
	each, whole := f.table.Encode(ctx.In("table"), cells, positive(data[presentArray]), positive(data[columnArray]), about)
	each = made.Linear(ctx.In("each"), 0, each, predictorContext, made.FanIn(tableHidden), made.Zeros)
	each = Mul(each, InsertAxes(data[columnArray], -1))
	return Concatenate([]*Node{
		Reshape(each, batch, -1), Reshape(about, batch, -1), whole, data[tableArray],
	}, -1)
}

// LogPrior implements [amortize.Family].
func (f *Family) LogPrior(data []*Node, codes *Node) *Node {
	g, batch := codes.Graph(), codes.Shape().Dim(0)
	absents := ReduceSum(Mul(ConvertDType(codes, dtypes.Float64), OneMinus(ConvertDType(data[columnArray], dtypes.Float64))), -1)
	size := InsertAxes(ReduceSum(codes, -1), -1) // [B, 1]
	row := MulScalar(Iota(g, size.Shape(), 0), f.most+1)
	flat := Reshape(ConvertDType(data[sizeArray], dtypes.Float64), batch*(f.most+1))
	logPrior := Gather(flat, Add(row, size))
	never := AddScalar(ZerosLike(logPrior), absent)
	return Where(GreaterThan(absents, ZerosLike(absents)), never, logPrior)
}

// LogJoint implements [amortize.Family].
func (f *Family) LogJoint(data []*Node, _, mask, theta *Node) *Node {
	dtype, dim := theta.DType(), f.dim()
	input := func(array int) *Node { return ConvertDType(data[array], dtype) }
	active := Where(mask, theta, ZerosLike(theta))
	eta := Einsum("bnd,bd->bn", input(designArray), active)
	column := func(x *Node, j int) *Node { return Squeeze(SliceAxis(x, -1, AxisElem(j)), -1) }
	prior := input(priorArray)
	var logScale *Node // [B, 1]
	if f.unknownScale() {
		logScale = regression.ColumnOf(active, dim-1)
	} else {
		logScale = SliceAxis(prior, 1, AxisElem(2*dim))
	}
	kernel := likelihood.New(f.cfg.Model.Likelihood, f.cfg.Model.shape()).LogKernel(column(input(responseArray), 0), eta, logScale)
	sum := ReduceSum(Mul(Add(kernel, column(input(responseArray), 1)), input(presentArray)), -1)
	mean, sd := SliceAxis(prior, 1, AxisRange(0, dim)), SliceAxis(prior, 1, AxisRange(dim, 2*dim))
	logDensity := Sub(MulScalar(Square(Div(Sub(active, mean), sd)), -0.5), AddScalar(Log(sd), halfLog2Pi))
	return Add(sum, ReduceSum(Where(mask, logDensity, ZerosLike(logDensity)), -1))
}
