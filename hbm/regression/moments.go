package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
)

// mostMoments is the largest number of entries, draws times quantities, of each of the matrices
// value and within, from which means and standard deviations are computed. The two matrices take at
// most 256 MiB.
const mostMoments = 1 << 24

// momentDraws holds weighted draws of the summarised quantities, in the units of the table:
// population effects, standard deviations, and the effects of all levels. Means and standard
// deviations come from all draws with positive weight, because there are few equally weighted
// draws.
type momentDraws struct {
	weight []float64
	group  []int // group of each draw; only draws of different groups are independent; nil if all draws are
	known  int   // number of quantities in value: the first known of all quantities
	// value [N, Q] is the expectation of a quantity given the other coordinates of a draw, and
	// within [N, Q] an unbiased estimate of its variance given these coordinates. within is nil if
	// the value is the quantity itself.
	value, within *mat.Dense
}

// quantities returns the number of quantities: population effects, standard deviations, and the
// effects of all levels.
func (r *Regression) quantities() int { return r.firstQuantity(len(r.groups)) }

// moments estimates the moments of a quantity.
func (m *momentDraws) moments(quantity int) weighted.Moments {
	column := func(from *mat.Dense) []float64 {
		if from == nil {
			return nil
		}
		return mat.Col(nil, quantity, from)
	}
	return weighted.MomentsOf(m.weight, column(m.value), column(m.within), m.group)
}

// momentRows returns the rows of a weighted sample from which moments are computed, with their
// weights. It takes all rows with a positive weight or, if their entries are more than mostMoments,
// rows drawn by their weights.
func (r *Regression) momentRows(weight []float64, seed uint64) (rows []int, kept []float64) {
	most := mostMoments / max(r.quantities(), 1)
	for i, w := range weight {
		if w > 0 {
			rows, kept = append(rows, i), append(kept, w)
		}
	}
	if len(rows) <= most {
		return rows, kept
	}
	rows = weighted.Rows(weight, most, stream.Rand(seed, "hbm/moments"))
	return rows, slices.Repeat([]float64{1}, len(rows))
}

// momentChunk is the number of draws that share one stream of random numbers.
const momentChunk = 256

// exactMoments finds the moments of all quantities by weighted draws of models and their
// hyperparameters. Given these, the expectations of all effects are known, and a draw estimates
// variances.
func (f *integral) exactMoments(ctx gocontext.Context) (*momentDraws, error) {
	r, d := f.r, f.draws
	rows, kept := r.momentRows(d.weight, f.seed)
	if len(rows) == 0 {
		return nil, nil
	}
	m := &momentDraws{weight: kept, known: r.quantities(), value: mat.NewDense(len(rows), r.quantities(), nil), within: mat.NewDense(len(rows), r.quantities(), nil)}
	return m, parallel.Do((len(rows)+momentChunk-1)/momentChunk, func(chunk int) error {
		random, theta := stream.Rand(f.seed, fmt.Sprintf("hbm/moments/%d", chunk)), make([]float64, r.Dim())
		for i := chunk * momentChunk; i < min((chunk+1)*momentChunk, len(rows)); i++ {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("summing effects up stopped: %w", err)
			}
			model := d.model[rows[i]]
			conditional, drawn, ok := r.joint().drawAt(model, d.place[rows[i]], theta, random)
			if !ok {
				return fmt.Errorf("%s: the precision of the effects given the standard deviations is not positive definite: rescale the columns", r.Frame.Path)
			}
			value, within := m.value.RawRowView(i), m.within.RawRowView(i)
			r.quantitiesOf(conditional, conditional.effectsOf(conditional.centre), model.mask, theta, value)
			r.quantitiesOf(conditional, drawn, model.mask, theta, within)
			for k, mean := range value {
				distance := within[k] - mean
				within[k] = distance * distance
			}
		}
		return nil
	})
}

// quantitiesOf writes every quantity, given effects less their prior mean and the hyperparameters
// in θ. It overwrites the coefficients in θ, and returns the distribution of the response.
func (r *Regression) quantitiesOf(conditional *conditional, effects []float64, mask []bool, theta, dst []float64) response {
	for j, mean := range conditional.mean {
		theta[j] = mean + effects[j]
	}
	columns, first := r.effectCount(), r.firstQuantity(0)
	if r.x != nil {
		r.tableEffects(mask, theta, dst[:columns])
	}
	response := r.responseAt(mask, theta)
	r.tableSDs(conditional.factors, response, conditional.shares, dst[columns:first])
	for i := range r.groups {
		r.tableLevels(i, conditional.e, effects, dst[r.firstQuantity(i):r.firstQuantity(i+1)])
	}
	return response
}

