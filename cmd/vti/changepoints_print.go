package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
)

// printChangepointProblem says what was read and the priors in words.
func printChangepointProblem(w io.Writer, p *changepoint.Problem) {
	o := p.Options
	what := fmt.Sprintf("events, by %s", o.Time)
	if o.Kind != changepoint.Events {
		what = fmt.Sprintf("rows of %s", o.Value)
		if o.Time != "" {
			what += ", by " + o.Time
		}
	}
	fmt.Fprintf(w, "%s: %d %s; model %s\n", p.Path, p.Rows(), what, o.Kind)
	for _, line := range slices.Concat(p.Notes, p.Priors()) {
		fmt.Fprintln(w, "  "+line)
	}
	fmt.Fprintln(w)
}

func changepointConclusion(r *changepoint.Result) *shell.Conclusion {
	return &shell.Conclusion{Result: r, Seconds: r.Seconds, Print: func(w io.Writer) { printChangepoints(w, r) }}
}

// shownCurve is how many places are printed; the files have all.
const shownCurve = 8

// printChangepoints prints an answer for a reader.
func printChangepoints(w io.Writer, r *changepoint.Result) {
	text := "an exact sum over all numbers and places of changes."
	if r.Certificate.Verdict != vti.Trusted {
		text = "the sum is exact, but something limits it:"
	}
	console.PrintVerdict(w, r.Certificate.Verdict, text, r.Certificate.Reasons)
	fmt.Fprintf(w, "  quadrature moves no probability of a number of changes by more than %.1g\n\n", float64(r.Certificate.Error))
	console.PrintModelCheck(w, r.ModelCheck)

	fmt.Fprintf(w, "Number of changes: %.2f expected\n", float64(r.Expected))
	counts := &console.Grid{}
	counts.Add("changes", "probability", "log evidence")
	for _, c := range r.Counts {
		if c.Probability >= 0.0005 || c.Changes == r.Given.Changes || c.Changes == 0 {
			counts.Add(fmt.Sprint(c.Changes), console.Probability(c.Probability, 0), fmt.Sprintf("%.3f", float64(c.LogEvidence)))
		}
	}
	counts.Print(w)
	printGivenChanges(w, r)
	printCurve(w, r)
	fmt.Fprintf(w, "Log evidence of all numbers together: %.3f.\nComputation: %s.\n", float64(r.LogEvidence), console.TimeText(r.Seconds.Total))
	console.PrintMeanings(w, console.WordEvidence)
}

// printGivenChanges prints places and levels given the most probable number of changes.
func printGivenChanges(w io.Writer, r *changepoint.Result) {
	fmt.Fprintf(w, "\nGiven %s: where, and the level of each segment\n", english.Count(r.Given.Changes, "change"))
	table := &console.Grid{}
	heads := []string{"segment", "begins at", "median", "<95% interval", "|mean", "<95% interval"}
	first := r.Given.Segments[0]
	if first.SD != nil {
		heads = append(heads, "|sd", "<95% interval")
	}
	if first.Slope != nil {
		heads = append(heads, "|slope", "<95% interval")
	}
	table.Add(heads...)
	for j, s := range r.Given.Segments {
		cells := []string{fmt.Sprint(j + 1), "", "", ""}
		if j > 0 {
			place := r.Given.Places[j-1]
			cells[1], cells[2], cells[3] = fmt.Sprintf("%.6g", float64(place.Joint)), fmt.Sprintf("%.6g", float64(place.Median)), placeText(place)
		}
		for _, summary := range []*changepoint.Summary{&s.Mean, s.SD, s.Slope} {
			if summary != nil {
				cells = append(cells, console.Short(summary.Mean), console.Interval(summary.Q025, summary.Q975))
			}
		}
		table.Add(cells...)
	}
	table.Print(w)
	fmt.Fprintln(w)
}

// shownIntervals is the most intervals of a credible set that are printed.
const shownIntervals = 2

// placeText is where a change is with 95 percent: the smallest set where it is simple, else the
// central interval.
func placeText(place changepoint.Place) string {
	set := place.Set
	if len(set) > shownIntervals {
		set = [][2]report.Number{{place.Q025, place.Q975}}
	}
	var parts []string
	for _, part := range set {
		if part[0] == part[1] {
			parts = append(parts, fmt.Sprintf("%.6g", float64(part[0])))
		} else {
			parts = append(parts, fmt.Sprintf("%.6g to %.6g", float64(part[0]), float64(part[1])))
		}
	}
	return strings.Join(parts, ", ")
}

// printCurve prints the most probable places of a series, averaged over the number of changes.
func printCurve(w io.Writer, r *changepoint.Result) {
	if r.Data.Model == changepoint.Events.String() {
		return // single moments have no probability
	}
	order := slices.Clone(r.Curve)
	slices.SortStableFunc(order, func(a, b changepoint.CurvePoint) int { return cmp.Compare(b.Probability, a.Probability) })
	fmt.Fprintln(w, "Most probable places of a change, averaged over their number")
	table := &console.Grid{}
	table.Add("between", "<and", "probability")
	for _, c := range order[:min(shownCurve, len(order))] {
		table.Add(fmt.Sprintf("%.6g", float64(c.From)), fmt.Sprintf("%.6g", float64(c.To)), console.Probability(c.Probability, 0))
	}
	table.Print(w)
	fmt.Fprintln(w)
}
