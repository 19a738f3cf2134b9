package frame

import (
	"math/rand/v2"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// CoefficientNames returns the names of population effects in answers: the names of their columns,
// or LEVEL:COLUMN for the log odds of a category against the first.
func (f *Frame) CoefficientNames() []string {
	columns := apply.To(f.EffectColumns(), func(j int) Column { return f.Columns[j] })
	return f.inPlanes(columns)
}

// VaryingNames returns the names of the effects of one level of a grouping.
func (f *Frame) VaryingNames(g *Grouping) []string { return f.inPlanes(g.Columns) }

func (f *Frame) inPlanes(columns []Column) (names []string) {
	for _, plane := range f.PlaneNames() {
		for _, c := range columns {
			names = append(names, plane+c.Name)
		}
	}
	return names
}

// unordered reports whether the response has categories without an order.
func (f *Frame) unordered() bool { return f.Response.HasCategories() && !f.Response.Ordered() }

// PlaneNames returns the prefixes of coefficients in answers, one for each plane (linear predictor
// of a row).
func (f *Frame) PlaneNames() []string {
	if !f.unordered() {
		return []string{""}
	}
	return apply.To(f.Labels[1:], func(label string) string { return label + ":" })
}

// NewEffects draws the effects of a new level of a grouping with q columns, [M·q] for M linear
// predictors of a row, in the order of VaryingNames. The rows of factor are a Cholesky factor of
// the covariance of the q effects.
func (f *Frame) NewEffects(factor [][]float64, random *rand.Rand) []float64 {
	planes, q := len(f.PlaneNames()), len(factor)
	z, effects := stream.Normals(random, planes*q), make([]float64, planes*q)
	for m := range planes {
		for a := range factor {
			for b := range a + 1 {
				effects[m*q+a] += factor[a][b] * z[m*q+b]
			}
		}
	}
	if f.unordered() {
		ToOdds(likelihood.NewCategories(f.Response, len(f.Labels)).(likelihood.UnorderedCategories), effects)
	}
	return effects
}

// ToOdds overwrites values [M·count], the coefficients of M linear predictors, by log odds of each
// category against the first.
func ToOdds(c likelihood.UnorderedCategories, values []float64) {
	againstFirst, odds := make([]float64, c.Predictors()), make([]float64, c.Predictors())
	count := len(values) / len(againstFirst)
	for j := range count {
		for m := range againstFirst {
			againstFirst[m] = values[m*count+j]
		}
		c.LogOdds(againstFirst, odds)
		for k, v := range odds {
			values[k*count+j] = v
		}
	}
}
