package regression

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
)

// Numbers of equally weighted draws for the summaries of a regression.
const (
	mostDraws    = 4000
	fewestDraws  = 500     // number of draws of a regression with many levels
	drawnEffects = 2 << 20 // total number of drawn effects, about
	drawChunk    = 64      // number of draws that share a stream of random numbers
)

// posteriorSample holds equally weighted draws in the units of the table. Effects that the model of
// a draw lacks are zero.
type posteriorSample struct {
	// moments holds weighted draws, from which the means and standard deviations of the quantities
	// in them are computed; nil without weighted draws
	moments    *momentDraws
	ess        float64 // effective size of the weighted draws from which the draws were chosen
	codes      [][]int32
	logP, logQ []float64
	draws      *mat.Dense // all quantities of quantitiesOf [N, Q], or nil without draws
	replicated *mat.Dense // statistics of replicated responses [N, …], or nil
	predictors *keptPredictors
	rough      float64 // fraction of draws whose log density has a rounding error above roughRounding
}

// weightedDraws are draws of a posterior with weights, whose effective number is ess.
type weightedDraws struct {
	weight []float64
	ess    float64
	group  []int // group of each draw, as in momentDraws
	known  int   // number of quantities that the draws hold: the first known of all quantities
	// moments holds the draws from which the moments of these quantities are computed; nil if there
	// are none.
	moments *momentDraws
	// model returns the code of the model of a draw, and its log densities under the posterior and
	// under the approximation.
	model func(at int) (code []int32, logP, logQ float64)
	// held writes the hyperparameters of a draw to θ. It returns the effects that the draw holds,
	// less their prior mean, and their prior.
	held func(at int, mask []bool, theta []float64) (*conditional, []float64)
	// draw writes the hyperparameters of a draw to θ. It returns all effects, less their prior
	// mean, and their distribution; false if there is none.
	draw func(at int, mask []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool)
}

// drawsOf returns the weighted draws of all coordinates, whose effective number is ess. They hold
// population effects, standard deviations, and the effects of the groupings that come before the
// inner grouping (whose effects are integrated out).
func (r *Regression) drawsOf(s vti.WeightedSample, ess float64, seed uint64) weightedDraws {
	groups := len(r.groups)
	if r.inner != nil {
		groups = slices.Index(r.groups, r.inner)
	}
	complete := r.completion()
	d := weightedDraws{
		weight: s.Weight, ess: ess, group: s.Dependent(), known: r.firstQuantity(groups),
		model: func(at int) ([]int32, float64, float64) { return s.Codes[at], s.LogP[at], s.LogQ[at] },
		held: func(at int, mask []bool, theta []float64) (*conditional, []float64) {
			copy(theta, s.Theta.RawRowView(at))
			prior, _, effects := r.joint().effectsAt(mask, theta)
			return prior, effects
		},
		draw: func(at int, mask []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
			copy(theta, s.Theta.RawRowView(at))
			return complete(mask, theta, random)
		},
	}
	d.moments = r.momentsOf(d, seed)
	return d
}

// sample chooses equally weighted draws, for summaries, and draws the effects of all levels. A
// regression with more effects gets fewer draws.
func (r *Regression) sample(ctx gocontext.Context, d weightedDraws, seed uint64) (*posteriorSample, error) {
	count := 1 + r.quantities() - r.firstQuantity(0)
	rows := weighted.Rows(d.weight, min(max(drawnEffects/count, fewestDraws), mostDraws), stream.Rand(seed, "hbm/resample"))
	if len(rows) == 0 {
		return &posteriorSample{}, nil
	}
	s := &posteriorSample{moments: d.moments, ess: d.ess, draws: mat.NewDense(len(rows), r.quantities(), nil)}
	if r.Frame.Reduced == nil {
		s.replicated, s.predictors = mat.NewDense(len(rows), len(r.newCheck().names), nil), r.newKept(len(rows))
	}
	for _, at := range rows {
		code, logP, logQ := d.model(at)
		s.codes, s.logP, s.logQ = append(s.codes, code), append(s.logP, logP), append(s.logQ, logQ)
	}
	return s, r.fillDraws(ctx, s, d, rows, seed)
}

