package mixture

import (
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Seconds are wall-clock times.
type Seconds = run.Seconds

// Result is the answer in the user's words: the object that --json prints.
type Result struct {
	// Schema names the schema of the object, with its version; docs/schema has the file.
	Schema  string      `json:"schema"`
	Command string      `json:"command"`
	Version string      `json:"version"`
	Seed    *uint64     `json:"seed,omitempty"`
	Data    DataSummary `json:"data"`
	Seconds Seconds     `json:"seconds"`
	// Answer is the answer in a sentence.
	Answer      string            `json:"answer"`
	Certificate CertificateReport `json:"certificate"`
	// ModelCheck says how well the model describes the table.
	ModelCheck *modelcheck.Report `json:"model_check,omitempty"`
	// Counts has an entry for each number of components, from 1.
	Counts []Count `json:"components"`
	// Expected is the posterior mean of the number of components.
	Expected Number `json:"expected_components"`
	// Given describes the components given the most probable number, in the order of their means.
	Given Given `json:"given_most_probable"`
	// Density is the density of a new value, averaged over numbers of components.
	Density []DensityPoint `json:"density"`
	// Rows are the probabilities of rows to belong to the components of Given.
	Rows   []Row  `json:"rows"`
	RunDir string `json:"run_dir,omitempty"`
}

// DataSummary says what was analysed.
type DataSummary struct {
	Rows   int    `json:"rows"`
	Column string `json:"column"`
}

// CertificateReport is the verdict on the computation. Jumps are reversible-jump chains over
// mixtures, Partitions samplers of clusters of rows that sum over numbers of components.
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

// MethodReport is how well one method mixed.
type MethodReport struct {
	Samplers int    `json:"samplers"`
	Sweeps   int    `json:"sweeps"` // of each
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

// Component is one component: those with smaller means come first.
type Component struct {
	Weight Summary `json:"weight"`
	Mean   Summary `json:"mean"`
	SD     Summary `json:"sd"`
}

// Summary is a marginal distribution.
type Summary struct {
	Median Number `json:"median"`
	Q025   Number `json:"q025"`
	Q975   Number `json:"q975"`
}

// DensityPoint is the density of a new value at one place.
type DensityPoint struct {
	At   Number `json:"at"`
	Mean Number `json:"mean"`
	Q025 Number `json:"q025"`
	Q975 Number `json:"q975"`
}

// Row is a row of the table with the probabilities of its component.
type Row struct {
	Place       int      `json:"place"` // line or row number in the file
	Value       Number   `json:"value"`
	Component   int      `json:"component"` // the most probable
	Probability []Number `json:"probability"`
}

// ExitStatus is the status of the process that printed the result: 3 when the answer is not to be
// believed, else 0.
func (r *Result) ExitStatus() int { return r.Certificate.Verdict.ExitStatus() }

// summarize is the summary of draws, which it sorts.
func summarize(values []float64) Summary {
	slices.Sort(values)
	at := func(p float64) Number {
		x := p * float64(len(values)-1)
		low := min(int(x), len(values)-2)
		if low < 0 {
			return Number(values[0])
		}
		return Number(values[low] + (x-float64(low))*(values[low+1]-values[low]))
	}
	if len(values) == 0 {
		nan := Number(math.NaN())
		return Summary{nan, nan, nan}
	}
	return Summary{at(0.5), at(0.025), at(0.975)}
}
