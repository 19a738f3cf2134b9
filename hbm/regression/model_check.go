package regression

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
)

// keptPredictors holds linear predictors and distributions of the standardised response, for the
// model check. It holds the checked rows, plane by plane, at evenly spaced draws: at least
// [modelcheck.MinDraws] draws, if there are enough.
type keptPredictors struct {
	rows      []int
	planes    int
	every     int // draws 0, every, 2·every, … are kept
	eta       [][]float64
	responses []response
}

func (r *Regression) newKept(n int) *keptPredictors {
	k := &keptPredictors{planes: r.planes, every: max(1, n/modelcheck.MinDraws), rows: modelcheck.CheckedRows(len(r.y), modelcheck.MostChecked)}
	kept := (n + k.every - 1) / k.every
	k.eta, k.responses = make([][]float64, kept), make([]response, kept)
	return k
}

// add keeps the predictor of a draw if its index is a multiple of the field every.
func (k *keptPredictors) add(draw int, eta []float64, response response) {
	if draw%k.every != 0 {
		return
	}
	rowEta := make([]float64, 0, k.planes*len(k.rows))
	for m := range k.planes {
		for _, i := range k.rows {
			rowEta = append(rowEta, eta[m*len(eta)/k.planes+i])
		}
	}
	k.eta[draw/k.every], k.responses[draw/k.every] = rowEta, response
}

