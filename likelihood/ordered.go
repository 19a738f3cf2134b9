package likelihood

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/integrate/quad"
)

// ordered is the cumulative model of K ordered categories, p(y ≤ k | η) = F(c_k − η). F is the
// logistic or the normal distribution function, and the cut points c_0 < … < c_{K−2} replace an
// intercept.
//
// The prior of the probabilities of the categories at η = 0 is uniform: Dirichlet(1, …, 1). It is
// built by breaking a stick of length 1: category k takes the share v_k of S_{k−1}, the length that
// the categories before it left, so that
//
//	1 − v_k = Φ(−z_k)^{1/(K−1−k)},   S_k = Π_{j ≤ k} (1 − v_j),   F(c_k) = 1 − S_k,
//
// which has v_k ~ Beta(1, K−1−k) for a standard normal z_k. For any z the cut points are in order,
// even if some category has no row.
type ordered struct {
	levels int
	cut    cutLink
}

// cutLink is the distribution function F of a latent response.
type cutLink struct {
	// trials is set if F is logistic. Then p(k | η) is a constant times the probabilities of two
	// Bernoulli trials, a form that loses no digits:
	//
	//	F(u) − F(w) = F(u) F(−w) (1 − exp(w − u)).
	trials         bool
	logCDF, logPDF func(x float64) float64 // log F and log F′
	score, bend    func(x float64) float64 // F″/F′ and its derivative
	logCDFNode     func(x *Node) *Node
	// quantile returns the c with 1 − F(c) = exp logTail.
	quantile     func(logTail float64) float64
	quantileNode func(logTail *Node) *Node
	// bound is the curvature of a quadratic that touches −log F from above.
	bound func(x float64) float64
}

var (
	logitCut = cutLink{
		trials: true,
		logCDF: func(x float64) float64 { return -softplusAt(-x) },
		logPDF: func(x float64) float64 { return -math.Abs(x) - 2*math.Log1p(math.Exp(-math.Abs(x))) },
		score:  func(x float64) float64 { return -math.Tanh(x / 2) },
		bend:   func(x float64) float64 { return (math.Tanh(x/2)*math.Tanh(x/2) - 1) / 2 },
		logCDFNode: func(x *Node) *Node {
			return Sub(MinScalar(x, 0), Log1P(Exp(Neg(magnitude(x)))))
		},
		quantile:     func(logTail float64) float64 { return log1mExp(logTail) - logTail },
		quantileNode: func(logTail *Node) *Node { return Sub(log1mExpNode(logTail), logTail) },
		bound:        logisticBound,
	}
	probitCut = cutLink{
		logCDF: logNormalCDF, logPDF: logNormalPDF,
		score:      func(x float64) float64 { return -x },
		bend:       func(float64) float64 { return -1 },
		logCDFNode: logNormalCDFNode,
		quantile: func(logTail float64) float64 {
			if logTail < -math.Ln2 {
				return -normalQuantile(logTail)
			}
			return normalQuantile(log1mExp(logTail))
		},
		quantileNode: func(logTail *Node) *Node {
			high := LessThan(logTail, ConstAs(logTail, -math.Ln2))
			x := normalQuantileNode(MinScalar(Where(high, logTail, log1mExpNode(logTail)), -math.Ln2))
			return Where(high, Neg(x), x)
		},
		bound: func(float64) float64 { return 1 },
	}
)

// farthestStick is the largest |z|, chosen so that float32 can hold the share of the stick. A
// larger |z|, which has a prior probability of 10⁻³², is replaced by it.
const farthestStick = 12

func (o *ordered) Levels() int     { return o.levels }
func (o *ordered) Predictors() int { return 1 }
func (o *ordered) Parameters() int { return o.levels - 1 }

// LogProb implements [Categories]. A probability is the difference of two tail probabilities, on
// the side of zero where both are small: its log is the log of the larger one plus log(1 − ratio).
func (o *ordered) LogProb(y []float64, eta, z *Node) *Node {
	rows, cuts := len(y), o.Parameters()
	eta = Reshape(eta, -1, rows)
	c := o.cutNodes(z)
	upper, lower := make([]float64, rows*cuts), make([]float64, rows*cuts)
	first, last := make([]bool, rows), make([]bool, rows)
	for i, v := range y {
		k := int(v)
		if first[i] = k == 0; !first[i] {
			lower[i*cuts+k-1] = 1
		}
		if last[i] = k == cuts; !last[i] {
			upper[i*cuts+k] = 1
		}
	}
	gather := func(which []float64) *Node {
		return Sub(Einsum("bp,np->bn", c, ConvertDType(Reshape(Const(eta.Graph(), which), rows, cuts), eta.DType())), eta)
	}
	u, w := gather(upper), gather(lower)
	is := func(flags []bool) *Node {
		return BroadcastToDims(Reshape(Const(eta.Graph(), flags), 1, rows), u.Shape().Dimensions...)
	}
	ends := Or(is(first), is(last))
	low := Where(ends, is(first), LessOrEqual(Add(u, w), ZerosLike(u)))
	high, rest := Where(low, u, Neg(w)), Where(low, w, Neg(u))
	rest = Where(ends, AddScalar(high, -1), rest)
	log := o.cut.logCDFNode(high)
	between := log1mExpNode(Sub(o.cut.logCDFNode(rest), log))
	return Add(log, Where(ends, ZerosLike(log), between))
}

