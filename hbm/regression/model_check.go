package regression

import (
	gocontext "context"
	"math"
	"strings"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modelcheck"
)

// keptPredictors are the linear predictors and distributions of draws, on the working scale, for
// the model check: of the checked rows, those of a plane together, and of at most
// [modelcheck.MinDraws] draws.
type keptPredictors struct {
	rows   []int
	planes int
	every  int // keep each draw whose number is a multiple of it
	eta    [][]float64
	given  []response
}

// newKept prepares for n draws.
func (r *Regression) newKept(n int) *keptPredictors {
	k := &keptPredictors{planes: r.planes, every: max(1, n/modelcheck.MinDraws), rows: modelcheck.CheckedRows(len(r.y), modelcheck.MostChecked)}
	if k.rows == nil {
		for i := range r.y {
			k.rows = append(k.rows, i)
		}
	}
	kept := (n + k.every - 1) / k.every
	k.eta, k.given = make([][]float64, kept), make([]response, kept)
	return k
}

// add keeps the predictor of a draw if it is one of those.
func (k *keptPredictors) add(draw int, eta []float64, given response) {
	if draw%k.every != 0 {
		return
	}
	own := make([]float64, 0, k.planes*len(k.rows))
	for m := range k.planes {
		for _, i := range k.rows {
			own = append(own, eta[m*len(eta)/k.planes+i])
		}
	}
	k.eta[draw/k.every], k.given[draw/k.every] = own, given
}

// checkModel compares the table with responses replicated from draws. It returns nil where there
// are no draws.
func (r *Regression) checkModel(ctx gocontext.Context, s *posteriorSample, seed uint64) (*modelcheck.Report, error) {
	kept := s.predictors
	if kept == nil || len(kept.eta) == 0 || r.Frame.censored() {
		return nil, nil
	}
	in := modelcheck.RegressionInput{
		Kind:     checkedKind(r.Frame.Response),
		Response: modelcheck.Column{Name: r.Frame.shiftedName(), Values: r.Frame.shifted()},
		Rows:     modelcheck.RowNames{Numbers: r.Frame.Places, Unit: r.Frame.PlaceUnit},
		Checked:  kept.rows,
		Draws:    modelcheck.MinDraws,
		Remedies: r.remedies(),
	}
	for _, j := range r.Frame.effectColumns() {
		if c := r.Frame.Columns[j]; c.Name != formula.InterceptName {
			in.Predictors = append(in.Predictors, modelcheck.Column{Name: c.Name, Values: r.Frame.effectValues(j), Indicator: strings.Contains(c.Name, "=")})
		}
	}
	random := stream.Rand(seed, "model check")
	if r.unordered != nil {
		in.Unordered = r.Frame.Labels
	}
	in.Draw = func(d int, mean, sd, replicate []float64) {
		at := d % len(kept.eta)
		if in.Unordered != nil {
			kept.given[at].shares(kept.eta[at], mean)
			for i, p := range mean {
				sd[i] = math.Sqrt(p * (1 - p))
			}
			kept.given[at].draws(kept.eta[at], random, replicate)
			return
		}
		row, sigma := kept.given[at], kept.given[at].sigma
		for k, i := range kept.rows {
			eta := kept.eta[at][k]
			replicate[k] = r.unscaled(i, row.Draw(eta, sigma, random))
			if r.Frame.Response.Continuous() { // up to a constant factor, where there is no variance
				mean[k] = r.unscaled(i, eta)
				sd[k] = r.unscaled(i, eta+sigma) - mean[k]
			} else {
				mean[k], sd[k] = row.Mean(eta, sigma), math.Sqrt(row.Variance(eta, sigma))
			}
		}
	}
	report, err := modelcheck.Regression(ctx, in)
	return &report, err
}

// checkedKind says which values a response takes.
func checkedKind(kind ResponseKind) modelcheck.Kind {
	switch {
	case kind.Binary():
		return modelcheck.Binary
	case kind.HasCategories():
		return modelcheck.Category
	case kind.Discrete():
		return modelcheck.Count
	}
	return modelcheck.Continuous
}

// shiftedName names what shifted returns.
func (f *Frame) shiftedName() string {
	if f.Response.Logarithmic() {
		return "log(" + f.Formula.Response.String() + ")"
	}
	return f.Formula.Response.String()
}

// remedies are the flags that answer what a check finds.
func (r *Regression) remedies() modelcheck.Remedies {
	remedies := modelcheck.Remedies{
		HeavyTails:     "--likelihood student",
		Overdispersion: "--likelihood negbinomial, or an effect that varies by row: (1 | id), with a column id that numbers the rows",
		Counts:         "--likelihood poisson",
		TwoValues:      "--likelihood logistic",
		Categories:     "--likelihood cumulative-logit or categorical",
		Curvature:      "a transform of the column, or its square as another term",
		Dependence:     "an effect that varies by a grouping of neighbouring rows, or a term for time or place",
	}
	if r.Frame.Response == StudentResponse {
		remedies.HeavyTails = "check these rows"
	}
	return remedies
}
