package regression

import (
	"math"
	"slices"

	"github.com/transdim/vti/hbm/frame"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
)

// PriorSummary holds the prior of one parameter in the models that have the parameter, in the units
// of the table.
type PriorSummary struct {
	// Name is the name of the parameter.
	Name string `json:"name"`
	// Family is "normal", "log-normal" or the name of an [SDPrior]. Mean and Scale are the mean and
	// the standard deviation of a normal prior, or of the logarithm of a log-normal prior. For an
	// [SDPrior], Scale is its scale and Mean is 0.
	Family string `json:"family"`
	Mean   Figure `json:"mean"`
	Scale  Figure `json:"scale"`
}

// LogDensity returns the log density at x, or −Inf outside the support.
func (p PriorSummary) LogDensity(x float64) float64 {
	scale := float64(p.Scale)
	normal := func(x float64) float64 {
		z := (x - float64(p.Mean)) / scale
		return -z*z/2 - math.Log(scale) - halfLog2Pi
	}
	switch {
	case p.Family == "normal":
		return normal(x)
	case x <= 0:
		return math.Inf(-1)
	case p.Family == "log-normal":
		return normal(math.Log(x)) - math.Log(x)
	}
	prior, _ := sdPriors.Parse(p.Family) // all other families are names of an SDPrior
	return logPriorOfSD(prior, x/scale) - math.Log(scale)
}

// describe adds to a result the population columns, the priors, and for each level the estimates of
// its effects from only the rows of this level.
func (r *Regression) describe(result *Result, s *posteriorSample) {
	f, unit := r.Frame, r.ySD
	result.Data.Response = f.Formula.Response.String()
	for _, j := range f.EffectColumns() {
		c := f.Columns[j]
		if f.Reduced != nil {
			result.Data.Columns = append(result.Data.Columns, f.Reduced.Columns[j])
		} else {
			values := f.EffectValues(j)
			result.Data.Columns = append(result.Data.Columns, frame.ColumnSummary{Name: c.Name, Mean: Figure(stat.Mean(values, nil)), Min: Figure(slices.Min(values)), Max: Figure(slices.Max(values))})
		}
	}
	for at, name := range f.CoefficientNames() {
		// The intercept in the units of the table depends on the other effects.
		if j := at % len(f.Columns); f.Columns[j].Name != formula.InterceptName {
			result.Priors = append(result.Priors, PriorSummary{name, "normal", Figure(r.coordinates[j].mean * unit / r.xSD[j]), Figure(r.coordinates[j].sd * unit / r.xSD[j])})
		}
	}
	for _, g := range r.groups {
		for c, column := range g.Spreads() {
			spread := r.coordinates[g.sd[c]]
			result.Priors = append(result.Priors, PriorSummary{g.SpreadName(column), spread.prior.String(), 0, Figure(spread.scale * unit / g.zSD[c])})
		}
	}
	if r.noise >= 0 {
		result.Priors = append(result.Priors, PriorSummary{f.Response.Scale(), "log-normal", Figure(math.Log(unit)), Figure(r.coordinates[r.noise].sd)})
	}
	r.fillUnpooled(result, s)
}

// fillUnpooled estimates the effects of each level from only the rows of this level, by least
// squares on the residuals of population effects and effects of other groupings. Shrinkage moves
// effects away from these estimates. Levels of too few rows, and responses that are not continuous,
// have no estimates.
func (r *Regression) fillUnpooled(result *Result, s *posteriorSample) {
	if !r.Frame.Response.Continuous() || len(result.Varying) == 0 {
		return
	}
	coefficients := r.meanCoefficients(result, s)
	rest := r.Frame.Shifted()
	for i := range rest {
		if r.Frame.Offset != nil {
			rest[i] -= r.Frame.Offset[i]
		}
		for j := range r.Frame.Columns {
			rest[i] -= r.Frame.X.At(i, j) * coefficients[j]
		}
	}
	starts := apply.UpTo(len(r.groups), func(k int) int { return r.firstQuantity(k) - r.firstQuantity(0) })
	// explained returns the sum of the effects of grouping k on row i.
	explained := func(k, i int) (sum float64) {
		g := r.groups[k]
		for c := range g.Columns {
			sum += g.Z.At(i, c) * float64(result.Varying[starts[k]+c*len(g.Levels)+g.Index[i]].Mean)
		}
		return sum
	}
	for k := range r.groups {
		for i := range rest {
			rest[i] -= explained(k, i)
		}
	}
	for k, g := range r.groups {
		unexplained := apply.UpTo(len(rest), func(i int) float64 { return rest[i] + explained(k, i) })
		for level, rows := range g.Rows() {
			for c, estimate := range leastSquares(g.Z, unexplained, rows) {
				result.Varying[starts[k]+c*len(g.Levels)+level].Unpooled = new(Figure(estimate))
			}
		}
	}
}

// leastSquares returns the coefficients of a regression of y on z over some rows, or nil if these
// rows do not determine them.
func leastSquares(z *mat.Dense, y []float64, rows []int) []float64 {
	_, columns := z.Dims()
	if len(rows) < columns {
		return nil
	}
	design, response := mat.NewDense(len(rows), columns, nil), mat.NewVecDense(len(rows), nil)
	for k, i := range rows {
		design.SetRow(k, z.RawRowView(i))
		response.SetVec(k, y[i])
	}
	var qr mat.QR
	qr.Factorize(design)
	const singular = 1e8 // condition number at which half of the digits of float64 are lost
	if qr.Cond() > singular {
		return nil
	}
	var solved mat.VecDense
	if qr.SolveVecTo(&solved, false, response) != nil {
		return nil
	}
	return solved.RawVector().Data
}
