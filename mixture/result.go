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
	// of several columns, in the order in which relabelled draws have them.
	Given Given `json:"given_most_probable"`
	// Density is the density of a new value in each column, averaged over numbers of components;
	// of counts the probability.
	Density []DensityPoint `json:"density"`
	// Rows are the probabilities of rows to belong to the components of Given.
	Rows []Row `json:"rows"`
}

// DataSummary says what was analysed.
type DataSummary struct {
	Rows    int      `json:"rows"`
	Columns []string `json:"columns"`
	Family  string   `json:"family"`
}

// CertificateReport is the verdict on the computation. Jumps are reversible-jump chains over
// mixtures, Partitions samplers of clusters of rows that sum over numbers of components. The chains
// of RunChains are judged by themselves: there are no Partitions, whose Samplers are 0 and whose
// numbers, as all that compares the two, are missing.
type CertificateReport struct {
	Verdict    vti.Verdict  `json:"verdict"`
	Basis      vti.Basis    `json:"basis"`
	Jumps      MethodReport `json:"jumps"`
	Partitions MethodReport `json:"partitions"`
	// Difference is the largest difference of a probability between the two in standard errors.
	Difference Number   `json:"largest_difference_in_standard_errors"`
	LargestSE  Number   `json:"largest_se"`
	Reasons    []string `json:"reasons,omitempty"`
}

// TwoMethods reports whether partitions check the chains.
func (c *CertificateReport) TwoMethods() bool { return c.Partitions.Samplers > 0 }

// MethodReport is how well one method mixed.
type MethodReport struct {
	Samplers int    `json:"samplers"`
	Sweeps   int    `json:"sweeps"` // of each, or iterations of RunChains
	RHat     Number `json:"rhat"`
	ESS      Number `json:"ess"`
	SE       Number `json:"se"` // the largest of a probability of a number of components
}

// Count is a number of components with its probability.
type Count struct {
	Components  int    `json:"components"`
	Probability Number `json:"probability"`
	SE          Number `json:"se"`
	// Jumps and Partitions are the probabilities by the two methods.
	Jumps      Number `json:"jumps"`
	Partitions Number `json:"partitions"`
	// Occupied is the probability that the rows belong to so many components.
	Occupied Number `json:"occupied"`
}

// Given is what is known given a number of components.
type Given struct {
	Components int         `json:"components"`
	Draws      int         `json:"draws"`
	List       []Component `json:"list"`
	// Empty is the expected number of components to which no row belongs.
	Empty Number `json:"expected_empty"`
}

// Component is one component.
type Component struct {
	Weight Summary `json:"weight"`
	// Columns has an entry for each column.
	Columns []ColumnSummary `json:"columns"`
	// Correlations are those of pairs of columns within the component.
	Correlations []Correlation `json:"correlations,omitempty"`
}

// ColumnSummary describes a component in one column. Mean is its location, of counts the rate, and
// SD its scale: of Student components that is not the sd, and counts have none.
type ColumnSummary struct {
	Column string   `json:"column"`
	Mean   Summary  `json:"mean"`
	SD     *Summary `json:"sd,omitempty"`
}

// Correlation is that of two columns within a component.
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

// DensityPoint is the density of a new value at one place.
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

// ExitStatus is the status of the process that printed the result: 3 when the answer must not be
// used, else 0.
func (r *Result) ExitStatus() int { return r.Certificate.Verdict.ExitStatus() }

// summarize is the summary of draws, which it sorts.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		nan := Number(math.NaN())
		return Summary{nan, nan, nan}
	}
	slices.Sort(values)
	at := func(p float64) Number { return Number(stat.Quantile(p, stat.Empirical, values, nil)) }
	return Summary{at(0.5), at(0.025), at(0.975)}
}
