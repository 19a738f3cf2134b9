package order

import (
	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
	"gonum.org/v1/gonum/stat"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Result is the answer in terms of the user's table: the object that --json prints.
type Result struct {
	run.Head
	Data        DataSummary       `json:"data"`
	Certificate CertificateReport `json:"certificate"`
	// Orders has an entry for each order, from 0.
	Orders []Order `json:"orders"`
	// UnitRoot is the posterior probability of a unit root. It is nil if its prior probability is
	// 0.
	UnitRoot *Number `json:"unit_root,omitempty"`
	// Coefficients summarises the coefficients, both averaged over orders (0 in models of smaller
	// order) and given the most probable order. For a spline it has only the intercept and σ.
	Coefficients []Coefficient `json:"coefficients"`
	// Knots holds the candidate places of the knots of a spline, with their probabilities.
	Knots []Knot `json:"knots,omitempty"`
	// Curve is the expected value along time, averaged over orders. It is empty for
	// autoregressions.
	Curve []CurvePoint `json:"curve,omitempty"`
}

// DataSummary describes the data.
type DataSummary struct {
	Rows int `json:"rows"` // number of rows in the likelihood
	// Value and Time are names of columns, and Model is the name of the kind.
	Value string `json:"value"`
	Time  string `json:"time,omitempty"`
	Model string `json:"model"`
}

// CertificateReport is the verdict on the computation.
type CertificateReport struct {
	// Verdict says how far the answer can be trusted, Basis on which kind of computation this
	// rests, and Reasons why the verdict is not the best.
	Verdict vti.Verdict `json:"verdict"`
	Basis   vti.Basis   `json:"basis"`
	Reasons []string    `json:"reasons,omitempty"`
}

// Order is an order of the model with its probability.
type Order struct {
	// Order is a number of lags or knots, or a degree, and Probability its posterior probability.
	Order       int    `json:"order"`
	Probability Number `json:"probability"`
	// LogBayesFactor is the log Bayes factor against order 0, in nats.
	LogBayesFactor Number `json:"log_bayes_factor"`
	// UnitRoot is the posterior probability of a unit root given this order.
	UnitRoot *Number `json:"unit_root,omitempty"`
	// Knots holds the most probable set of places of knots with this number of knots.
	Knots []Number `json:"knots,omitempty"`
}

// Knot is a candidate place of a knot, with the probability of a knot there.
type Knot struct {
	At          Number `json:"at"`
	Probability Number `json:"probability"`
}

// CurvePoint is the expected value at one time, with the ends of its central 95 percent interval.
type CurvePoint struct {
	Time Number `json:"time"`
	Mean Number `json:"mean"`
	Q025 Number `json:"q025"`
	Q975 Number `json:"q975"`
}

// Coefficient describes the marginal distribution of a coefficient, of the intercept or of σ.
type Coefficient struct {
	Name string `json:"name"`
	// Mean, SD, Q025 and Q975 are averaged over orders. MeanGiven and SDGiven are given the most
	// probable order; JSON shows them as null if this order lacks the coefficient.
	Mean      Number `json:"mean"`
	SD        Number `json:"sd"`
	Q025      Number `json:"q025"`
	Q975      Number `json:"q975"`
	MeanGiven Number `json:"mean_given_most_probable"`
	SDGiven   Number `json:"sd_given_most_probable"`
}

// ExitStatus returns the exit status for the result: 3 when the answer must not be used, else 0.
func (r *Result) ExitStatus() int { return r.Certificate.Verdict.ExitStatus() }

// moments returns the mean and the standard deviation of draws, NaN without draws.
func moments(values []float64) (mean, sd Number) {
	m, s := stat.PopMeanStdDev(values, nil)
	return Number(m), Number(s)
}

func coefficient(name string, all, present []float64) Coefficient {
	c := Coefficient{Name: name}
	c.Mean, c.SD = moments(all)
	c.MeanGiven, c.SDGiven = moments(present)
	c.Q025, _, c.Q975 = report.Central(all)
	return c
}
