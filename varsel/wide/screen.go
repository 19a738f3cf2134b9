package wide

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/mode"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

// Screening holds the gain of each predictor when it is added to the best model of forward
// selection. The approximations q(m) and the flow start from it; training and certification correct
// every number.
type Screening struct {
	// LogOdds holds approximate posterior log odds of inclusion of each predictor, and Order the
	// predictors from the largest log odds to the smallest.
	LogOdds []float64
	Order   []int
	// Correlation holds the correlation of each predictor (its first column) with the working
	// response.
	Correlation []float64
	// Weights holds w and Response ŷ of −½ Σ w_i (η_i − ŷ_i)², the quadratic approximation of the
	// log likelihood at the mode of the model. η_i is the linear predictor of row i without offset.
	Weights, Response []float64
	// LogScale is log σ at the mode.
	LogScale float64
}

// Bounds of the log odds. They correspond to probabilities of 1e-11 and 0.999, so that no predictor
// starts as certain or impossible. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	leastLogOdds = -25
	mostLogOdds  = 7
)

// leastJointOdds is the smallest odds of sets of predictors that matter only together; smaller odds
// are noise. Half and twice this value give the same answers (docs/benchmarks/constants.md).
const leastJointOdds = 1e-3

// Weight returns the predictor's weight in proposals: its inclusion probability, plus 1 divided by
// the number of predictors.
func (s *Screening) Weight(predictor int) float64 {
	return 1/(1+math.Exp(-s.LogOdds[predictor])) + 1/float64(len(s.LogOdds))
}

// Screen adds predictors one after the other, each time the predictor with the largest evidence, as
// long as this improves the posterior probability of the model and the size limit allows it. It
// adds two or three at a time if they matter only together. Then it computes the evidence of every
// model that differs by one predictor added, removed or exchanged. Evidences come from the
// quadratic approximation of the log likelihood at the mode of the present model, which is exact
// for Gaussian noise of known scale, by a few products with the design matrix.
func (s Search) Screen() *Screening {
	f, count, prior, slots := s.fit(), len(s.Design.Predictors), s.prior(), s.limit()
	found := &Screening{LogOdds: make([]float64, count), Correlation: make([]float64, count)}
	// gain is the change of log p(m) when a model gets one more member. At the largest size it is
	// the change from the size below.
	gain := func(size, member int) float64 { return prior.Birth(min(size, slots-1), member) }
	f.find(nil)
	working := slices.Clone(f.response)
	var base []int
	more, joint := f.improve(base, gain, slots)
	for len(more) > 0 {
		base = append(base, more...)
		f.find(base)
		more, joint = f.improve(base, gain, slots)
	}
	found.Weights, found.Response, found.LogScale = f.weights, f.response, f.logScale

	// The odds of a predictor in the model compare it with its removal and with its exchange for
	// another predictor. The odds of another predictor add up the ways in which it can enter.
	add := f.evidences(base)
	enter := make([]float64, len(add))
	for predictor, e := range add {
		if !math.IsNaN(e) {
			enter[predictor] = math.Exp(math.Min(e+gain(len(base), predictor), 30))
		}
	}
	for _, set := range joint {
		if odds := math.Exp(math.Min(set.together, 30)); odds > leastJointOdds {
			for _, member := range set.members {
				enter[member] += odds
			}
		}
	}
	for _, member := range base {
		without := f.evidences(slices.DeleteFunc(slices.Clone(base), func(other int) bool { return other == member }))
		against := math.Exp(-without[member] - gain(len(base)-1, member))
		exchange := func(other int) float64 {
			return math.Exp(math.Min(without[other]-without[member]+prior.Member(other)-prior.Member(member), 30))
		}
		for predictor, e := range without {
			if !math.IsNaN(e) && predictor != member {
				against += exchange(predictor)
			}
		}
		in := 1 / (1 + against)
		found.LogOdds[member] = -math.Log(against)
		for predictor, e := range without {
			if !math.IsNaN(e) && predictor != member {
				enter[predictor] += in * exchange(predictor)
			}
		}
	}
	for predictor, odds := range enter {
		if !slices.Contains(base, predictor) {
			found.LogOdds[predictor] = math.Log(odds)
		}
		found.LogOdds[predictor] = math.Max(leastLogOdds, math.Min(mostLogOdds, found.LogOdds[predictor]))
		column := s.Columns[s.Design.Predictors[predictor].Coordinates[0]]
		if found.Correlation[predictor] = stat.Correlation(column, working, nil); math.IsNaN(found.Correlation[predictor]) {
			found.Correlation[predictor] = 0
		}
	}
	found.Order = rank.Order(len(found.LogOdds), func(a, b int) int { return cmp.Compare(found.LogOdds[b], found.LogOdds[a]) })
	return found
}

