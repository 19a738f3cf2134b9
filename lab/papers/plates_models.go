package papers

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/stream"
)

// plates is a model with a plate of groups, and data whose evidence is known.
type plates struct {
	model       *hbm.Model
	group       *hbm.Plate
	data        hbm.Values
	logEvidence float64
}

// newEffects returns a model of Gaussian random effects (ADAVI eq. 6, PAVI eq. 10) and data from
// it. A common mean, the means of groups about it, and samples about the means of groups are
// normal, with the three standard deviations sd, in each of dim independent dimensions.
func newEffects(groups, samples, dim int, sd [3]float64, seed uint64) *plates {
	e := &plates{model: hbm.NewModel()}
	e.group = e.model.Plate("group", groups)
	sample := e.model.Plate("sample", samples)
	mean := e.model.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(sd[0])), hbm.Event(dim))
	groupMean := e.model.Latent("group mean", hbm.Normal(mean, hbm.Number(sd[1])), hbm.On(e.group), hbm.Event(dim))
	observed := e.model.Observed("x", hbm.Normal(groupMean, hbm.Number(sd[2])), hbm.On(e.group, sample), hbm.Event(dim))

	random := stream.Rand(seed, fmt.Sprintf("effects/%d", groups))
	x := make([]float64, groups*samples*dim)
	// The averages of groups are normal about the common mean, with variance sd[1]² + within, where
	// within is the variance of an average about the mean of its group.
	n, m := float64(samples), float64(groups)
	within, shared := sd[2]*sd[2]/n, sd[0]*sd[0]
	spread := sd[1]*sd[1] + within
	normal := func(squares, variance, count float64) float64 {
		return -0.5 * (squares/variance + count*math.Log(2*math.Pi*variance))
	}
	for d := range dim {
		common := sd[0] * random.NormFloat64()
		var sum, squares float64 // sums over the averages of groups and their squares
		for g := range groups {
			center, total, left := common+sd[1]*random.NormFloat64(), 0.0, 0.0
			for i := range samples {
				x[(g*samples+i)*dim+d] = center + sd[2]*random.NormFloat64()
				total += x[(g*samples+i)*dim+d] / n
			}
			for i := range samples {
				left += (x[(g*samples+i)*dim+d] - total) * (x[(g*samples+i)*dim+d] - total)
			}
			e.logEvidence += normal(left, sd[2]*sd[2], n) - normal(0, within, 1)
			sum, squares = sum+total, squares+total*total
		}
		// The covariance of the averages is spread·I + shared·11'. The Sherman-Morrison formula
		// gives its inverse.
		e.logEvidence += normal(squares-shared*sum*sum/(spread+m*shared), spread, m) - 0.5*math.Log(1+m*shared/spread)
	}
	e.data = hbm.Values{observed: x}
	return e
}

// newRegressions returns the model of eq. 16 of the branch paper and data from it: a linear
// regression in each group, whose coefficients are normal about common coefficients θ. For a group
// with n rows, A = X'X and b = X'y,
//
//	log p(y | θ) = −½ (n log 2π + log|I + A| + y'y − (θ + b)'(I + A)⁻¹(θ + b) + θ'θ),
//
// which is quadratic in θ.
func newRegressions(groups, rows, dim int) (*plates, error) {
	g := &plates{model: hbm.NewModel(), data: hbm.Values{}}
	g.group = g.model.Plate("group", groups)
	row := g.model.Plate("row", rows)
	theta := g.model.Latent("theta", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.Event(dim))
	z := g.model.Latent("z", hbm.Normal(theta, hbm.Number(1)), hbm.On(g.group), hbm.Event(dim))
	x := g.model.Constant("x", hbm.On(g.group, row), hbm.Event(dim))
	predictor := hbm.Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, x, z)
	y := g.model.Observed("y", hbm.Normal(predictor, hbm.Number(1)), hbm.On(g.group, row))

	random := stream.Rand(1, fmt.Sprintf("regressions/%d", groups))
	vector := func(about []float64) []float64 {
		v := make([]float64, dim)
		for i := range v {
			v[i] = random.NormFloat64()
			if about != nil {
				v[i] += about[i]
			}
		}
		return v
	}
	common := vector(nil)
	precision, linear, constant := identity(dim), mat.NewVecDense(dim, nil), 0.0
	for range groups {
		coefficients := vector(common)
		a, b, yy := identity(dim), mat.NewVecDense(dim, nil), 0.0
		for range rows {
			predictors, response := vector(nil), random.NormFloat64()
			for i := range predictors {
				response += predictors[i] * coefficients[i]
			}
			g.data[x], g.data[y] = append(g.data[x], predictors...), append(g.data[y], response)
			column := mat.NewVecDense(dim, predictors)
			a.SymRankOne(a, 1, column)
			b.AddScaledVec(b, response, column)
			yy += response * response
		}
		var cholesky mat.Cholesky
		var inverse mat.SymDense
		cholesky.Factorize(a) // succeeds, since a is at least the identity
		if err := cholesky.InverseTo(&inverse); err != nil {
			return nil, err
		}
		var shift mat.VecDense
		shift.MulVec(&inverse, b)
		constant -= 0.5 * (float64(rows)*math.Log(2*math.Pi) + cholesky.LogDet() + yy - mat.Dot(b, &shift))
		linear.AddVec(linear, &shift)
		inverse.ScaleSym(-1, &inverse)
		precision.AddSym(precision, &inverse)
		precision.AddSym(precision, identity(dim))
	}
	var cholesky mat.Cholesky
	var mode mat.VecDense
	cholesky.Factorize(precision)
	if err := cholesky.SolveVecTo(&mode, linear); err != nil {
		return nil, err
	}
	g.logEvidence = constant + 0.5*mat.Dot(linear, &mode) - 0.5*cholesky.LogDet()
	return g, nil
}

func identity(n int) *mat.SymDense {
	m := mat.NewSymDense(n, nil)
	for i := range n {
		m.SetSym(i, i, 1)
	}
	return m
}
