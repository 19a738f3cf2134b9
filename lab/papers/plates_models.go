package papers

import (
	"context"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/stream"
)

// plates is a model with a plate of groups, if it has groups, and data. The log evidence is NaN if
// it is not known.
type plates struct {
	model       *hbm.Model
	group       *hbm.Plate
	data        hbm.Values
	logEvidence float64
}

// drawn returns a model without known evidence, with data that are simulated from it.
func drawn(ctx context.Context, device *gpu.Device, model *hbm.Model, group *hbm.Plate, observed *hbm.Variable, seed uint64) (*plates, error) {
	simulator, err := hbm.NewSimulator(device, model)
	if err != nil {
		return nil, err
	}
	values, err := simulator.Draw(ctx, nil, seed, "data")
	return &plates{model, group, hbm.Values{observed: values[observed]}, math.NaN()}, err
}

// newNonConjugate returns eq. 7 of ADAVI, ten Laplace samples in two dimensions about a location
// with a gamma prior, and data from it. Its evidence is a product of an integral for each
// dimension.
func newNonConjugate(ctx context.Context, device *gpu.Device, seed uint64) (*plates, error) {
	const samples, dim, rate, scale = 10, 2, 0.5, 0.3
	m := hbm.NewModel()
	a := m.Latent("a", hbm.Gamma(hbm.Number(1), hbm.Number(rate)), hbm.Event(dim))
	b := m.Observed("b", laplace(a, scale), hbm.On(m.Plate("sample", samples)), hbm.Event(dim))
	p, err := drawn(ctx, device, m, nil, b, seed)
	if err != nil {
		return nil, err
	}
	p.logEvidence = 0
	for d := range dim {
		integral, err := line.Of(line.Options{From: -6, To: 4, Step: 0.02, Tolerance: 1e-4}, func(logA float64) float64 {
			a := math.Exp(logA)
			sum := math.Log(rate) - rate*a + logA
			for i := range samples {
				sum -= math.Abs(p.data[b][i*dim+d]-a)/scale + math.Log(2*scale)
			}
			return sum
		})
		if err != nil {
			return nil, err
		}
		p.logEvidence += integral.Log
	}
	return p, nil
}

// newMixtures returns the Gaussian mixture with random effects of ADAVI (eq. 8) and PAVI (eq.
// B.22), and data from it. Each group has shares of three components, whose means scatter about
// common means.
func newMixtures(ctx context.Context, device *gpu.Device, groups, samples, dim int, sd [3]float64, seed uint64) (*plates, error) {
	const components = 3
	m := hbm.NewModel()
	group, sample := m.Plate("group", groups), m.Plate("sample", samples)
	mean := m.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(sd[0])), hbm.Event(components, dim))
	groupMean := m.Latent("group mean", hbm.Normal(mean, hbm.Number(sd[1])), hbm.On(group), hbm.Event(components, dim))
	share := m.Latent("share", uniformShares(components), hbm.On(group), hbm.Event(components))
	logShare := hbm.Of(func(v []*Node) *Node { return Log(v[0]) }, share)
	x := m.Observed("x", normalMixture(logShare, groupMean, hbm.Number(sd[2])), hbm.On(group, sample), hbm.Event(dim))
	return drawn(ctx, device, m, group, x, seed)
}

