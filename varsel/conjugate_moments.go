package varsel

import (
	gocontext "context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/transdim/vti"
)

// mostDecomposed is the largest number of models whose moments are found one by one. Chosen by
// hand: a second of work where the evidences took as long.
const mostDecomposed = 1 << 12

// Components of weights below the first two shares add nothing: to moments, where the mean of an
// improbable model may be millions of standard deviations away, and to quantiles.
const (
	negligibleMoment   = 1e-22
	negligibleQuantile = 1e-9
	// resolvedShare is the share of a model from which on its components enter quantiles one by
	// one, and not as the one normal distribution with their moments. Chosen by hand.
	resolvedShare = 1e-4
)

// decomposedMoments are the posteriors of the coefficients on the scale of the table, and of σ last
// where it is unknown, from the singular values of each model: they keep their digits where the
// sums of squares of [Exact] lose them. models are all that have a probability; nil says that they
// are too many, or that one cannot be decomposed.
//
// A sum, and not draws: with hardly any noise a model of probability 1e-5, which no draw holds, can
// be so far away that it adds half of the variance of a coefficient.
func (p *Problem) decomposedMoments(ctx gocontext.Context, models []vti.ModelEstimate) []Coefficient {
	components := p.components
	switch {
	case len(models) > mostDecomposed || p.Model.Slab != (Slab{}):
		return nil
	case p.assigned() != nil:
		components = func(code []int32, probability float64) (map[int][]mixtureComponent, error) {
			return p.assigned().components(p, code, probability)
		}
	case !p.Model.Likelihood.Conjugate():
		return nil
	}
	parts := make([]map[int][]mixtureComponent, len(models)) // by coordinate
	var next, failures atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(models)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(models) && ctx.Err() == nil && failures.Load() == 0; i = int(next.Add(1)) - 1 {
				var err error
				if models[i].Certified > 0 {
					if parts[i], err = components(models[i].Code, models[i].Certified); err != nil {
						failures.Add(1)
					}
				}
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil || failures.Load() > 0 {
		return nil
	}
	mixtures := make([]normalMixture, len(p.Target.mean))
	for _, part := range parts {
		for j := range mixtures {
			mixtures[j].components = append(mixtures[j].components, part[j]...)
		}
	}
	rows := make([]Coefficient, 0, len(mixtures))
	for j := range mixtures {
		name, shift, spacing := p.Design.ScaleName(), 0.0, logSigmaStep(p.Design.Rows(), p.Target.sd[j])
		if j != p.Target.scale {
			name, spacing = p.Design.Names[j], 0
			if j == p.Design.Scaling.Level {
				_, shift = p.Design.Scaling.LevelWeights()
			}
		}
		averaged, given := mixtures[j].averagedAndGiven(shift, spacing)
		rows = append(rows, coefficient(name, averaged, given))
	}
	return rows
}

// components are the normal distributions that the coefficients of one model have given each point
// of log σ, by coordinate, with weights that sum to its probability.
func (p *Problem) components(code []int32, probability float64) (map[int][]mixtureComponent, error) {
	if p.Slots != nil {
		code = bitCode(p.members(code), len(p.Design.Predictors))
	}
	a := p.Target.active(code)
	m, err := p.Target.conjugate(a)
	if err != nil {
		return nil, err
	}
	out := map[int][]mixtureComponent{}
	return out, p.addComponents(out, m, a, probability)
}

// bitCode is the model with some of n predictors, a bit for each.
func bitCode(members []int, n int) []int32 {
	code := make([]int32, n)
	for _, s := range members {
		code[s] = 1
	}
	return code
}

// addComponents adds those of one decomposed model.
func (p *Problem) addComponents(out map[int][]mixtureComponent, m *conjugate, a active, probability float64) error {
	t := p.Target
	points, shares := []float64{t.logScale}, []float64{1}
	if t.scale >= 0 {
		posterior, err := newScalePosterior(m, t.mean[t.scale], t.sd[t.scale])
		if err != nil {
			return err
		}
		points, shares = posterior.points, make([]float64, len(posterior.points))
		sum := 0.0
		for i, value := range posterior.values {
			shares[i] = math.Exp(value - posterior.logEvidence)
			sum += shares[i]
		}
		for i := range shares {
			shares[i] /= sum // to their own rounding, and not to that of the evidence
		}
	}
	add := func(j int, components []mixtureComponent) {
		if probability < resolvedShare {
			components = []mixtureComponent{merged(components)}
		}
		for _, c := range components {
			if c.weight *= probability; c.weight > negligibleMoment {
				out[j] = append(out[j], c)
			}
		}
	}
	scaling := &p.Design.Scaling
	given := make([]mixtureComponent, len(points))
	for k, j := range a.coordinates {
		weights := make([]float64, len(a.coordinates)) // of θ
		weights[k] = scaling.Slope(j)
		if j == scaling.Level {
			all, _ := scaling.LevelWeights()
			for other, c := range a.coordinates {
				weights[other] = all[c]
			}
		}
		f := m.functional(weights)
		for i, logSigma := range points {
			mean, sd := f.given(logSigma)
			given[i] = mixtureComponent{shares[i], mean, sd}
		}
		add(j, given)
	}
	if t.scale >= 0 {
		for i, logSigma := range points {
			given[i] = mixtureComponent{shares[i], math.Exp(logSigma) * scaling.YSD, 0}
		}
		add(t.scale, given)
	}
	return nil
}

// merged is the normal distribution with the moments of components whose weights sum to one.
func merged(components []mixtureComponent) (one mixtureComponent) {
	for _, c := range components {
		one.mean += c.weight * c.mean
	}
	variance := 0.0
	for _, c := range components {
		variance += c.weight * (c.sd*c.sd + (c.mean-one.mean)*(c.mean-one.mean))
	}
	one.weight, one.sd = 1, math.Sqrt(variance)
	return one
}

// functional is a linear function of the coefficients of a model: its posterior given σ is normal.
type functional struct {
	model   *conjugate
	centre  float64   // under the prior mean
	along   []float64 // on the right singular vectors
	outside float64   // variance that no row says anything of
}

// functional is Σ_j weights_j θ_j.
func (m *conjugate) functional(weights []float64) functional {
	f := functional{model: m, along: make([]float64, len(m.d))}
	for j, w := range weights {
		f.centre += w * m.mean[j]
		f.outside += w * m.sd[j] * w * m.sd[j]
		for i := range m.d {
			f.along[i] += w * m.sd[j] * m.v[i][j]
		}
	}
	for _, a := range f.along {
		f.outside -= a * a
	}
	if f.outside = max(f.outside, 0); len(m.d) == len(weights) {
		f.outside = 0
	}
	return f
}

// given returns mean and standard deviation given σ: sums in which nothing cancels.
func (f functional) given(logSigma float64) (mean, sd float64) {
	noise, variance := math.Exp(2*logSigma), f.outside
	mean = f.centre
	for i, d := range f.model.d {
		total := noise + d*d
		mean += f.along[i] * (d / total) * f.model.c[i]
		variance += f.along[i] * f.along[i] * (noise / total)
	}
	return mean, math.Sqrt(variance)
}

// averagedAndGiven summarises what is zero without the components, and given them, both plus a
// shift: variances are sums of squares about the mean. Points of a grid over the logarithm, which
// have no sd, are as wide as their spacing where quantiles are found.
func (m *normalMixture) averagedAndGiven(shift, spacing float64) (averaged, given MarginalSummary) {
	var mass, mean float64
	for _, c := range m.components {
		mass += c.weight
	}
	if mass == 0 {
		nan := math.NaN()
		return MarginalSummary{}, MarginalSummary{nan, nan, nan, nan}
	}
	for _, c := range m.components {
		mean += c.weight / mass * c.mean
	}
	variance := 0.0
	kept := normalMixture{}
	for _, c := range m.components {
		variance += c.weight / mass * (c.sd*c.sd + (c.mean-mean)*(c.mean-mean))
		if c.weight > negligibleQuantile*mass {
			if c.sd == 0 {
				c.sd = spacing * c.mean / math.Sqrt(12)
			}
			kept.components = append(kept.components, c)
		}
	}
	inside := kept.given(mass)
	given = MarginalSummary{Mean: shift + mean, SD: math.Sqrt(variance), Q025: shift + inside.quantile(levels[0]), Q975: shift + inside.quantile(levels[1])}
	const rounding = 1e-12 // of the probabilities of all models
	if mass > 1-rounding {
		return given, given
	}
	kept.atZero = 1 - mass
	averaged = MarginalSummary{
		Mean: shift + mass*mean, SD: math.Sqrt(mass*variance + mass*(1-mass)*mean*mean),
		Q025: shift + kept.quantile(levels[0]), Q975: shift + kept.quantile(levels[1]),
	}
	return averaged, given
}
