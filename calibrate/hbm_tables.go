package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// drawPrior draws a table from the priors; nil if a count is too large.
func (h Hbm) drawPrior(random *rand.Rand) *hbmTable {
	t := &hbmTable{about: h.Name(), group: make([]int, h.Rows), x: make([]float64, h.Rows), y: make([]float64, h.Rows), levels: make([]float64, h.Groups)}
	for i := range t.x {
		t.x[i] = random.NormFloat64()
		t.group[i] = i % h.Groups
	}
	mean, xSD := stat.MeanStdDev(t.x, nil)
	options := h.Record.Model
	t.slope = cmp.Or(options.CoefficientScale, 1.5) * random.NormFloat64() / xSD
	level := cmp.Or(options.InterceptScale, interceptSD) * random.NormFloat64()
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
	t.slopes, t.byGroup = []hbmParameter{{"slope", "x", t.slope}}, []groupEffects{{"(Intercept)", t.levels}}
	var noise likelihood.Row
	if kind.Ordered() { // cut points in place of the intercept
		cuts := h.drawCuts(random)
		noise, level = cuts, 0
		for k, point := range cuts.Points { // where x is 0
			name := fmt.Sprintf("%d|%d", k, k+1)
			t.cuts = append(t.cuts, hbmParameter{"cut point " + name, name, point + t.slope*mean})
		}
	} else {
		noise = likelihood.New(kind, likelihood.Shape{Degrees: cmp.Or(options.Degrees, 4)})
	}
	for i := range t.y {
		t.y[i] = noise.Draw(level+t.slope*(t.x[i]-mean)+t.levels[t.group[i]], t.sd, random)
		if kind.Link() == likelihood.LogLink && !(t.y[i] <= mostCounted) {
			return nil
		}
	}
	return t
}

const drawnCategories = 4

// drawCuts draws cut points: probabilities of the categories from Dirichlet(1, …, 1).
func (h Hbm) drawCuts(random *rand.Rand) *likelihood.Cuts {
	categories := likelihood.NewCategories(h.Record.Frame.Response, drawnCategories).(likelihood.OrderedCategories)
	total, tails := 0.0, make([]float64, drawnCategories)
	for k := range tails {
		total += random.ExpFloat64()
		tails[k] = total
	}
	points := make([]float64, drawnCategories-1)
	for k := range points {
		p := tails[k] / total
		if h.Record.Frame.Response == likelihood.CumulativeLogitKind {
			points[k] = math.Log(p) - math.Log1p(-p)
		} else {
			points[k] = distuv.UnitNormal.Quantile(p)
		}
	}
	return categories.Cut(points)
}

// drawRatio draws a standard deviation in units of its prior's scale; logRatio is the log density.
func drawRatio(prior regression.SDPrior, random *rand.Rand) float64 {
	switch prior {
	case regression.HalfCauchySD:
		return math.Abs(random.NormFloat64() / random.NormFloat64())
	case regression.ExponentialSD:
		return random.ExpFloat64()
	}
	return math.Abs(random.NormFloat64())
}

func logRatio(prior regression.SDPrior, z float64) float64 {
	switch prior {
	case regression.HalfCauchySD:
		return math.Log(2/math.Pi) - math.Log1p(z*z)
	case regression.ExponentialSD:
		return -z
	}
	return math.Ln2 - halfLog2Pi - z*z/2
}

func (h Hbm) drawHard(random *rand.Rand) *hbmTable {
	kind, sizes := h.Record.Frame.Response, []int{4, 5, 6, 8, 12, 20, 40, 80}
	if exact := kind.Conjugate() || kind == likelihood.LogisticKind || kind == likelihood.PoissonKind; !exact {
		sizes = sizes[:5] // one integral more
	}
	n := sizes[random.IntN(len(sizes))]
	groups := 2 + random.IntN(n-2)
	t := &hbmTable{group: make([]int, n), x: make([]float64, n), y: make([]float64, n), levels: make([]float64, groups), refersToResponseSD: true}
	t.slope, t.spread, t.sd = random.NormFloat64(), math.Pow(10, uniform(random, -4, 1)), math.Pow(10, uniform(random, -6, 1))
	within := 1.0
	if random.Float64() < 0.3 {
		within = math.Pow(10, uniform(random, -6, 0))
	}
	t.about = fmt.Sprintf("hbm, %d rows, %d groups; spread %.0e, noise %.0e", n, groups, t.spread, t.sd)
	if within < 1 {
		t.about += fmt.Sprintf(", x varies by %.0e within groups", within)
	}
	centres := make([]float64, groups)
	for g := range centres {
		centres[g], t.levels[g] = random.NormFloat64(), t.spread*random.NormFloat64()
	}
	for i := range n {
		t.group[i] = i
		if i >= groups {
			t.group[i] = random.IntN(groups)
		}
		g := t.group[i]
		t.x[i] = centres[g] + within*random.NormFloat64()
		t.y[i] = t.slope*t.x[i] + t.levels[g] + t.sd*random.NormFloat64()
	}
	if !kind.Continuous() {
		var how string
		t.y, how = drawResponse(kind, t.y, random)
		t.about = fmt.Sprintf("hbm, %v, %d rows, %d groups; spread %.0e, %s", kind, n, groups, t.spread, how)
		return t
	}
	if random.Float64() < 0.2 {
		t.about += ", a constant group"
		for i := range n {
			if t.group[i] == 0 {
				t.y[i] = t.levels[0]
			}
		}
	}
	if random.Float64() < 0.2 {
		t.about += ", outlier"
		t.y[random.IntN(n)] += math.Pow(10, uniform(random, 0.5, 4))
	}
	if kind == likelihood.LogNormalKind {
		for i, y := range t.y {
			t.y[i] = math.Exp(math.Max(-300, math.Min(y, 300)))
		}
	}
	return t
}

func (t *hbmTable) csv() []byte {
	return csvOf(table.Numbers("y", t.y), table.Numbers("x", t.x), labelled("g", "g", t.group))
}
