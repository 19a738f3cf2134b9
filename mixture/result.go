package mixture

import (
	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Result is the answer in terms of the user's table: the object that --json prints.
type Result struct {
	run.Head
	Data        DataSummary       `json:"data"`
	Certificate CertificateReport `json:"certificate"`
	// Counts has an entry for each number of components, from 1.
	Counts []Count `json:"components"`
	// Expected is the posterior mean of the number of components.
	Expected Number `json:"expected_components"`
	// Given describes the components given the most probable number of components. They are in the
	// order of their means. With several columns the order is arbitrary, but the same in all draws,
	// which are relabelled.
	Given Given `json:"given_most_probable"`
	// Density is the density of a new value in each column, averaged over numbers of components.
	// For counts it is the probability of the value.
	Density []DensityPoint `json:"density"`
	// Rows holds the probabilities that rows belong to the components of Given.
	Rows []Row `json:"rows"`
}

// DataSummary describes the data.
type DataSummary struct {
	// Rows is the number of rows, Columns are the columns of values, and Family is the family of
	// the components.
	Rows    int      `json:"rows"`
	Columns []string `json:"columns"`
	Family  string   `json:"family"`
}

// CertificateReport is the verdict on the computation. Jumps reports on reversible-jump chains over
// mixtures, Partitions on samplers of clusters of rows that sum over numbers of components.
type CertificateReport struct {
	// Verdict is the verdict, and Basis the kind of computation that gave the answer.
	Verdict    vti.Verdict  `json:"verdict"`
	Basis      vti.Basis    `json:"basis"`
	Jumps      MethodReport `json:"jumps"`
	Partitions MethodReport `json:"partitions"`
	// Difference is the largest difference between the two methods in a probability of a number of
	// components, in standard errors. LargestSE is the largest standard error of such a
	// probability.
	Difference Number `json:"largest_difference_in_standard_errors"`
	LargestSE  Number `json:"largest_se"`
	// Reasons explain a lowered verdict.
	Reasons []string `json:"reasons,omitempty"`
}

// MethodReport describes the mixing of one method.
type MethodReport struct {
	// Samplers is the number of samplers. RHat and ESS are computed from their numbers of
	// components or clusters.
	Samplers int    `json:"samplers"`
	Sweeps   int    `json:"sweeps"` // sweeps of each sampler
	RHat     Number `json:"rhat"`
	ESS      Number `json:"ess"`
	SE       Number `json:"se"` // the largest standard error of the probability of a number of components
}

// Count is a number of components with its probability.
type Count struct {
	// Probability is the posterior probability of this number, and SE its standard error.
	Components  int    `json:"components"`
	Probability Number `json:"probability"`
	SE          Number `json:"se"`
	// Jumps and Partitions are the probabilities that the two methods give.
	Jumps      Number `json:"jumps"`
	Partitions Number `json:"partitions"`
	// Occupied is the posterior probability that exactly this number of components have rows.
	Occupied Number `json:"occupied"`
}

// Given describes the components given their number.
type Given struct {
	// Components is the number of components in each draw that List describes.
	Components int `json:"components"`
	// Draws is the number of draws with this number of components.
	Draws int `json:"draws"`
	// List describes the components.
	List []Component `json:"list"`
	// Empty is the posterior mean of the number of components without rows.
	Empty Number `json:"expected_empty"`
}

// Component is one component.
type Component struct {
	// Weight is the weight of the component in the mixture.
	Weight Summary `json:"weight"`
	// Columns has an entry for each column.
	Columns []ColumnSummary `json:"columns"`
	// Correlations holds the correlations of pairs of columns within the component.
	Correlations []Correlation `json:"correlations,omitempty"`
}

// ColumnSummary describes a component in one column. Mean is its location, or the rate of counts.
// SD is its scale, which for Student components is not the standard deviation; nil for counts.
type ColumnSummary struct {
	Column string   `json:"column"`
	Mean   Summary  `json:"mean"`
	SD     *Summary `json:"sd,omitempty"`
}

// Correlation is the correlation of two columns within a component.
type Correlation struct {
	// A and B are the names of the columns.
	A     string  `json:"a"`
	B     string  `json:"b"`
	Value Summary `json:"value"`
}

// Summary holds the median and the 2.5 and 97.5 percent quantiles of a marginal distribution.
type Summary struct {
	Median Number `json:"median"`
	Q025   Number `json:"q025"`
	Q975   Number `json:"q975"`
}

// DensityPoint is the density of a new value at one point.
type DensityPoint struct {
	// Column is the name of the column. At is the value at which the density is computed, in the
	// units of the table. Mean is the posterior mean of the density; Q025 and Q975 are the ends of
	// its central 95 percent interval.
	Column string `json:"column"`
	At     Number `json:"at"`
	Mean   Number `json:"mean"`
	Q025   Number `json:"q025"`
	Q975   Number `json:"q975"`
}

// Row is a row of the table with the probabilities that it belongs to each component.
type Row struct {
	Place int `json:"place"` // line or row number in the file
	// Values are the row's values in the columns.
	Values    []Number `json:"values"`
	Component int      `json:"component"` // the most probable component, from 1
	// Probability holds the probability of each component.
	Probability []Number `json:"probability"`
}

// ExitStatus returns the exit status for the result: 3 when the answer must not be used, else 0.
func (r *Result) ExitStatus() int { return r.Certificate.Verdict.ExitStatus() }

// summarize returns the summary of values, which it sorts.
func summarize(values []float64) Summary {
	low, median, high := report.Central(values)
	return Summary{median, low, high}
}
