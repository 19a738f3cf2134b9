package modelcheck_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/modelcheck"
)

// noise is a likelihood for tests: the distribution of y given the linear predictor and the noise
// scale.
type noise struct {
	name       string
	kind       modelcheck.Kind
	draw       func(eta, sigma float64, random *rand.Rand) float64
	logDensity func(y, eta, sigma float64) float64
}

func normalDensity(y, eta, sigma float64) float64 {
	r := (y - eta) / sigma
	return -r*r/2 - math.Log(sigma)
}

var noises = []noise{
	{"gaussian", modelcheck.Continuous, func(eta, sigma float64, random *rand.Rand) float64 { return eta + sigma*random.NormFloat64() }, normalDensity},
	{"robust", modelcheck.Continuous, func(eta, sigma float64, random *rand.Rand) float64 {
		if random.Float64() < 0.1 {
			sigma *= 10
		}
		return eta + sigma*random.NormFloat64()
	}, func(y, eta, sigma float64) float64 {
		return math.Log(0.9*math.Exp(normalDensity(y, eta, sigma)) + 0.1*math.Exp(normalDensity(y, eta, 10*sigma)) + 1e-300)
	}},
	{"student", modelcheck.Continuous, func(eta, sigma float64, random *rand.Rand) float64 {
		return eta + sigma*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 4, Src: random}.Rand()
	}, func(y, eta, sigma float64) float64 {
		r := (y - eta) / sigma
		return -2.5*math.Log1p(r*r/4) - math.Log(sigma)
	}},
	{"logistic", modelcheck.Binary, func(eta, _ float64, random *rand.Rand) float64 {
		if random.Float64() < probability(eta) {
			return 1
		}
		return 0
	}, func(y, eta, _ float64) float64 {
		return y*eta - math.Max(eta, 0) - math.Log1p(math.Exp(-math.Abs(eta)))
	}},
	{"poisson", modelcheck.Count, func(eta, _ float64, random *rand.Rand) float64 {
		return distuv.Poisson{Lambda: math.Exp(eta), Src: random}.Rand()
	}, func(y, eta, _ float64) float64 { return y*eta - math.Exp(eta) }},
}

func probability(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }

// moments returns the mean and, up to a constant factor, the standard deviation of a response.
func (l noise) moments(eta, sigma float64) (mean, sd float64) {
	switch l.kind {
	case modelcheck.Binary:
		p := probability(eta)
		return p, math.Sqrt(p * (1 - p))
	case modelcheck.Count:
		return math.Exp(eta), math.Exp(eta / 2)
	}
	return eta, sigma
}

// regressionTable is a response with the columns of its design.
type regressionTable struct {
	noise noise
	x     [][]float64 // columns of the design, a constant first
	y     []float64
}

func (t *regressionTable) eta(theta []float64, i int) float64 {
	eta := 0.0
	for j, c := range t.x {
		eta += theta[j] * c[i]
	}
	return eta
}

// priorTable draws a design, parameters and responses. Columns are normal, uniform or two-valued.
// The parameters are the coefficients, which are N(0, 1), and log σ ~ N(0, 1). A third of the
// continuous responses are rounded to multiples of σ/4, which hardly changes the posterior.
func priorTable(l noise, n, predictors int, random *rand.Rand) (*regressionTable, []float64) {
	t := &regressionTable{noise: l, x: make([][]float64, predictors+1), y: make([]float64, n)}
	theta := make([]float64, predictors+2)
	for j := range t.x {
		t.x[j] = make([]float64, n)
		shape := random.IntN(3)
		for i := range n {
			switch {
			case j == 0:
				t.x[j][i] = 1
			case shape == 0:
				t.x[j][i] = random.NormFloat64()
			case shape == 1:
				t.x[j][i] = 3 * (random.Float64() - 0.5)
			default:
				t.x[j][i] = float64(random.IntN(2))
			}
		}
		theta[j] = random.NormFloat64()
	}
	theta[predictors+1] = random.NormFloat64()
	unit := 0.0
	if l.kind == modelcheck.Continuous && random.IntN(3) == 0 {
		unit = math.Exp(theta[predictors+1]) / 4
	}
	for i := range t.y {
		t.y[i] = l.draw(t.eta(theta, i), math.Exp(theta[predictors+1]), random)
		if unit > 0 {
			t.y[i] = unit * math.Round(t.y[i]/unit)
		}
	}
	return t, theta
}

