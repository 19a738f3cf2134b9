package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// ChangesPage is the page of runs of vti changepoints.
var ChangesPage = Page{show: pageOf(changesDocument)}

func changesDocument(s *source, r *changepoint.Result) *document.Document {
	subject := cmp.Or(r.Data.Value, "the rate of events")
	d := &document.Document{
		Title:    fmt.Sprintf("When does %s change?", subject),
		Subtitle: fmt.Sprintf("%s, %s from %s to %s; model %s", s.table(), document.Counted(r.Data.Rows, "row"), picture.Digits(float64(r.Data.From), 5), picture.Digits(float64(r.Data.To), 5), r.Data.Model),
		Answer:   []string{r.Answer},
	}
	d.Sections = []*document.Section{{
		ID: "changes", Title: "When, and how often", Lead: "Averaged over numbers and places of changes; bands hold 95% of the posterior.",
		Tables: []*document.Table{changesTable(r), segmentsTable(r), placesTable(r)},
		Draw: func(_ context.Context, part *document.Section) {
			part.Place(levelsPicture(subject, r))
			part.Place(curvePicture(r))
			part.Place(countsPicture("counts", "Number of changes", "change", "changes", r.Counts, func(c changepoint.Count) (int, changepoint.Number) { return c.Changes, c.Probability }))
		},
	}, s.checked("", r.ModelCheck)}
	c := &computation{level: &r.Certificate.Verdict, reasons: r.Certificate.Reasons, text: "an exact sum over all numbers and places of changes.",
		basis: []string{fmt.Sprintf("quadrature moves no probability of a number of changes by more than %.1g", float64(r.Certificate.Error))},
		facts: []string{fmt.Sprintf("Log evidence of all numbers together: %.3f.", float64(r.LogEvidence)), "Computation: " + took(r.Seconds, 0) + "."},
		words: []string{document.WordEvidence}}
	if !c.trusted() {
		c.text = "the sum is exact, but something limits it:"
	}
	return s.answer(d, c, r.ModelCheck, "Report levels averaged over the number and the places of changes, with the probabilities of changes, rather than one set of places.")
}

// changesTable has a row for each number of changes, with its probability.
func changesTable(r *changepoint.Result) *document.Table {
	t := document.NewTable(fmt.Sprintf("Number of changes: %.2f expected", float64(r.Expected)), "changes", "probability", "log evidence").Opened()
	for _, c := range r.Counts {
		if c.Probability >= leastBar || c.Changes == r.Given.Changes || c.Changes == 0 {
			t.Add(fmt.Sprint(c.Changes), document.Probability(c.Probability, 0), fmt.Sprintf("%.3f", float64(c.LogEvidence)))
		}
	}
	return t
}

// segmentsTable has the segments and their levels, given the most probable number of changes.
func segmentsTable(r *changepoint.Result) *document.Table {
	head := []string{"segment", "begins at", "median", "<95% interval", "|mean", "<95% interval"}
	first := r.Given.Segments[0]
	if first.SD != nil {
		head = append(head, "|sd", "<95% interval")
	}
	if first.Slope != nil {
		head = append(head, "|slope", "<95% interval")
	}
	t := document.NewTable(fmt.Sprintf("Given %s: where, and the level of each segment", english.Count(r.Given.Changes, "change")), head...).Opened()
	for j, s := range r.Given.Segments {
		cells := []string{fmt.Sprint(j + 1), "", "", ""}
		if j > 0 {
			place := r.Given.Places[j-1]
			cells[1], cells[2], cells[3] = fmt.Sprintf("%.6g", float64(place.Joint)), fmt.Sprintf("%.6g", float64(place.Median)), placeText(place)
		}
		for _, summary := range []*changepoint.Summary{&s.Mean, s.SD, s.Slope} {
			if summary != nil {
				cells = append(cells, document.Short(summary.Mean), document.Interval(summary.Q025, summary.Q975))
			}
		}
		t.Add(cells...)
	}
	return t
}

// A credible set is shown if it consists of at most shownIntervals intervals.
const shownIntervals = 2

// placeText returns the place of a change: its smallest credible set of 95 percent, or its central
// interval if this set consists of many intervals.
func placeText(place changepoint.Place) string {
	set := place.Set
	if len(set) > shownIntervals {
		set = [][2]changepoint.Number{{place.Q025, place.Q975}}
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

// shownCurve is the number of probable places of a change that the table shows. The files of the
// run list all places.
const shownCurve = 8

// placesTable has the most probable places of a change in a series, averaged over the number of
// changes. For events there is no such table, because any single time has probability zero.
func placesTable(r *changepoint.Result) *document.Table {
	t := document.NewTable("Most probable places of a change, averaged over their number", "between", "<and", "probability")
	if r.Data.Model == changepoint.Events.String() {
		return t
	}
	order := slices.SortedStableFunc(slices.Values(r.Curve), func(a, b changepoint.CurvePoint) int { return cmp.Compare(b.Probability, a.Probability) })
	for _, c := range order[:min(shownCurve, len(order))] {
		t.Add(fmt.Sprintf("%.6g", float64(c.From)), fmt.Sprintf("%.6g", float64(c.To)), document.Probability(c.Probability, 0))
	}
	return t
}

// levelsPicture draws the level of the series along time, with its credible band.
func levelsPicture(subject string, result *changepoint.Result) *picture.Picture {
	var level function
	rows := picture.Curve{Ink: picture.Strong, Dotted: true}
	for _, l := range result.Levels {
		level.add(l.Time, l.Mean, l.Q025, l.Q975)
		if l.Observed != nil {
			rows.X, rows.Y = append(rows.X, float64(l.Time)), append(rows.Y, float64(*l.Observed))
		}
	}
	p := bandPicture("levels", "Level along time", level, result.Data.Time, subject, rows)
	p.Text = "The posterior mean of the level along time, with a band that holds 95%"
	if len(rows.X) > 0 {
		p.Text += ", and rows of the table"
	}
	p.Text += "."
	return p
}

// curvePicture draws the probability of a change at each place.
func curvePicture(result *changepoint.Result) *picture.Picture {
	const most = 240 // the largest number of bars that a reader can distinguish
	var bars []picture.Bar
	best := changepoint.CurvePoint{}
	step := (len(result.Curve) + most - 1) / most
	for k := 0; k < len(result.Curve); k += step {
		c := result.Curve[k]
		for _, more := range result.Curve[k+1 : min(k+step, len(result.Curve))] {
			c.To, c.Probability = more.To, c.Probability+more.Probability
		}
		height := float64(c.Probability)
		if result.Data.Model == changepoint.Events.String() { // the intervals differ in length
			height /= float64(c.To - c.From)
		}
		bars = append(bars, picture.Bar{From: float64(c.From), To: float64(c.To), Value: height, Compared: math.NaN(),
			Hint: fmt.Sprintf("%s to %s: %s", picture.Digits(float64(c.From), 6), picture.Digits(float64(c.To), 6), picture.Probability(float64(c.Probability)))})
		if c.Probability > best.Probability {
			best = c
		}
	}
	yName := "probability of a change"
	if result.Data.Model == changepoint.Events.String() {
		yName = "changes per unit of time"
	}
	return picture.Bars("places", "Where changes are", picture.Column, 180, bars, result.Data.Time, yName).
		Described("The most probable place is from %s to %s, with probability %s.", picture.Digits(float64(best.From), 6), picture.Digits(float64(best.To), 6), picture.Probability(float64(best.Probability)))
}