// checkModel compares the table with responses replicated from draws. It returns nil if there are
// no draws, or if the response is censored.
func (r *Regression) checkModel(ctx gocontext.Context, s *posteriorSample, seed uint64) (*modelcheck.Report, error) {
	kept := s.predictors
	if kept == nil || len(kept.eta) == 0 || r.Frame.Censored() {
		return nil, nil
	}
	in := modelcheck.RegressionInput{
		Kind:     modelcheck.KindOf(r.Frame.Response),
		Response: modelcheck.Column{Name: r.Frame.ShiftedName(), Values: r.Frame.Shifted()},
		Rows:     modelcheck.RowNames{Numbers: r.Frame.Places, Unit: r.Frame.PlaceUnit},
		Checked:  kept.rows,
		Remedies: r.remedies(),
	}
	for _, j := range r.Frame.EffectColumns() {
		if c := r.Frame.Columns[j]; c.Name != formula.InterceptName {
			in.Predictors = append(in.Predictors, modelcheck.Column{Name: c.Name, Values: r.Frame.EffectValues(j), Indicator: strings.Contains(c.Name, "=")})
		}
	}
	random := stream.Rand(seed, "model check")
	if r.unordered != nil {
		in.Unordered = r.Frame.Labels
	}
	in.Draw = func(d int, mean, sd, replicate []float64) {
		at := d % len(kept.eta)
		if in.Unordered != nil {
			kept.responses[at].probabilities(kept.eta[at], mean)
			for i, p := range mean {
				sd[i] = math.Sqrt(p * (1 - p))
			}
			kept.responses[at].draws(kept.eta[at], random, replicate)
			return
		}
		row, sigma := kept.responses[at], kept.responses[at].sigma
		for k, i := range kept.rows {
			eta := kept.eta[at][k]
			replicate[k] = r.unscaled(i, row.Draw(eta, sigma, random))
			if r.Frame.Response.Continuous() { // sd up to a constant factor; there may be no variance
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

// remedies returns the flags and changes that a failed check recommends.
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
	if r.Frame.Response == likelihood.StudentKind {
		remedies.HeavyTails = "check these rows"
	}
	return remedies
}

// predictiveCheck compares statistics of the response with statistics of responses drawn anew from
// the posterior. Each statistic shows one kind of misfit.
type predictiveCheck struct {
	names     []string
	functions []func(y []float64) float64
}

// newCheck chooses the statistics: location and spread, extremes, zeros of counts, and the spread
// of group means. Categories without an order have the share of each category, and the spread of
// these shares over groups.
func (r *Regression) newCheck() *predictiveCheck {
	c := &predictiveCheck{}
	add := func(name string, function func(y []float64) float64) {
		c.names, c.functions = append(c.names, name), append(c.functions, function)
	}
	if r.unordered != nil {
		for k, label := range r.Frame.Labels {
			add("share of "+label, func(y []float64) float64 { return shareOf(float64(k), y) })
		}
	} else {
		add("mean", func(y []float64) float64 { return stat.Mean(y, nil) })
	}
	if kind := r.Frame.Response; r.unordered == nil && !kind.Binary() {
		add("sd", func(y []float64) float64 { return stat.StdDev(y, nil) })
		add("smallest", slices.Min[[]float64])
		add("largest", slices.Max[[]float64])
		if kind.Discrete() {
			add("share of zeros", func(y []float64) float64 { return shareOf(0, y) })
		}
	}
	for _, g := range r.groups {
		means := func(value func(row int) float64) []float64 {
			means := make([]float64, len(g.Levels))
			for i, level := range g.Index {
				means[level] += value(i) / float64(g.Counts[level])
			}
			return means
		}
		switch {
		case g.Smooth:
		case r.unordered == nil:
			add("sd of the means by "+g.Name, func(y []float64) float64 {
				return stat.StdDev(means(func(row int) float64 { return y[row] }), nil)
			})
		default:
			add("sd of the shares by "+g.Name, func(y []float64) float64 {
				sum := 0.0
				for k := range r.Frame.Labels {
					sum += stat.Variance(means(func(row int) float64 { return shareOf(float64(k), y[row:row+1]) }), nil)
				}
				return math.Sqrt(sum)
			})
		}
	}
	return c
}

// shareOf returns the share of the values in y that are equal to value.
func shareOf(value float64, y []float64) float64 {
	return float64(floats.Count(func(v float64) bool { return v == value }, y)) / float64(len(y))
}

func (c *predictiveCheck) statistics(y, dst []float64) {
	for k, function := range c.functions {
		dst[k] = function(y)
	}
}

// replicate draws a response for every row, in the units of the table.
func (r *Regression) replicate(eta []float64, response response, random *rand.Rand) []float64 {
	y := make([]float64, len(r.y))
	response.draws(eta, random, y)
	for i := range y {
		if y[i] = r.unscaled(i, y[i]); r.Frame.Response.Logarithmic() {
			y[i] = math.Exp(y[i])
		}
	}
	return y
}

// unscaled returns a standardised response of row i in the units of the table; its logarithm, if
// the response is logarithmic.
func (r *Regression) unscaled(i int, y float64) float64 {
	if r.Frame.SE != nil {
		y *= r.Frame.SE[i] / r.ySD // the row was scaled to unit noise
	}
	if r.Frame.Weights != nil {
		y /= math.Sqrt(r.Frame.Weights[i])
	}
	y = y*r.ySD + r.yMean
	if r.Frame.Response.Continuous() && r.Frame.Offset != nil {
		y += r.Frame.Offset[i]
	}
	return y
}

// CheckSummary compares a statistic of the response with responses drawn from the posterior.
type CheckSummary struct {
	// Statistic is the name of the statistic, and Observed its value for the response in the table.
	Statistic string `json:"statistic"`
	Observed  Figure `json:"observed"`
	// Mean and SD are the mean and the standard deviation of the statistic over the drawn
	// responses. P is the share of drawn responses with a larger statistic than Observed, where
	// ties count half. A P near 0 or 1 says that the model does not fit.
	Mean Figure `json:"mean"`
	SD   Figure `json:"sd"`
	P    Figure `json:"p"`
}

// checks compares statistics of the response with statistics of replicated responses.
func (r *Regression) checks(s *posteriorSample) (list []CheckSummary) {
	if s.replicated == nil || r.Frame.Censored() {
		return nil // replicated responses are not censored
	}
	check := r.newCheck()
	observed := make([]float64, len(check.names))
	check.statistics(r.Frame.Y, observed)
	n, _ := s.replicated.Dims()
	for k, name := range check.names {
		values := make([]float64, n)
		above := 0.0
		for i := range n {
			values[i] = s.replicated.At(i, k)
			switch tolerance := 1e-9 * math.Max(1, math.Abs(observed[k])); {
			case values[i] > observed[k]+tolerance:
				above++
			case values[i] > observed[k]-tolerance:
				above += 0.5
			}
		}
		mean, sd := stat.MeanStdDev(values, nil)
		list = append(list, CheckSummary{name, Figure(observed[k]), Figure(mean), Figure(sd), Figure(above / float64(n))})
	}
	return list
}