// input returns the input of a check of the table. The function next returns the parameters theta
// of the next draw.
func (t *regressionTable) input(random *rand.Rand, next func() []float64) modelcheck.RegressionInput {
	in := modelcheck.RegressionInput{
		Kind: t.noise.kind, Response: modelcheck.Column{Name: "y", Values: t.y},
		Draw: func(_ int, mean, sd, replicate []float64) {
			theta := next()
			sigma := math.Exp(theta[len(theta)-1])
			for i := range mean {
				eta := t.eta(theta, i)
				mean[i], sd[i] = t.noise.moments(eta, sigma)
				replicate[i] = t.noise.draw(eta, sigma, random)
			}
		},
	}
	for j, c := range t.x[1:] {
		in.Predictors = append(in.Predictors, modelcheck.Column{Name: fmt.Sprintf("x%d", j+1), Values: c})
	}
	return in
}

// chain returns a random walk on the posterior of a table from priorTable. The parameters drawn
// together with the table are a draw from the posterior, so that a chain from them is stationary
// from the first step.
func (t *regressionTable) chain(theta []float64, random *rand.Rand) func() []float64 {
	logPosterior := func(theta []float64) float64 {
		value := 0.0
		for _, v := range theta {
			value -= v * v / 2
		}
		sigma := math.Exp(theta[len(theta)-1])
		for i, y := range t.y {
			value += t.noise.logDensity(y, t.eta(theta, i), sigma)
		}
		return value
	}
	now := logPosterior(theta)
	return func() []float64 {
		for range 3 {
			// Steps have several sizes, for narrow and wide posteriors.
			step := math.Exp(-3 * random.Float64())
			proposal := make([]float64, len(theta))
			for j := range proposal {
				proposal[j] = theta[j] + step*random.NormFloat64()/math.Sqrt(float64(len(t.y)))
			}
			if value := logPosterior(proposal); math.Log(random.Float64()) < value-now {
				theta, now = proposal, value
			}
		}
		return theta
	}
}

// fitted returns draws around the maximum of the likelihood with weak normal priors, found by
// iterated weighted least squares. The draws are exact for normal noise given σ.
func (t *regressionTable) fitted(random *rand.Rand) func() []float64 {
	n, dim := len(t.y), len(t.x)
	theta := make([]float64, dim+1)
	var factor mat.Cholesky
	for range 50 {
		precision, right := mat.NewSymDense(dim, nil), mat.NewVecDense(dim, nil)
		for j := range dim {
			precision.SetSym(j, j, 1e-6)
		}
		for i := range n {
			eta := t.eta(theta, i)
			mean, sd := t.noise.moments(eta, 1)
			slope := max(sd*sd, 1e-6)
			for j := range dim {
				for k := range j + 1 {
					precision.SetSym(j, k, precision.At(j, k)+slope*t.x[j][i]*t.x[k][i])
				}
				right.SetVec(j, right.AtVec(j)+t.x[j][i]*(slope*eta+t.y[i]-mean))
			}
		}
		if !factor.Factorize(precision) {
			panic("fitted: not positive definite")
		}
		solution := mat.NewVecDense(dim, nil)
		if err := factor.SolveVecTo(solution, right); err != nil {
			panic(err)
		}
		for j := range dim { // change by at most 1 in a step, to avoid overflow of counts
			theta[j] += max(-1, min(1, solution.AtVec(j)-theta[j]))
			if t.noise.kind == modelcheck.Continuous {
				theta[j] = solution.AtVec(j)
			}
		}
	}
	squares := 0.0
	for i, y := range t.y {
		squares += math.Pow(y-t.eta(theta, i), 2)
	}
	return func() []float64 {
		out := make([]float64, dim+1)
		scale := 1.0
		if t.noise.kind == modelcheck.Continuous {
			scale = math.Sqrt(squares / distuv.ChiSquared{K: float64(n - dim), Src: random}.Rand())
		}
		z := mat.NewVecDense(dim, nil)
		for j := range dim {
			z.SetVec(j, random.NormFloat64())
		}
		var upper mat.TriDense
		factor.UTo(&upper)
		if err := z.SolveVec(&upper, z); err != nil {
			panic(err)
		}
		for j := range dim {
			out[j] = theta[j] + scale*z.AtVec(j)
		}
		out[dim] = math.Log(scale)
		return out
	}
}
