package calibrate

import (
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/modelcheck"
)

// Number is a float64 that becomes null in JSON if it is not finite.
type Number = report.Number

// Replicate is one problem with its answer, compared with the truth or the exact posterior.
type Replicate struct {
	Number int    `json:"number"`
	Seed   uint64 `json:"seed"`
	// About describes the problem in a few words.
	About string `json:"about"`
	// Kind names the group of replicates to which this one belongs: the likelihood or mechanism of
	// its problem, and the method that gave the answer.
	Kind string `json:"kind,omitempty"`
	// Verdict is the verdict on the answer: trusted, doubtful or failed; refused if the command did
	// not accept the table; or error. Error says why there is no answer.
	Verdict string `json:"verdict"`
	Error   string `json:"error,omitempty"`
	Reasons string `json:"reasons,omitempty"`
	// ModelCheck is the verdict of the model check: good, questionable or poor. Findings lists what
	// the model check found.
	ModelCheck string   `json:"model_check,omitempty"`
	Findings   []string `json:"findings,omitempty"`
	// Ranks holds the ranks of true parameters among their posterior draws, from 0 to 1.
	Ranks []Rank `json:"ranks,omitempty"`
	// Events holds statements with their posterior probabilities, and whether they were true.
	Events []Event `json:"events,omitempty"`
	// Comparisons holds the numbers of the answer beside exact numbers.
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Command is the command line that runs vti on the table; it is empty if the problem has
	// settings without a flag. The file of the table is kept in the directory of the study if the
	// answer is wrong or missing, or if only this replicate was requested. Repeat is the command
	// line that draws the problem again.
	Command string  `json:"command,omitempty"`
	Repeat  string  `json:"repeat,omitempty"`
	Seconds float64 `json:"seconds"`

	table []byte // the table as CSV
}

// The verdicts that this package treats in a special way.
const (
	refused = "refused" // the command did not accept the table
	broken  = "error"   // the command stopped with an error
	trusted = "trusted"
)

// routed returns the kind of an answer (Replicate.Kind): its likelihood or mechanism, the method of
// its certificate (basis), and "after training" if steps, the number of training steps, is not 0.
func routed(kind, basis fmt.Stringer, steps int) string {
	return fmt.Sprintf("%v by %v%s", kind, basis, map[bool]string{true: " after training"}[steps > 0])
}

// Rank is the fraction of posterior draws of a parameter that lie below its true value.
type Rank struct {
	Kind  string  `json:"kind"`
	Value float64 `json:"value"`
}

// Event is a statement with its posterior probability, and whether it was true.
type Event struct {
	Kind        string `json:"kind"`
	Probability Number `json:"probability"`
	True        bool   `json:"true"`
}

// Quantity is the kind of a number that is compared with an exact number. It determines the
// tolerated error.
type Quantity string

// The quantities.
const (
	// Inclusion is the probability of a predictor or of an edge.
	Inclusion Quantity = "inclusion"
	// Mean is a posterior mean, in units of the posterior standard deviation.
	Mean Quantity = "mean"
	// SD is the logarithm of a posterior standard deviation.
	SD Quantity = "log sd"
	// Evidence is a log evidence in nats.
	Evidence Quantity = "log evidence"
)

// tolerance is the largest absolute error that is never wrong, even with a tiny standard error.
var tolerance = map[Quantity]float64{Inclusion: 0.01, Mean: 0.01, SD: math.Log(1.1), Evidence: 0.05}

// wrongErrors is the largest tolerated error of a trusted number, in stated standard errors.
const wrongErrors = 4

// Comparison is a stated number with its standard error, beside the exact number.
type Comparison struct {
	Quantity Quantity `json:"quantity"`
	Of       string   `json:"of,omitempty"`
	Stated   Number   `json:"stated"`
	SE       Number   `json:"se"`
	Exact    Number   `json:"exact"`
}

// Error returns the stated minus the exact number.
func (c Comparison) Error() float64 { return float64(c.Stated - c.Exact) }

// Wrong reports whether the error is larger than both the tolerance for the quantity and
// wrongErrors standard errors. It is false if no number was stated.
func (c Comparison) Wrong() bool {
	off := math.Abs(c.Error())
	return off > tolerance[c.Quantity] && !(off <= wrongErrors*float64(c.SE))
}

// String returns the comparison in a few words.
func (c Comparison) String() string {
	stated := fmt.Sprintf("%.4f", float64(c.Stated))
	if c.SE >= 5e-5 {
		stated += fmt.Sprintf(" ± %.4f", float64(c.SE))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", c.Quantity, c.Of)) + fmt.Sprintf(": %s, exactly %.4f", stated, float64(c.Exact))
}

// noteModelCheck notes the verdict and the findings of the model check. The argument report is nil
// if no model check was made.
func (r *Replicate) noteModelCheck(report *modelcheck.Report) {
	if report == nil {
		return
	}
	r.ModelCheck = report.Verdict.String()
	for _, f := range report.Findings {
		if f.Verdict != modelcheck.Good {
			r.Findings = append(r.Findings, f.What)
		}
	}
}

// Wrong returns the comparisons in which a number of a trusted answer is wrong.
func (r *Replicate) Wrong() []Comparison {
	if r.Verdict != trusted {
		return nil
	}
	return apply.Keep(r.Comparisons, Comparison.Wrong)
}
