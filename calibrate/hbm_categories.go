package calibrate

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/apply"
)

// hbmParameter is the true value of a parameter, with the name that it has among the draws.
type hbmParameter struct {
	kind, name string
	value      float64
}

// groupEffects holds the effects of the groups on one coefficient.
type groupEffects struct {
	coefficient string
	values      []float64
}

// drawUnordered draws a category, without an order among categories, for each row of a table whose
// x, groups, and standard deviation of log odds by group are already drawn. Each category has a
// separate score with a level, a slope and group effects, each drawn with half of the prior
// variance of the same term of the log odds. The tested program instead has contrasts between
// categories as parameters.
func (h Hbm) drawUnordered(t *hbmTable, mean, xSD float64, random *rand.Rand) {
	options := h.Record.Model
	half := func(sd float64) float64 { return sd / math.Sqrt2 * random.NormFloat64() }
	scores := make([][]float64, len(drawnLevels))
	var firstLevel, firstSlope float64
	var first []float64 // effects of the groups on the first category
	for k, label := range drawnLevels {
		slope := half(cmp.Or(options.CoefficientScale, 1.5) / xSD)
		level := half(cmp.Or(options.InterceptScale, InterceptSD)) - slope*mean
		groups := apply.UpTo(len(t.levels), func(int) float64 { return half(t.spread) })
		for i, x := range t.x {
			scores[k] = append(scores[k], level+slope*x+groups[t.group[i]])
		}
		if k == 0 {
			firstLevel, firstSlope, first = level, slope, groups
			continue
		}
		for g := range groups {
			groups[g] -= first[g]
		}
		t.slopes = append(t.slopes, hbmParameter{"slope", label + ":x", slope - firstSlope}, hbmParameter{"intercept", label + ":(Intercept)", level - firstLevel})
		t.byGroup = append(t.byGroup, groupEffects{label + ":(Intercept)", groups})
	}
	drawCategories(scores, t.y, random)
}