// newVariances returns eq. B.23 of PAVI, and data from it: the logarithms of the samples of a group
// are normal with a variance, whose logarithm is normal with a variance, whose logarithm is
// standard normal. The evidence is an integral over the last variance, and for each group over its
// variance.
func newVariances(ctx context.Context, device *gpu.Device, groups, samples, dim int, seed uint64) (*plates, error) {
	m := hbm.NewModel()
	group, sample := m.Plate("group", groups), m.Plate("sample", samples)
	sdOf := func(variance hbm.Term) hbm.Term {
		return hbm.Of(func(v []*Node) *Node { return Sqrt(v[0]) }, variance)
	}
	common := m.Latent("variance", hbm.LogNormal(hbm.Number(0), hbm.Number(1)), hbm.Event(dim))
	variance := m.Latent("group variance", hbm.LogNormal(hbm.Number(0), sdOf(common)), hbm.On(group), hbm.Event(dim))
	x := m.Observed("x", hbm.LogNormal(hbm.Number(0), sdOf(variance)), hbm.On(group, sample), hbm.Event(dim))
	p, err := drawn(ctx, device, m, group, x, seed)
	if err != nil {
		return nil, err
	}
	around := line.Options{From: -8, To: 8, Step: 0.25}
	p.logEvidence = 0
	for d := range dim {
		squares := make([]float64, groups) // sums of squares of log x
		for i := d; i < len(p.data[x]); i += dim {
			logX := math.Log(p.data[x][i])
			squares[i/(samples*dim)] += logX * logX
			p.logEvidence -= logX // the density of x is the density of log x divided by x
		}
		integral, err := line.Integrate(around, func(logCommon float64) (float64, struct{}, error) {
			sum, sd := distuv.UnitNormal.LogProb(logCommon), math.Exp(logCommon/2)
			for _, square := range squares {
				inner, err := line.Of(around, func(z float64) float64 { // z is the log variance, divided by sd
					logVariance := sd * z
					return distuv.UnitNormal.LogProb(z) - 0.5*(square*math.Exp(-logVariance)+float64(samples)*(logVariance+math.Log(2*math.Pi)))
				})
				if err != nil {
					return 0, struct{}{}, err
				}
				sum += inner.Log
			}
			return sum, struct{}{}, nil
		})
		if err != nil {
			return nil, err
		}
		p.logEvidence += integral.Log
	}
	return p, nil
}

// brainSize holds the numbers of subjects, sessions and vertices of a brain, of the networks in it,
// and of the dimensions of a connectome.
type brainSize struct {
	Subjects int `json:"subjects"`
	Sessions int `json:"sessions"`
	Vertices int `json:"vertices"`
	Networks int `json:"networks"`
	Dim      int `json:"dim"`
}

// brain is a model of brain connectivity, eq. B.24 of PAVI: each vertex of each subject belongs to
// one network in all sessions. Labels are summed out, and the logits of the networks at a vertex of
// a subject scatter about the logits in the population.
type brain struct {
	model                   *hbm.Model
	subject, vertex         *hbm.Plate
	mean, spread, logits, x *hbm.Variable
}

// newBrain takes options of the means of the networks.
func newBrain(size brainSize, means ...hbm.Option) brain {
	b := brain{model: hbm.NewModel()}
	m := b.model
	b.subject, b.vertex = m.Plate("subject", size.Subjects), m.Plate("vertex", size.Vertices)
	sd := hbm.Number(math.Sqrt(6))
	b.mean = m.Latent("mean", hbm.Normal(hbm.Number(0), sd), append(means, hbm.Event(size.Networks, size.Dim))...)
	b.spread = m.Latent("spread", hbm.LogNormal(hbm.Number(0), hbm.Number(1)), hbm.Event(size.Networks))
	population := m.Latent("logits", hbm.Normal(hbm.Number(0), sd), hbm.On(b.vertex), hbm.Event(size.Networks))
	between := m.Latent("between subjects", hbm.LogNormal(hbm.Number(0), hbm.Number(1)), hbm.Event(size.Networks))
	b.logits = m.Latent("logits of subject", hbm.Normal(population, between), hbm.On(b.subject, b.vertex), hbm.Event(size.Networks))
	logShares := hbm.Of(func(v []*Node) *Node { return LogSoftmax(v[0], -1) }, b.logits)
	b.x = m.Observed("x", normalMixture(logShares, b.mean, b.spread), hbm.On(b.subject, b.vertex), hbm.Event(size.Sessions, size.Dim))
	return b
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
