package varsel

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
)

// checkModel is a posterior predictive check: it compares the table with responses drawn anew from
// equally weighted posterior draws on the scale of the table. It returns nil if there are no draws,
// if responses are censored, or if the data are summary statistics instead of rows.
func (p *Problem) checkModel(ctx gocontext.Context, draws *Draws, seed uint64) (*modelcheck.Report, error) {
	if len(draws.Codes) == 0 || p.Design.Censored() || p.Design.Statistics != nil {
		return nil, nil // responses drawn anew would not be censored; statistics have no rows
	}
	design := p.Design
	in := modelcheck.RegressionInput{
		Kind:     modelcheck.KindOf(p.Model.Likelihood),
		Response: modelcheck.Column{Name: design.ResponseName(), Values: design.Response()},
		Rows:     modelcheck.RowNames{Numbers: design.Places, Unit: design.PlaceUnit},
		Checked:  modelcheck.CheckedRows(design.Rows(), modelcheck.MostChecked),
		Remedies: p.remedies(),
	}
	for j, name := range design.Names {
		if j == design.Scaling.Level {
			continue
		}
		in.Predictors = append(in.Predictors, modelcheck.Column{Name: name, Values: design.Column(j), Indicator: strings.Contains(name, "=")})
	}
	rows, random := in.Checked, stream.Rand(seed, "model check")
	if _, ok := p.Target.Unordered(); ok {
		in.Unordered = design.Levels
	}
	eta := make([]float64, p.Target.Planes()*len(rows))
	in.Draw = func(d int, mean, sd, replicate []float64) {
		// the draws in use are evenly spaced; if there are few, each is used several times
		at := d * len(draws.Codes) / modelcheck.MinDraws
		values := draws.Values.RawRowView(at)
		if in.Unordered != nil {
			p.linearPredictor(draws.Codes[at], values, rows, eta)
			p.drawCategories(eta, mean, sd, replicate, random)
			return
		}
		response, scale := p.responseGiven(values), p.linearPredictor(draws.Codes[at], values, rows, mean)
		for k, eta := range mean {
			replicate[k] = response.Draw(eta, scale, random)
			mean[k], sd[k] = moments(response, eta, scale)
		}
	}
	report, err := modelcheck.Regression(ctx, in)
	return &report, err
}

// linearPredictor writes the linear predictors of the rows to eta, for a draw on the scale of the
// table, and returns the noise scale. If a row has several linear predictors, eta holds the first
// one of all rows, then the second one of all rows, and so on.
func (p *Problem) linearPredictor(code []int32, values []float64, rows []int, eta []float64) (scale float64) {
	design, planes := p.Design, p.Target.Planes()
	scale = p.knownScale()
	clear(eta)
	p.visit(code, values, func(at int, value float64) {
		column, first := at/planes, at%planes*len(rows)
		if column >= design.Dim() {
			if p.UnknownScale() {
				scale = value
			}
			return
		}
		slope, shift := value*design.Scaling.SD[column], value*design.Scaling.Mean[column]
		for k, i := range rows {
			eta[first+k] += shift + slope*design.X.At(i, column)
		}
	})
	if design.Offset != nil {
		for k, i := range rows {
			eta[k] += design.Offset[i]
		}
	}
	return scale
}

// drawCategories draws a category for each of n rows, for K categories without an order with log
// odds eta. It writes the probabilities of the categories to mean and the standard deviations of
// their indicators to sd, both [K·n].
func (p *Problem) drawCategories(eta, mean, sd, replicate []float64, random *rand.Rand) {
	levels, n := len(p.Design.Levels), len(replicate)
	categories, rowEta, shares := likelihood.AgainstFirst(levels), make([]float64, levels-1), make([]float64, levels)
	for i := range n {
		for m := range rowEta {
			rowEta[m] = eta[m*n+i]
		}
		categories.Probabilities(rowEta, shares)
		replicate[i] = float64(pick.Func(levels, random.Float64(), func(k int) float64 { return shares[k] }))
		for k, share := range shares {
			mean[k*n+i], sd[k*n+i] = share, math.Sqrt(share*(1-share))
		}
	}
}

// knownScale returns the known noise scale in the units of the response, or 1 if there is none.
func (p *Problem) knownScale() float64 {
	switch {
	case p.UnknownScale():
		return 1
	case p.Model.Likelihood == likelihood.RobustKind:
		return p.Model.Sigma1
	case p.Model.Likelihood.Continuous():
		return p.Model.Sigma
	}
	return 1
}

// moments returns the mean and the standard deviation of a response. If the mean does not exist it
// is replaced by η, and an infinite standard deviation is replaced by the noise scale.
func moments(response likelihood.Row, eta, scale float64) (mean, sd float64) {
	mean, sd = response.Mean(eta, scale), math.Sqrt(response.Variance(eta, scale))
	if math.IsNaN(mean) {
		mean = eta
	}
	if math.IsInf(sd, 1) {
		sd = scale
	}
	return mean, sd
}

// remedies returns the flags of the command that remedy the findings of the check.
func (p *Problem) remedies() modelcheck.Remedies {
	remedies := modelcheck.Remedies{
		HeavyTails:     "--likelihood robust or student",
		Overdispersion: "--likelihood negbinomial, zero-inflated-poisson or hurdle-poisson",
		Counts:         "--likelihood poisson",
		TwoValues:      "--likelihood logistic",
		Categories:     "--likelihood cumulative-logit or categorical",
		Curvature:      "a transform of the column, its square as another column, or --interactions",
		Dependence:     "vti hbm with a grouping of the rows, or a predictor for time or place",
	}
	switch p.Model.Likelihood {
	case likelihood.RobustKind:
		remedies.HeavyTails = "--sigma1 unknown, or --likelihood student"
	case likelihood.StudentKind:
		remedies.HeavyTails = "fewer degrees of freedom (--df), or --likelihood robust"
	}
	return remedies
}
