package regression

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/hbm/frame"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
)

// A response of K categories without an order has M = K−1 linear predictors for each row, which are
// called its planes. Any other response has one plane. Each plane has its own coefficient for every
// column of the population, and its own effect for every varying column of a level. For row i,
// plane m, and level j of grouping g,
//
//	η_im = x_i β_m + Σ_g z_gi b_gjm,   b_gjm = Λ_g u_gjm,   u_gjm ~ N(0, I).
//
// Here x_i and z_gi are the row of the columns of the population and of the varying columns, β_m
// and b_gjm the coefficients and effects, and Λ_g the Cholesky factor of the covariance of the
// effects of a level. Standard deviations and correlations are the same in all planes. The M
// predictors are coordinates of K scores in which all categories are treated alike (see
// [likelihood.UnorderedCategories]). So the log odds of any two categories have the same prior,
// which is the prior of logistic regression. Coefficients, effects and predictors are stored plane
// by plane; so are the effects within a level.

// useUnordered makes the regression one of categories without an order.
func (r *Regression) useUnordered() error {
	f := r.Frame
	r.unordered = likelihood.NewCategories(f.Response, len(f.Labels)).(likelihood.UnorderedCategories)
	r.planes = r.unordered.Predictors()
	if p := r.Options.Intercept; p != nil && p.Mean != 0 {
		return fmt.Errorf("%s: prior of the intercept: got mean %g, want 0, as log odds of categories without an order have", f.Path, p.Mean)
	}
	for _, p := range r.Options.Terms {
		if p.Mean != 0 {
			return fmt.Errorf("%s: prior %s: want mean 0, as log odds of categories without an order have", f.Path, p)
		}
	}
	return nil
}

// coefficients returns the number of population effects, over all columns and planes.
func (r *Regression) coefficients() int { return r.planes * len(r.Frame.Columns) }

// effectCount returns the number of population effects in answers: one for each of
// Frame.EffectColumns and each plane.
func (r *Regression) effectCount() int { return r.planes * len(r.Frame.EffectColumns()) }

// effects returns the number of effects of a grouping, of all levels, columns and planes.
func (r *Regression) effects(g *varyingGroup) int { return r.planes * len(g.Levels) * len(g.Columns) }

// curvatures returns the number of curvatures of a row, one for each pair of planes.
func (r *Regression) curvatures() int { return r.planes * (r.planes + 1) / 2 }

// curvatureOf returns the index of the curvature of two planes.
func curvatureOf(a, b int) int {
	if a < b {
		a, b = b, a
	}
	return a*(a+1)/2 + b
}

// mostTrained is the largest number of effects of a level if a flow is trained, because its graph
// holds every quadrature node of each draw.
const mostTrained = 3

// checkVarying returns an error if a level has too many effects to be integrated out.
func (r *Regression) checkVarying() error {
	f := r.Frame
	if f.Response.Conjugate() || r.inner == nil || r.perLevel() <= mostTrained {
		return nil
	}
	most := mostPerLevel
	if r.perLevel() <= most {
		if r.weighable() {
			return nil
		}
		most = mostTrained
	}
	q := len(r.inner.Columns)
	if r.unordered == nil {
		return fmt.Errorf("%s: %d effects vary by %s; with the %s likelihood at most %d can", f.Path, q, r.inner.Name, f.Response, most)
	}
	return fmt.Errorf("%s: %d categories have %d log odds, and %s by %s makes %d effects of each group; with the %s likelihood at most %d can vary",
		f.Path, len(f.Labels), r.planes, english.Count(q, "column"), r.inner.Name, r.perLevel(), f.Response, most)
}

func (r *Regression) perLevel() int { return r.planes * len(r.inner.Columns) }

// inOdds overwrites values [M·count] of the planes by the log odds of each category against the
// first, which answers report. It leaves the values of other responses as they are.
func (r *Regression) inOdds(values []float64) {
	if r.unordered != nil {
		frame.ToOdds(r.unordered, values)
	}
}

func (r *Regression) coefficientPrior(c frame.Column) (mean, sd float64) {
	sd = r.Options.CoefficientScale
	if c.Name == formula.InterceptName {
		sd, mean = r.Options.InterceptScale, r.Frame.Response.Centre(r.y, r.offset)
		if r.Frame.Response.HasUnit() && r.Options.ResponseSD > 0 {
			mean = r.Options.ResponseMean
		}
		if p := r.Options.Intercept; p != nil {
			mean, sd = (p.Mean-r.yMean)/r.ySD, p.SD/r.ySD
		}
	}
	return mean, sd
}

func (r *Regression) smooth() bool {
	return slices.ContainsFunc(r.groups, func(g *varyingGroup) bool { return g.Smooth })
}
