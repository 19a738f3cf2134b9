package exact

import (
	"context"
	"math"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/varsel/design"
)

// Weighted is the posterior of the parameters of a model, with the probability of the model.
// Coordinates holds the positions of the model's coefficients among all coefficients.
type Weighted struct {
	*Posterior
	Coordinates []int
	Probability float64
}

// Settings of quantiles and moments. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	// The listedModels most probable models enter quantiles one by one. All other models enter as
	// one normal distribution with their joint moments. A model less probable than resolvedShare
	// enters as a normal distribution, too, instead of a mixture over σ.
	listedModels  = 4096
	resolvedShare = 1e-4
	// Posteriors with a probability below negligibleMoment add nothing to moments, even if a mean
	// is millions of standard deviations away.
	negligibleMoment = 1e-22
	// momentBlock is the number of models whose posteriors are added up at a time.
	momentBlock = 64
)

// Coefficients returns the posteriors of dim coefficients on the scale of a table, followed by the
// posterior of σ if it is unknown. The function posteriors returns the posteriors of model k.
// Models must be ordered by falling probability, and all probabilities must sum to one.
//
// The posteriors are sums over models, not averages of draws. With hardly any noise, the
// coefficients of a model of probability 1e-5, which is in no draw, can be so far away that this
// model adds half of the variance of a coefficient.
func Coefficients(ctx context.Context, models, dim int, unknown bool, scaling *design.Scaling, posteriors func(k int) ([]Weighted, error)) ([]Coefficient, error) {
	count := dim
	if unknown {
		count++
	}
	blocks := make([][]marginal, (models+momentBlock-1)/momentBlock)
	err := parallel.For(ctx, len(blocks), func(block int) error {
		into := make([]marginal, count)
		for k := block * momentBlock; k < min((block+1)*momentBlock, models); k++ {
			parts, err := posteriors(k)
			if err != nil {
				return err
			}
			for _, part := range parts {
				if part.Probability > negligibleMoment {
					part.addTo(into, scaling, k < listedModels)
				}
			}
		}
		blocks[block] = into
		return nil
	})
	if err != nil {
		return nil, err
	}
	whole, out := make([]marginal, count), make([]Coefficient, count)
	parallel.Run(count, func(j int) {
		for _, block := range blocks {
			whole[j].merge(&block[j])
		}
		shift := 0.0
		if j == scaling.Level {
			_, shift = scaling.LevelWeights()
		}
		out[j] = whole[j].summary(shift)
	})
	return out, nil
}

// addTo adds the posteriors of all coefficients of a model, and of σ.
func (w *Weighted) addTo(into []marginal, scaling *design.Scaling, listed bool) {
	resolved, by := listed && w.Probability >= resolvedShare, w.bySigma()
	weights := make([]float64, len(w.Coordinates)) // weights of a linear function of θ
	for k, j := range w.Coordinates {
		clear(weights)
		if weights[k] = scaling.Slope(j); j == scaling.Level {
			all, _ := scaling.LevelWeights()
			for other, c := range w.Coordinates {
				weights[other] = all[c]
			}
		}
		mean, variance := by.average(weights)
		sum := moments{w.Probability, mean, w.Probability * variance}
		into[j].all.merge(sum)
		switch {
		case resolved:
			for t, share := range w.shares {
				into[j].components = append(into[j].components, component{share * w.Probability, by.means[t], math.Sqrt(by.variances[t])})
			}
		case listed:
			into[j].components = append(into[j].components, component{sum.mass, sum.mean, sum.sd()})
		default:
			into[j].rest.merge(sum)
		}
	}
	if w.noise.SD > 0 {
		w.addScale(&into[len(into)-1], scaling.YSD, resolved)
	}
}

// addScale adds the posterior of σ, multiplied by unit.
func (w *Weighted) addScale(to *marginal, unit float64, resolved bool) {
	var sum moments
	for t, x := range w.logSigmas {
		sum.add(w.shares[t]*w.Probability, unit*math.Exp(x), 0)
	}
	to.all.merge(sum)
	if !resolved {
		to.rest.merge(sum)
		return
	}
	fine := w.interpolate(scaleFine)
	for i, x := range fine.points[1:] {
		width := x - fine.points[i]
		middle := unit * math.Exp(x-width/2)
		to.components = append(to.components, component{fine.cell(i) * w.Probability, middle, middle * width / math.Sqrt(12)})
	}
}

// Moments returns the posterior means and variances of the coefficients [k].
func (p *Posterior) Moments() (means, variances []float64) {
	by, weights := p.bySigma(), make([]float64, len(p.sd))
	for k := range weights {
		clear(weights)
		weights[k] = 1
		mean, variance := by.average(weights)
		means, variances = append(means, mean), append(variances, variance)
	}
	return means, variances
}

// bySigma holds, for each of T values of log σ, terms of the posterior of the coefficients given σ.
// For each of the q singular values d these are the posterior mean d/(σ² + d²) c (shrunk) and the
// share of the prior variance that remains, σ²/(σ² + d²) (left).
type bySigma struct {
	*Posterior
	shrunk, left     []float64 // [T·q]
	along            []float64 // scratch [q]
	means, variances []float64 // mean and variance of a linear function given each σ; set by average [T]
}

func (p *Posterior) bySigma() *bySigma {
	points, q := len(p.logSigmas), len(p.d)
	by := &bySigma{p, make([]float64, 0, points*q), make([]float64, 0, points*q), make([]float64, q), make([]float64, points), make([]float64, points)}
	for _, x := range p.logSigmas {
		noise := math.Exp(2 * x)
		for i, d := range p.d {
			total := noise + d*d
			by.shrunk, by.left = append(by.shrunk, d/total*p.c[i]), append(by.left, noise/total)
		}
	}
	return by
}

// average returns the mean and the variance of Σ_j w_j θ_j, where w is weights. It sets by.means
// and by.variances to the mean and the variance given each value of σ.
func (by *bySigma) average(weights []float64) (mean, variance float64) {
	centre, outside := by.functional(weights, by.along)
	q := len(by.along)
	for t, share := range by.shares {
		shrunk, left := by.shrunk[t*q:][:q], by.left[t*q:][:q]
		m, v := centre, outside
		for i, a := range by.along {
			m += a * shrunk[i]
			v += a * a * left[i]
		}
		by.means[t], by.variances[t] = m, v
		mean += share * m
		variance += share * v
	}
	for t, share := range by.shares {
		apart := by.means[t] - mean
		variance += share * apart * apart
	}
	return mean, variance
}

// functional describes a linear function Σ_j w_j θ_j of the coefficients, whose posterior given σ
// is normal. It returns the prior mean of the function, and its prior variance in the directions
// orthogonal to the right singular vectors, on which the rows have no information. It writes the
// coefficients of the function along the right singular vectors to along [q].
func (m *Model) functional(weights, along []float64) (centre, outside float64) {
	clear(along)
	for j, w := range weights {
		if w == 0 {
			continue
		}
		centre += w * m.mean[j]
		outside += w * m.sd[j] * w * m.sd[j]
		for i := range m.d {
			along[i] += w * m.sd[j] * m.v[i][j]
		}
	}
	if len(m.d) == len(weights) {
		return centre, 0
	}
	for _, a := range along {
		outside -= a * a
	}
	return centre, max(outside, 0)
}