// improve returns the predictor that improves the probability of a model most. If no predictor
// does, it returns the best two or three that improve it together, and all sets considered. The
// function gain returns the change of log p(m) when a model gets one more member.
func (f *screenFit) improve(base []int, gain func(size, member int) float64, slots int) (more []int, joint []jointGain) {
	best, size, highest := -1, len(base), 0.0
	for predictor, e := range f.evidences(base) {
		if value := e + gain(size, predictor); value > highest {
			best, highest = predictor, value
		}
	}
	if best >= 0 && size < slots {
		return []int{best}, nil
	}
	pairs, triples, _ := f.joint(base, slots)
	joint = append(pairs, triples...)
	highest = 0
	for i := range joint {
		for k, member := range joint[i].members {
			joint[i].together += gain(size+k, member)
		}
		if joint[i].together > highest {
			more, highest = joint[i].members, joint[i].together
		}
	}
	return more, joint
}

// screenFit holds the quadratic approximation of the log likelihood at the mode of one model.
type screenFit struct {
	design *design.Design
	target *regression.Regression

	weights, response []float64
	logScale          float64
	squares           []float64 // x_j' W x_j for every column
	inner             []float64 // x_j' W ŷ for every column
}

// fit returns a screenFit that begins at the prior mean of log σ.
func (s Search) fit() *screenFit {
	f := &screenFit{target: s.Regression, design: s.Design, logScale: s.LogScale}
	if s.Scale >= 0 {
		f.logScale = s.Mean[s.Scale]
	}
	return f
}

// coordinates returns the columns of a model, with the columns in every model first.
func (f *screenFit) coordinates(model []int) []int {
	columns := slices.Clone(f.design.Always)
	for _, predictor := range model {
		columns = append(columns, f.design.Predictors[predictor].Coordinates...)
	}
	return columns
}

// find moves the approximation to the mode of a model, by iterated weighted least squares. If the
// noise scale is unknown, it is updated in turn with the coefficients.
func (f *screenFit) find(model []int) {
	t := f.target
	rows, dim := len(t.Responses.Y), len(t.Columns)
	a, offset := f.active(f.coordinates(model)), t.Offset
	if offset == nil {
		offset = make([]float64, rows)
	}
	eta, before := slices.Clone(offset), make([]float64, rows)
	if t.Scale >= 0 && f.weights == nil {
		f.logScale = f.scaleMode(eta)
	}
	for range 50 {
		f.weights, f.response = t.Responses.Working(eta, math.Exp(f.logScale), true)
		floats.Sub(f.response, offset)
		theta, ok := regression.Solve(a.NormalEquations(f.weights, f.response))
		if !ok {
			theta = make([]float64, len(a.Columns))
		}
		copy(before, eta)
		a.Predict(theta, offset, eta)
		var change float64
		for i, b := range before {
			change = math.Max(change, math.Abs(eta[i]-b)*math.Sqrt(f.weights[i]))
		}
		if t.Scale >= 0 {
			last := f.logScale
			f.logScale = f.scaleMode(eta)
			change = math.Max(change, math.Abs(f.logScale-last))
		}
		if change < 1e-6 {
			break
		}
	}
	f.weights, f.response = t.Responses.Working(eta, math.Exp(f.logScale), false)
	floats.Sub(f.response, offset)
	f.squares, f.inner = make([]float64, dim), make([]float64, dim)
	for j, x := range t.Columns {
		if known := t.Products; known != nil && j != t.Scale {
			f.squares[j], f.inner[j] = f.weights[0]*known.Inner(j, j), f.weights[0]*known.Linear[j]
			continue
		}
		floats.MulTo(before, f.weights, x)
		f.squares[j], f.inner[j] = floats.Dot(before, x), floats.Dot(before, f.response)
	}
}

func (f *screenFit) active(columns []int) regression.Active {
	a := regression.Active{}
	for _, j := range columns {
		f.target.Include(&a, j, j)
	}
	return a
}