// momentsOf finds the moments of the quantities that weighted draws hold.
func (r *Regression) momentsOf(d weightedDraws, seed uint64) *momentDraws {
	rows, kept := r.momentRows(d.weight, seed)
	if len(rows) == 0 || d.known == 0 {
		return nil
	}
	m := &momentDraws{weight: kept, known: d.known, value: mat.NewDense(len(rows), d.known, nil)}
	theta, all := make([]float64, r.Dim()), make([]float64, r.quantities())
	for k, at := range rows {
		if d.group != nil {
			m.group = append(m.group, d.group[at])
		}
		code, _, _ := d.model(at)
		mask := r.space.masks[r.index(code)]
		prior, effects := d.held(at, mask, theta)
		r.quantitiesOf(prior, effects, mask, theta, all)
		copy(m.value.RawRowView(k), all)
	}
	return m
}

// firstQuantity returns the index of the first effect of a grouping among the quantities.
func (r *Regression) firstQuantity(group int) int {
	first := r.effectCount() + len(r.sdNames)
	for _, g := range r.groups[:group] {
		first += r.effects(g)
	}
	return first
}

// sharp reports whether the moments of the first quantities have small errors: 2 percent of a
// standard deviation for means, and 2.5 percent for standard deviations. 2,500 and 800 independent
// normal draws have these errors.
func (m *momentDraws) sharp(quantities int) bool {
	for k := range quantities {
		one := m.moments(k)
		if !(one.MeanSE <= 0.02*one.SD && one.SDSE <= 0.025*one.SD) && one.SD != 0 {
			return false
		}
	}
	return true
}

// unresolved returns a sentence that names a quantity whose prior has a standard deviation, but
// whose posterior standard deviation the weighted draws do not determine; "" if there is none. This
// happens if a flow with little training has lighter tails than the posterior of standard
// deviations of groups: weights can be reliable although their products with squares are not.
func (r *Regression) unresolved(sample vti.WeightedSample, seed uint64) string {
	heavy := func(c coordinate) bool { return c.kind == sdCoordinate && c.prior == HalfCauchySD }
	m := r.drawsOf(sample, 0, seed).moments
	if m == nil || slices.ContainsFunc(r.coordinates, heavy) {
		return ""
	}
	names := slices.Concat(r.Frame.CoefficientNames(), r.sdNames)
	for k, name := range names[:min(len(names), m.known)] {
		if math.IsNaN(m.moments(k).SD) {
			return "draws do not resolve the standard deviation of " + name
		}
	}
	return ""
}

// momentsOf returns the moments of a quantity: from all weighted draws if these include the
// quantity, otherwise from its equally weighted draws.
func (s *posteriorSample) momentsOf(quantity int, draws []float64) weighted.Moments {
	if s.moments != nil && quantity < s.moments.known {
		return s.moments.moments(quantity)
	}
	m := weighted.MomentsOf(slices.Repeat([]float64{1}, len(draws)), draws, nil, nil)
	// The draws were chosen from weighted draws of effective size s.ess, whose error is added.
	more := math.Sqrt(1 + float64(len(draws))/math.Max(s.ess, 1))
	m.MeanSE, m.SDSE = more*m.MeanSE, more*m.SDSE
	return m
}

// listSDs names the columns of tableSDs: the standard deviations and correlations of each grouping,
// σ or cut points, and shares of steps.
func (r *Regression) listSDs() (names []string) {
	for _, g := range r.groups {
		for _, c := range g.Spreads() {
			names = append(names, g.SpreadName(c))
		}
		for a := range g.Columns {
			for b := range a {
				if g.partial[a][b] >= 0 {
					names = append(names, r.coordinates[g.partial[a][b]].name)
				}
			}
		}
	}
	if r.noise >= 0 {
		names = append(names, r.Frame.Response.Scale())
	}
	return slices.Concat(names, r.Frame.CutNames(), r.shareNames())
}

// tableSDs writes standard deviations and correlations in the units of the table, given Λ of each
// grouping, with σ or cut points, and shares of steps. Numbers that the model lacks are zero.
func (r *Regression) tableSDs(factors [][][]float64, response response, shares, dst []float64) {
	at := 0
	put := func(x float64) {
		dst[at] = x
		at++
	}
	for i, g := range r.groups {
		factor := factors[i]
		for c := range g.Spreads() {
			put(floats.Norm(factor[c], 2) * r.ySD / g.zSD[c])
		}
		for a := range factor {
			for b := range a {
				if g.partial[a][b] < 0 {
					continue
				}
				product, scale := dot(factor[a], factor[b]), floats.Norm(factor[a], 2)*floats.Norm(factor[b], 2)
				if scale > 0 {
					product /= scale
				}
				put(product)
			}
		}
	}
	if r.noise >= 0 {
		put(response.sigma * r.ySD)
	}
	for _, cut := range response.cuts {
		put(cut)
	}
	for _, share := range shares {
		put(share)
	}
}
