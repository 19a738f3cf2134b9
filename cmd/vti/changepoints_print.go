package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/changepoint"
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

func changepointConclusion(r *changepoint.Result) *conclusion {
	return &conclusion{r, r.Seconds, func(w io.Writer) { printChangepoints(w, r) }}
}

// shownCurve is how many places are printed; the files have all.
const shownCurve = 8

// printChangepoints prints an answer for a reader.
func printChangepoints(w io.Writer, r *changepoint.Result) {
	text := "an exact sum over all numbers and places of changes."
	if r.Certificate.Verdict != vti.Trusted {
		text = "the sum is exact, but something limits it:"
	}
	printVerdict(w, r.Certificate.Verdict, text, r.Certificate.Reasons)
	fmt.Fprintf(w, "  quadrature moves no probability of a number of changes by more than %.1g\n\n", float64(r.Certificate.Error))
	printModelCheck(w, r.ModelCheck)

	fmt.Fprintf(w, "Number of changes: %.2f expected\n", float64(r.Expected))
	counts := &grid{}
	counts.add("changes", "probability", "log evidence")
	for _, c := range r.Counts {
		if c.Probability >= 0.0005 || c.Changes == r.Given.Changes || c.Changes == 0 {
			counts.add(fmt.Sprint(c.Changes), probability(c.Probability, 0), fmt.Sprintf("%.3f", float64(c.LogEvidence)))
		}
	}
	counts.print(w)
	printGivenChanges(w, r)
	printCurve(w, r)
	fmt.Fprintf(w, "Log evidence of all numbers together: %.3f.\nComputation: %s.\n", float64(r.LogEvidence), timeText(r.Seconds.Total))
	printMeanings(w, wordEvidence)
}

// printGivenChanges prints places and levels given the most probable number of changes.
func printGivenChanges(w io.Writer, r *changepoint.Result) {
	fmt.Fprintf(w, "\nGiven %s: where, and the level of each segment\n", english.Count(r.Given.Changes, "change"))
	table := &grid{}
	heads := []string{"segment", "begins at", "median", "<95% interval", "|mean", "<95% interval"}
	first := r.Given.Segments[0]
	if first.SD != nil {
		heads = append(heads, "|sd", "<95% interval")
	}
	if first.Slope != nil {
		heads = append(heads, "|slope", "<95% interval")
	}
	table.add(heads...)
	for j, s := range r.Given.Segments {
		cells := []string{fmt.Sprint(j + 1), "", "", ""}
		if j > 0 {
			place := r.Given.Places[j-1]
			cells[1], cells[2], cells[3] = fmt.Sprintf("%.6g", float64(place.Joint)), fmt.Sprintf("%.6g", float64(place.Median)), placeText(place)
		}
		for _, summary := range []*changepoint.Summary{&s.Mean, s.SD, s.Slope} {
			if summary != nil {
				cells = append(cells, short(summary.Mean), interval(summary.Q025, summary.Q975))
			}
		}
		table.add(cells...)
	}
	table.print(w)
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
	table := &grid{}
	table.add("between", "<and", "probability")
	for _, c := range order[:min(shownCurve, len(order))] {
		table.add(fmt.Sprintf("%.6g", float64(c.From)), fmt.Sprintf("%.6g", float64(c.To)), probability(c.Probability, 0))
	}
	table.print(w)
	fmt.Fprintln(w)
}
