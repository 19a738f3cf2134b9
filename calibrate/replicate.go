package calibrate

import (
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/modelcheck"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Replicate is one problem with its answer, compared with the truth or the exact posterior.
type Replicate struct {
	Number int    `json:"number"`
	Seed   uint64 `json:"seed"`
	// About describes the problem in a few words.
	About string `json:"about"`
	// Kind groups answers: the likelihood or mechanism, and the route to the answer.
	Kind string `json:"kind,omitempty"`
	// Verdict is the verdict of the answer: trusted, doubtful, failed, or refused if the command
	// did not accept the table. Error says why there is no answer.
	Verdict string `json:"verdict"`
	Error   string `json:"error,omitempty"`
	Reasons string `json:"reasons,omitempty"`
	// ModelCheck is the verdict of the model check: good, or questionable or poor with findings.
	ModelCheck string   `json:"model_check,omitempty"`
	Findings   []string `json:"findings,omitempty"`
	// Ranks are the places of true parameters in their posterior, from 0 to 1.
	Ranks []Rank `json:"ranks,omitempty"`
	// Events are stated probabilities with their outcomes.
	Events []Event `json:"events,omitempty"`
	// Comparisons are stated numbers with exact ones.
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Command runs vti on the table. The directory of the study has the table if the answer is
	// wrong or was requested alone. It is empty if the problem has options without a flag. Repeat
	// draws the problem again.
	Command string  `json:"command,omitempty"`
	Repeat  string  `json:"repeat,omitempty"`
	Seconds float64 `json:"seconds"`

	table []byte // as CSV
}

// Words for a verdict without a certificate.
const (
	refused = "refused" // the command did not accept the table
	broken  = "error"   // it stopped with an error
	trusted = "trusted"
)

// routed is the kind of an answer by a basis, after so many steps of training.
func routed(kind, basis fmt.Stringer, steps int) string {
	return fmt.Sprintf("%v by %v%s", kind, basis, map[bool]string{true: " after training"}[steps > 0])
}

// Rank is the share of posterior draws below the true value of a parameter of some kind.
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

// Quantity is the kind of a compared number, which sets its tolerance.
type Quantity string

// The quantities.
const (
	// Inclusion is the probability of a predictor or of an edge.
	Inclusion Quantity = "inclusion"
	// Mean is a posterior mean in posterior standard deviations.
	Mean Quantity = "mean"
	// SD is the logarithm of a posterior standard deviation.
	SD Quantity = "log sd"
	// Evidence is a log evidence in nats.
	Evidence Quantity = "log evidence"
)

// tolerance is the tolerated error of a number with any standard error.
var tolerance = map[Quantity]float64{Inclusion: 0.01, Mean: 0.01, SD: math.Log(1.1), Evidence: 0.05}

// wrongErrors is the number of stated standard errors beyond which a trusted number is wrong.
const wrongErrors = 4

// Comparison is a stated number with its standard error, and the exact one.
type Comparison struct {
	Quantity Quantity `json:"quantity"`
	Of       string   `json:"of,omitempty"`
	Stated   Number   `json:"stated"`
	SE       Number   `json:"se"`
	Exact    Number   `json:"exact"`
}

// Error is stated minus exact.
func (c Comparison) Error() float64 { return float64(c.Stated - c.Exact) }

// Wrong reports whether the error is larger than the standard error and the tolerance of the
// quantity allow. A number that is not stated is not wrong.
func (c Comparison) Wrong() bool {
	off := math.Abs(c.Error())
	return off > tolerance[c.Quantity] && !(off <= wrongErrors*float64(c.SE))
}

// String is the comparison in a few words.
func (c Comparison) String() string {
	stated := fmt.Sprintf("%.4f", float64(c.Stated))
	if c.SE >= 5e-5 {
		stated += fmt.Sprintf(" ± %.4f", float64(c.SE))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", c.Quantity, c.Of)) + fmt.Sprintf(": %s, exactly %.4f", stated, float64(c.Exact))
}

// noteModelCheck notes the findings of the model check; report is nil without one.
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

// Wrong lists the comparisons of a trusted answer that are wrong.
func (r *Replicate) Wrong() (wrong []Comparison) {
	if r.Verdict != trusted {
		return nil
	}
	for _, c := range r.Comparisons {
		if c.Wrong() {
			wrong = append(wrong, c)
		}
	}
	return wrong
}
