package modelcheck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/report"
)

// Verdict grades how well a model describes a table.
type Verdict int

const (
	// Good means that the model describes everything found in the table.
	Good Verdict = iota
	// Questionable means that a finding contradicts the model.
	Questionable
	// Poor means that a finding makes conclusions likely to be wrong.
	Poor
)

var verdicts = enum.New[Verdict]("verdict of the model check", "good", "questionable", "poor")

// String returns "good", "questionable" or "poor".
func (v Verdict) String() string { return verdicts.String(v) }

// MarshalText returns the name of the verdict.
func (v Verdict) MarshalText() ([]byte, error) { return verdicts.Marshal(v) }

// UnmarshalText reads the output of MarshalText.
func (v *Verdict) UnmarshalText(text []byte) error { return verdicts.Unmarshal(text, v) }

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Finding is a feature of the table that the model does not describe, or a note for the reader.
type Finding struct {
	// What describes the finding. It is a term such as "overdispersion", a colon, and a sentence.
	What string `json:"what"`
	// Where names the column and the rows.
	Where string `json:"where"`
	// Statistic is the size of the discrepancy. What names its unit.
	Statistic Number `json:"statistic"`
	// P is the adjusted posterior predictive p-value, or NaN for a finding without a p-value.
	P Number `json:"p"`
	// Advice suggests a remedy.
	Advice string `json:"advice"`
	// Verdict is the verdict on the model from this finding alone. Good marks a note.
	Verdict Verdict `json:"verdict"`
}

// Term returns the beginning of What: the kind of the finding, such as "overdispersion".
func (f Finding) Term() string {
	term, _, _ := strings.Cut(f.What, ":")
	return term
}

// Report is the result of a model check.
type Report struct {
	// Verdict is the worst verdict of the findings.
	Verdict Verdict `json:"verdict"`
	// Findings holds the findings, the worst verdict first.
	Findings []Finding `json:"findings"`
	// Predictive is a histogram of the response, with quantiles over replicated tables. Fitted
	// holds predictions of at most 1000 evenly spaced rows. Both are set for regressions only.
	Predictive []PredictiveBin `json:"predictive,omitempty"`
	Fitted     []FittedRow     `json:"-"`
}

func newReport(findings []Finding) Report {
	r := Report{Findings: slices.Clone(findings)}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return int(b.Verdict) - int(a.Verdict) })
	if len(r.Findings) > 0 {
		r.Verdict = r.Findings[0].Verdict
	} else {
		r.Findings = []Finding{} // JSON shows a list, not null
	}
	return r
}

// shownFindings is the largest number of findings that String shows. JSON has all findings.
const shownFindings = 8

// String returns the verdict in one line and the findings under it, each with its advice.
func (r Report) String() string {
	meaning := map[Verdict]string{
		Good:         "nothing in the table contradicts the model.",
		Questionable: "the table contradicts the model in part; the verdict on the computation does not cover this.",
		Poor:         "the model does not describe this table; its probabilities are likely to mislead.",
	}[r.Verdict]
	var text strings.Builder
	fmt.Fprintf(&text, "model check: %s: %s\n", r.Verdict, meaning)
	for _, f := range r.Findings[:min(shownFindings, len(r.Findings))] {
		fmt.Fprintf(&text, "  %s (%s", f.What, f.Where)
		if !math.IsNaN(float64(f.P)) {
			fmt.Fprintf(&text, "; p = %.2g", f.P)
		}
		fmt.Fprintf(&text, ")\n    try: %s\n", f.Advice)
	}
	if more := len(r.Findings) - shownFindings; more > 0 {
		fmt.Fprintf(&text, "  and %s, which --json lists\n", english.Count(more, "more finding"))
	}
	return text.String()
}