// cutNodes returns the cut points of z [B, K−1].
func (o *ordered) cutNodes(z *Node) *Node {
	cuts := o.Parameters()
	sums := make([]float64, cuts*cuts) // S_k is a product over j ≤ k
	for j := range cuts {
		for k := j; k < cuts; k++ {
			sums[j*cuts+k] = 1 / float64(cuts-j)
		}
	}
	z = MinScalar(MaxScalar(z, -farthestStick), farthestStick)
	logTail := Einsum("bj,jk->bk", logNormalCDFNode(Neg(z)), ConvertDType(Reshape(Const(z.Graph(), sums), cuts, cuts), z.DType()))
	return o.cut.quantileNode(logTail)
}

// At implements [Categories]. The result is also a [Row], which ignores the argument scale.
func (o *ordered) At(z []float64) CategoriesAt { return o.cutsAt(z) }

func (o *ordered) cutsAt(z []float64) *Cuts {
	cuts := o.Parameters()
	a := &Cuts{cutLink: o.cut, Points: make([]float64, cuts), logTail: make([]float64, cuts), broken: make([]float64, cuts), bent: make([]float64, cuts), constant: make([]float64, o.levels)}
	tail := 0.0
	for k, v := range z {
		v = math.Max(-farthestStick, math.Min(farthestStick, v))
		parts := float64(cuts - k)
		log := logNormalCDF(-v)
		hazard := math.Exp(logNormalPDF(v) - log)
		share := log1mExp(log / parts) // log v_k
		a.broken[k], a.bent[k] = -hazard/parts, -hazard*(hazard-v)/parts
		tail += log / parts
		a.logTail[k], a.Points[k] = tail, o.cut.quantile(tail)
		switch {
		case k == 0:
		case o.cut.trials:
			a.constant[k] = share - log1mExp(tail)
		case narrow(a.Points[k-1], a.Points[k]): // so that log p is exact at η = 0
			a.constant[k] = a.logTail[k-1] + share - a.logMeanDensity(a.Points[k-1], a.Points[k])
		}
	}
	return a
}

// Cut implements [OrderedCategories].
func (o *ordered) Cut(points []float64) *Cuts {
	c := &Cuts{cutLink: o.cut, Points: points, constant: make([]float64, o.levels)}
	for k := 1; k < len(points); k++ {
		if width := points[k] - points[k-1]; o.cut.trials {
			c.constant[k] = log1mExp(-width)
		} else {
			c.constant[k] = math.Log(width)
		}
	}
	return c
}

// Sticks implements [OrderedCategories]. It is the inverse of the map from z to cut points in At.
func (o *ordered) Sticks(points []float64) []float64 {
	z, before := make([]float64, len(points)), 0.0
	for k, c := range points {
		tail := o.cut.logCDF(-c) // F is symmetric
		left := float64(len(points)-k) * (tail - before)
		if before = tail; left < -math.Ln2 { // the variable left is log Φ(−z)
			z[k] = -normalQuantile(left)
		} else {
			z[k] = normalQuantile(log1mExp(math.Min(left, leastGap)))
		}
	}
	return z
}

// meanNodes is the number of nodes of the quadrature for the mean density of a narrow category,
// whose error is below 10⁻¹⁵.
const meanNodes = 10

var meanAt, meanWeight = func() (nodes, weight []float64) {
	nodes, weight = make([]float64, meanNodes), make([]float64, meanNodes)
	quad.Legendre{}.FixedLocations(nodes, weight, -1, 1)
	return nodes, weight
}()

// logMeanDensity returns the log of (F(b) − F(a)) / (b − a), by quadrature of the density F′.
func (c cutLink) logMeanDensity(a, b float64) float64 {
	middle, half := (a+b)/2, (b-a)/2
	base, sum := c.logPDF(middle), 0.0
	for i, t := range meanAt {
		sum += meanWeight[i] / 2 * math.Exp(c.logPDF(middle+half*t)-base)
	}
	return base + math.Log(sum)
}

// meanNewton returns the derivative of logMeanDensity(a − t, b − t) in t at t = 0, and minus its
// second derivative.
func (c cutLink) meanNewton(a, b float64) (slope, curvature float64) {
	middle, half := (a+b)/2, (b-a)/2
	base, sum, second := c.logPDF(middle), 0.0, 0.0
	for i, t := range meanAt {
		x := middle + half*t
		weight, score := meanWeight[i]/2*math.Exp(c.logPDF(x)-base), c.score(x)
		sum, slope, second = sum+weight, slope-weight*score, second+weight*(c.bend(x)+score*score)
	}
	slope /= sum
	return slope, slope*slope - second/sum
}
