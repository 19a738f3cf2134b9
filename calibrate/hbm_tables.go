package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// drawPrior draws a table from the priors. It returns nil if a count is too large.
func (h Hbm) drawPrior(random *rand.Rand) *hbmTable {
	t := &hbmTable{group: make([]int, h.Rows), x: make([]float64, h.Rows), y: make([]float64, h.Rows), levels: make([]float64, h.Groups)}
	for i := range t.x {
		t.x[i] = random.NormFloat64()
		t.group[i] = i % h.Groups
	}
	mean, xSD := stat.MeanStdDev(t.x, nil)
	options := h.Record.Model
	slope := cmp.Or(options.CoefficientScale, 1.5) * random.NormFloat64() / xSD
	level := cmp.Or(options.InterceptScale, InterceptSD) * random.NormFloat64()
	t.spread = cmp.Or(options.SDScale, 1) * drawRatio(options.SDPrior, random)
	t.sd = math.Exp(h.Record.Frame.Response.ScaleSD() * random.NormFloat64())
	for g := range t.levels {
		t.levels[g] = t.spread * random.NormFloat64()
	}
	kind := h.Record.Frame.Response
	if kind == likelihood.CategoricalKind {
		h.drawUnordered(t, mean, xSD, random)
		return t
	}
	t.slopes, t.byGroup = []hbmParameter{{"slope", "x", slope}}, []groupEffects{{"(Intercept)", t.levels}}
	var noise likelihood.Row
	if kind.Ordered() { // cut points replace the intercept
		cuts := h.drawCuts(random)
		noise, level = cuts, 0
		for k, point := range cuts.Points { // the cut point at x = 0
			name := fmt.Sprintf("%d|%d", k, k+1)
			t.cuts = append(t.cuts, hbmParameter{"cut point " + name, name, point + slope*mean})
		}
	} else {
		noise = likelihood.New(kind, likelihood.Shape{Degrees: cmp.Or(options.Degrees, 4)})
	}
	for i := range t.y {
		t.y[i] = noise.Draw(level+slope*(t.x[i]-mean)+t.levels[t.group[i]], t.sd, random)
		if kind.Link() == likelihood.LogLink && !(t.y[i] <= mostCounted) {
			return nil
		}
	}
	return t
}

// orderedLevels lists the ordered categories from which responses are drawn.
var orderedLevels = []string{"0", "1", "2", "3"}

// drawCuts draws cut points such that the probabilities of the categories have the distribution
// Dirichlet(1, …, 1).
func (h Hbm) drawCuts(random *rand.Rand) *likelihood.Cuts {
	drawnCategories := len(orderedLevels)
	categories := likelihood.NewCategories(h.Record.Frame.Response, drawnCategories).(likelihood.OrderedCategories)
	tails := apply.UpTo(drawnCategories, func(int) float64 { return random.ExpFloat64() })
	floats.CumSum(tails, tails)
	points := make([]float64, drawnCategories-1)
	for k := range points {
		p := tails[k] / tails[drawnCategories-1]
		if h.Record.Frame.Response == likelihood.CumulativeLogitKind {
			points[k] = math.Log(p) - math.Log1p(-p)
		} else {
			points[k] = distuv.UnitNormal.Quantile(p)
		}
	}
	return categories.Cut(points)
}

// drawRatio draws a standard deviation divided by the scale of its prior.
func drawRatio(prior regression.SDPrior, random *rand.Rand) float64 {
	switch prior {
	case regression.HalfCauchySD:
		return math.Abs(random.NormFloat64() / random.NormFloat64())
	case regression.ExponentialSD:
		return random.ExpFloat64()
	}
	return math.Abs(random.NormFloat64())
}

// GroupedCSV returns a table with a response y, a predictor x and groups g0, g1, … as text.
func GroupedCSV(y, x []float64, group []int) []byte {
	return CSV(table.Numbers("y", y), table.Numbers("x", x), Labelled("g", "g", group))
}

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
