package varsel

import (
	gocontext "context"
	"math"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
)

// checkModel compares the table with responses replicated from equally weighted posterior draws on
// the scale of the table. It returns nil where there are no draws.
func (p *Problem) checkModel(ctx gocontext.Context, draws *Draws, seed uint64) (*modelcheck.Report, error) {
	if len(draws.Codes) == 0 {
		return nil, nil
	}
	design := p.Design
	in := modelcheck.RegressionInput{
		Kind:     checkedKind(p.Model.Likelihood),
		Response: modelcheck.Column{Name: design.Target, Values: make([]float64, design.Rows())},
		Rows:     modelcheck.RowNames{Numbers: design.Places, Unit: design.PlaceUnit},
		Checked:  modelcheck.CheckedRows(design.Rows(), modelcheck.MostChecked),
		Draws:    modelcheck.MinDraws,
		Remedies: p.remedies(),
	}
	for i, y := range design.Y {
		in.Response.Values[i] = inUnits(y, design.Scaling.YMean, design.Scaling.YSD)
	}
	for j, name := range design.Names {
		if j == design.Scaling.Level {
			continue
		}
		column := modelcheck.Column{Name: name, Values: make([]float64, design.Rows()), Indicator: strings.Contains(name, "=")}
		for i := range column.Values {
			column.Values[i] = inUnits(design.X.At(i, j), design.Scaling.Mean[j], design.Scaling.SD[j])
		}
		in.Predictors = append(in.Predictors, column)
	}
	rows := in.Checked
	if rows == nil {
		for i := range design.Rows() {
			rows = append(rows, i)
		}
	}
	response := likelihood.New(p.Model.Likelihood, p.Model.shape())
	random := stream.Rand(seed, "model check")
	in.Draw = func(d int, mean, sd, replicate []float64) {
		// evenly spaced draws; few of them are used several times
		at := d * len(draws.Codes) / in.Draws
		scale := p.linearPredictor(draws.Codes[at], draws.Values.RawRowView(at), rows, mean)
		for k, eta := range mean {
			replicate[k] = response.Draw(eta, scale, random)
			mean[k], sd[k] = moments(p.Model.Likelihood, eta, scale)
		}
	}
	report, err := modelcheck.Regression(ctx, in)
	return &report, err
}

// linearPredictor writes η of the rows for a draw on the scale of the table, and returns the noise
// scale.
func (p *Problem) linearPredictor(code []int32, values []float64, rows []int, eta []float64) (scale float64) {
	design := p.Design
	scale = p.knownScale()
	clear(eta)
	p.visit(code, values, func(column int, value float64) {
		if column == design.Dim() {
			scale = value
			return
		}
		slope, shift := value*design.Scaling.SD[column], value*design.Scaling.Mean[column]
		for k, i := range rows {
			eta[k] += shift + slope*design.X.At(i, column)
		}
	})
	if design.Offset != nil {
		for k, i := range rows {
			eta[k] += design.Offset[i]
		}
	}
	return scale
}

// knownScale is the noise scale that is not inferred, in the units of the response; 1 where there
// is none.
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

// moments are the mean and the standard deviation, up to a constant factor, of a response.
func moments(kind likelihood.Kind, eta, scale float64) (mean, sd float64) {
	switch checkedKind(kind) {
	case modelcheck.Binary:
		mean = 1 / (1 + math.Exp(-eta))
		return mean, math.Exp(-math.Abs(eta)/2) / (1 + math.Exp(-math.Abs(eta)))
	case modelcheck.Count:
		return math.Exp(eta), math.Exp(eta / 2)
	}
	return eta, scale
}

// checkedKind says which values a response takes.
func checkedKind(kind likelihood.Kind) modelcheck.Kind {
	switch kind {
	case likelihood.LogisticKind:
		return modelcheck.Binary
	case likelihood.PoissonKind:
		return modelcheck.Count
	}
	return modelcheck.Continuous
}

// remedies are the flags that answer what a check finds.
func (p *Problem) remedies() modelcheck.Remedies {
	remedies := modelcheck.Remedies{
		HeavyTails:     "--likelihood robust or student",
		Overdispersion: "a model for counts with extra variation, which vti does not have yet",
		Counts:         "--likelihood poisson",
		TwoValues:      "--likelihood logistic",
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

// inUnits undoes the scaling of a value to the 12 digits that it can be known to, so that equal
// cells of the table are equal.
func inUnits(value, mean, sd float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(mean+sd*value, 'e', 11, 64), 64)
	if err != nil {
		return mean + sd*value // beyond the range of float64
	}
	return rounded
}