// evidences returns, for every predictor, the log Bayes factor of the model with the predictor to
// the model without it, under the quadratic approximation. It is NaN for predictors in the model.
func (f *screenFit) evidences(model []int) []float64 {
	t := f.target
	a := f.active(f.coordinates(model))
	matrix, right := a.NormalEquations(f.weights, f.response)
	var cholesky mat.Cholesky
	evidence := make([]float64, len(f.design.Predictors))
	if !cholesky.Factorize(matrix) {
		return evidence
	}
	var theta mat.VecDense
	// the error only warns of a bad condition; the prior keeps the result usable
	_ = cholesky.SolveVecTo(&theta, right)
	rows := len(f.weights)
	cross := mat.NewDense(len(t.Columns), right.Len(), nil) // x_j' W X_A
	if known := t.Products; known != nil {
		for k, column := range a.Places {
			for j, inner := range known.Row(column) {
				cross.Set(j, k, f.weights[0]*inner)
			}
		}
	} else {
		chosen := make([]float64, rows*right.Len()) // W X_A, by columns
		for k, column := range a.Columns {
			floats.MulTo(chosen[k*rows:][:rows], column, f.weights)
		}
		for j, x := range t.Columns {
			vectors.DotRows(cross.RawRowView(j), chosen, rows, x)
		}
	}
	var solved mat.Dense // (X_A'WX_A + Λ)⁻¹ X_A'W x_j as columns
	_ = cholesky.SolveTo(&solved, cross.T())
	for predictor, p := range f.design.Predictors {
		if slices.Contains(model, predictor) {
			evidence[predictor] = math.NaN()
			continue
		}
		evidence[predictor] = f.evidence(p.Coordinates, cross, &solved, &theta)
	}
	return evidence
}

// evidence returns the log Bayes factor −½ log |I + s²S| + ½ g'(S + I/s²)⁻¹g for adding columns J
// with prior standard deviation s to columns A, given working weights W and responses ŷ. With C =
// X_J'WX_A and M = X_A'WX_A + Λ (prior precision Λ), S = X_J'WX_J − C M⁻¹ C' is the information of
// J given A, and g = X_J'W(ŷ − X_Aθ_A).
func (f *screenFit) evidence(columns []int, cross, solved *mat.Dense, theta *mat.VecDense) float64 {
	t := f.target
	n := len(columns)
	if n == 1 {
		return f.evidenceOf(columns[0], cross.RawRowView(columns[0]), solved, theta)
	}
	information, score := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	logPrior := 0.0
	for a, j := range columns {
		row := cross.RawRowView(j)
		gradient := f.inner[j]
		for c, x := range row {
			gradient -= x * theta.AtVec(c)
		}
		score.SetVec(a, gradient)
		logPrior -= 2 * math.Log(t.SD[j])
		for b, k := range columns[:a+1] {
			var sum float64
			if a == b {
				sum = f.squares[j] + 1/(t.SD[j]*t.SD[j])
			} else {
				for i, w := range f.weights {
					sum += w * t.Columns[j][i] * t.Columns[k][i]
				}
			}
			for c, x := range row {
				sum -= x * solved.At(c, k)
			}
			information.SetSym(a, b, sum)
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(information) {
		return math.Inf(-1) // the columns repeat present columns
	}
	var step mat.VecDense
	_ = cholesky.SolveVecTo(&step, score)
	return (logPrior-cholesky.LogDet())/2 + mat.Dot(score, &step)/2
}

// evidenceOf returns the same as evidence for a single column j, where row is row j of C.
func (f *screenFit) evidenceOf(j int, row []float64, solved *mat.Dense, theta *mat.VecDense) float64 {
	precision := 1 / (f.target.SD[j] * f.target.SD[j])
	score, information := f.inner[j], f.squares[j]+precision
	raw := solved.RawMatrix()
	for c, x := range row {
		score -= x * theta.AtVec(c)
		information -= x * raw.Data[c*raw.Stride+j]
	}
	information = math.Max(information, precision)
	return (-2*math.Log(f.target.SD[j])-math.Log(information))/2 + score*score/information/2
}

// scaleMode returns the mode of log σ given the linear predictors.
func (f *screenFit) scaleMode(eta []float64) float64 {
	t := f.target
	mean, sd := t.Mean[t.Scale], t.SD[t.Scale]
	peak, _ := mode.Peak(func(x float64) float64 {
		return t.Responses.LogDensityAt(eta, math.Exp(x)) - (x-mean)*(x-mean)/(2*sd*sd)
	}, f.logScale, 1/(sd*sd))
	return peak
}