// completion returns a function that draws the effects of the inner grouping (with the most
// effects) given all other coordinates in θ. For a gaussian response the function draws all
// effects, given only the hyperparameters in θ. The function returns all effects, less their prior
// mean, and their distribution.
func (r *Regression) completion() func(mask []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
	if r.Frame.Response.Conjugate() {
		return r.joint().draw
	}
	distinct := r.distinct()
	var rule *innerRule
	if r.inner != nil {
		rule = newInnerRule(distinct, coarseNodes)
	}
	return func(mask []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
		prior, v, effects := distinct.joint().effectsAt(mask, theta)
		if rule != nil {
			point, q, first := rule.pointAt(prior, effects, distinct.responseAt(mask, theta)), distinct.perLevel(), prior.e.innerAt()
			for level := range distinct.inner.Levels {
				copy(v[first+level*q:], point.draw(level, random))
			}
			copy(effects[first:], prior.effectsOf(v)[first:][:distinct.effects(distinct.inner)])
		}
		return prior, effects, true
	}
}

// fillDraws fills in the draws of a sample, which are the given rows of weighted draws.
func (r *Regression) fillDraws(ctx gocontext.Context, s *posteriorSample, d weightedDraws, rows []int, seed uint64) error {
	n := len(rows)
	rough := make([]int, (n+drawChunk-1)/drawChunk)
	err := parallel.Do(len(rough), func(c int) error {
		random, check, theta := stream.Rand(seed, fmt.Sprintf("hbm/effects/%d", c)), r.newCheck(), make([]float64, r.Dim())
		for k := c * drawChunk; k < min((c+1)*drawChunk, n); k++ {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("drawing effects stopped after %d of %d draws: %w", k, n, err)
			}
			mask := r.space.masks[r.index(s.codes[k])]
			conditional, effects, ok := d.draw(rows[k], mask, theta, random)
			if !ok {
				return fmt.Errorf("%s: the precision of the effects given the standard deviations is not positive definite: rescale the columns", r.Frame.Path)
			}
			if conditional.rounding > roughRounding {
				rough[c]++
			}
			response := r.quantitiesOf(conditional, effects, mask, theta, s.draws.RawRowView(k))
			if s.predictors != nil { // the rows of the table are in memory
				eta := conditional.e.r.ofTable(conditional.predictor(effects))
				check.statistics(r.replicate(eta, response, random), s.replicated.RawRowView(k))
				s.predictors.add(k, eta, response)
			}
		}
		return nil
	})
	for _, count := range rough {
		s.rough += float64(count) / float64(n)
	}
	return err
}

// tableLevels writes the effects of the levels of a grouping in the units of the table, plane by
// plane, column by column, level by level.
func (r *Regression) tableLevels(group int, e *jointEffects, effects, dst []float64) {
	g := r.groups[group]
	q, levels := len(g.Columns), len(g.Levels)
	for at, effect := range effects[e.firstOf[group]:][:r.effects(g)] { // level by level, plane by plane
		column, level := at%(q*r.planes), at/(q*r.planes)
		dst[column*levels+level] = effect * r.ySD / g.zSD[column%q]
	}
	r.inOdds(dst)
}

// tableEffects writes the population effects of Frame.EffectColumns in the units of the table.
func (r *Regression) tableEffects(mask []bool, theta, dst []float64) {
	effects, columns := r.Frame.EffectColumns(), len(r.Frame.Columns)
	for m := range r.planes {
		shift, intercept := r.yMean, -1
		for place, j := range effects {
			at := m*len(effects) + place
			dst[at] = 0
			if r.Frame.Columns[j].Name == formula.InterceptName {
				intercept = at
			}
			if !mask[m*columns+j] {
				continue
			}
			steps := r.Frame.StepsFrom(j)
			for k := j; k < j+steps; k++ {
				coefficient := theta[m*columns+k] * r.ySD / r.xSD[k]
				shift -= coefficient * r.xMean[k]
				dst[at] += coefficient / float64(steps) // the D coefficients b D ζ_k of a monotonic effect have the mean b
			}
		}
		if intercept >= 0 {
			dst[intercept] += shift
		}
	}
	r.inOdds(dst)
}

func (r *Regression) innerRows() [][]int {
	if r.inner == nil {
		return nil
	}
	return r.inner.Rows()
}
