package mixture

import (
	"math"
	"slices"

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
	// Counts has an entry for each number of components, from 1.
	Counts []Count `json:"components"`
	// Expected is the posterior mean of the number of components.
	Expected Number `json:"expected_components"`
	// Given describes the components given the most probable number, in the order of their means;
	// with several columns, in the order of relabelled draws.
	Given Given `json:"given_most_probable"`
	// Density is the density of a new value in each column, averaged over numbers of components;
	// for counts the probability.
	Density []DensityPoint `json:"density"`
	// Rows holds the probabilities that rows belong to the components of Given.
	Rows []Row `json:"rows"`
}

// DataSummary describes the data.
type DataSummary struct {
	Rows    int      `json:"rows"`
	Columns []string `json:"columns"`
	Family  string   `json:"family"`
}

// CertificateReport is the verdict on the computation. Jumps are reversible-jump chains over
// mixtures, Partitions samplers of clusters of rows that sum over numbers of components.
type CertificateReport struct {
	Verdict    vti.Verdict  `json:"verdict"`
	Basis      vti.Basis    `json:"basis"`
	Jumps      MethodReport `json:"jumps"`
	Partitions MethodReport `json:"partitions"`
	// Difference is the largest difference of a probability, in standard errors.
	Difference Number   `json:"largest_difference_in_standard_errors"`
	LargestSE  Number   `json:"largest_se"`
	Reasons    []string `json:"reasons,omitempty"`
}

// MethodReport describes the mixing of one method.
type MethodReport struct {
	Samplers int    `json:"samplers"`
	Sweeps   int    `json:"sweeps"` // per sampler
	RHat     Number `json:"rhat"`
	ESS      Number `json:"ess"`
	SE       Number `json:"se"` // the largest SE of a probability of a number of components
}

// Count is a number of components with its probability.
type Count struct {
	Components  int    `json:"components"`
	Probability Number `json:"probability"`
	SE          Number `json:"se"`
	// Jumps and Partitions are the probabilities by the two methods.
	Jumps      Number `json:"jumps"`
	Partitions Number `json:"partitions"`
	// Occupied is the probability that the rows belong to this number of components.
	Occupied Number `json:"occupied"`
}

// Given describes the components given their number.
type Given struct {
	Components int         `json:"components"`
	Draws      int         `json:"draws"`
	List       []Component `json:"list"`
	// Empty is the expected number of components without rows.
	Empty Number `json:"expected_empty"`
}

// Component is one component.
type Component struct {
	Weight Summary `json:"weight"`
	// Columns has an entry for each column.
	Columns []ColumnSummary `json:"columns"`
	// Correlations holds the correlations of pairs of columns within the component.
	Correlations []Correlation `json:"correlations,omitempty"`
}

// ColumnSummary describes a component in one column. Mean is the location, or the rate of counts.
// SD is the scale, which is not the sd for Student components, and nil for counts.
type ColumnSummary struct {
	Column string   `json:"column"`
	Mean   Summary  `json:"mean"`
	SD     *Summary `json:"sd,omitempty"`
}

// Correlation is the correlation of two columns within a component.
type Correlation struct {
	A     string  `json:"a"`
	B     string  `json:"b"`
	Value Summary `json:"value"`
}

// Summary describes a marginal distribution.
type Summary struct {
	Median Number `json:"median"`
	Q025   Number `json:"q025"`
	Q975   Number `json:"q975"`
}

// DensityPoint is the density of a new value at one point.
type DensityPoint struct {
	Column string `json:"column"`
	At     Number `json:"at"`
	Mean   Number `json:"mean"`
	Q025   Number `json:"q025"`
	Q975   Number `json:"q975"`
}

// Row is a row of the table with the probabilities of its component.
type Row struct {
	Place       int      `json:"place"` // line or row number in the file
	Values      []Number `json:"values"`
	Component   int      `json:"component"` // the most probable
	Probability []Number `json:"probability"`
}

// ExitStatus is the exit status for the result: 3 when the answer must not be used, else 0.
func (r *Result) ExitStatus() int { return r.Certificate.Verdict.ExitStatus() }

// summarize returns the summary of values, which it sorts.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		nan := Number(math.NaN())
		return Summary{nan, nan, nan}
	}
	slices.Sort(values)
	quantile := func(p float64) Number { return Number(stat.Quantile(p, stat.Empirical, values, nil)) }
	return Summary{quantile(0.5), quantile(0.025), quantile(0.975)}
}
