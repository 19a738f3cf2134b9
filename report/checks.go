package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/modelcheck"
)

// checked returns the section on the model check. It compares the responses of the rows with the
// predictions of the model, if the run has stored both.
func (s *source) checked(response string, check *modelcheck.Report, tables ...*document.Table) *document.Section {
	m := model(check)
	return &document.Section{ID: "check", Title: "Does the model describe the table", Tables: append([]*document.Table{findings(check)}, tables...),
		Draw: func(_ context.Context, part *document.Section) {
			part.Notes = []string{"Model: " + m.Word + ". " + m.Text}
			if check != nil && len(check.Predictive) > 0 && check.Predictive[0].Category != "" {
				part.Place(categoriesPicture(check.Predictive)) // without an order of categories there are no residuals
			} else if rows, err := modelcheck.ReadFitted(filepath.Join(s.dir, modelcheck.FittedFile)); err == nil && len(rows) > 0 {
				drawFitted(part, response, rows, check)
			}
			if len(part.Pictures) > 0 {
				part.Lead = "The table beside what the model expects of it, and beside tables drawn anew from the posterior."
			}
		}}
}

// drawFitted draws the responses of rows against their posterior expectations.
func drawFitted(part *document.Section, response string, rows []modelcheck.FittedRow, check *modelcheck.Report) {
	part.Tables = append(part.Tables, worstRows(rows))
	if !slices.ContainsFunc(rows, func(r modelcheck.FittedRow) bool { return r.Observed != 0 && r.Observed != 1 }) {
		part.Place(calibrationPicture(response, rows))
		return
	}
	part.Place(fittedPicture(response, rows))
	part.Place(residualPicture(response, rows))
	if check != nil && len(check.Predictive) > 0 {
		part.Place(predictivePicture(response, check.Predictive))
	}
	inside := apply.Keep(rows, func(r modelcheck.FittedRow) bool { return r.Observed >= r.Q025 && r.Observed <= r.Q975 })
	part.Notes = append(part.Notes, fmt.Sprintf("%.1f%% of the %s lie inside the intervals that should hold 95%% of them.", 100*float64(len(inside))/float64(len(rows)), document.Counted(len(rows), "row")))
}

// fittedPicture draws observed against expected responses.
func fittedPicture(response string, rows []modelcheck.FittedRow) *picture.Picture {
	var points []picture.Point
	var expected, observed []float64
	for _, r := range rows {
		points = append(points, picture.Point{X: r.Mean, Y: r.Observed})
		expected, observed = append(expected, r.Mean), append(observed, r.Observed)
	}
	low, high := min(slices.Min(expected), slices.Min(observed)), max(slices.Max(expected), slices.Max(observed))
	return picture.Scatter("fitted", "Observed against expected", picture.Column, 190, points, []picture.Reference{{X0: low, Y0: low, X1: high, Y1: high}}, "expected "+response, "observed "+response).
		Described("%s; the dashed line is where both are equal. Their correlation is %s.", document.Counted(len(rows), "row"), picture.Digits(stat.Correlation(expected, observed, nil), 2))
}

// residualPicture draws residuals against expected responses.
func residualPicture(response string, rows []modelcheck.FittedRow) *picture.Picture {
	var points []picture.Point
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		points = append(points, picture.Point{X: r.Mean, Y: r.Observed - r.Mean})
		low, high = math.Min(low, r.Mean), math.Max(high, r.Mean)
	}
	worst := slices.MaxFunc(rows, func(a, b modelcheck.FittedRow) int {
		return cmp.Compare(math.Abs(a.Observed-a.Mean), math.Abs(b.Observed-b.Mean))
	})
	return picture.Scatter("residuals", "Residuals", picture.Column, 190, points, []picture.Reference{{X0: low, X1: high}}, "expected "+response, "observed − expected").
		Described("Residuals against expected values; the largest is %s, in row %d.", picture.Number(worst.Observed-worst.Mean), worst.Row)
}

// predictivePicture draws the histogram of the response beside histograms of tables that were
// simulated from the posterior.
func predictivePicture(response string, list []modelcheck.PredictiveBin) *picture.Picture {
	var bars []picture.Bar
	for _, b := range list {
		bars = append(bars, picture.Bar{From: b.From, To: b.To, Value: b.Observed, Low: b.Q025, High: b.Q975, Compared: b.Median,
			Hint: fmt.Sprintf("%s to %s: %s rows observed, %s expected (95%%: %s to %s)", picture.Number(b.From), picture.Number(b.To), picture.Number(b.Observed), picture.Number(b.Median), picture.Number(b.Q025), picture.Number(b.Q975))})
	}
	return picture.Bars("predictive", "Posterior predictive check", picture.Column, 190, bars, response, "rows", picture.Entry{Text: "observed", Ink: picture.First}, picture.Entry{Text: "model, 95%", Ink: picture.Second}).
		Described("A histogram of the response with what the model expects. In %d of %d bins the table has more or fewer rows than 95%% of replicated tables.", outside(list), len(list))
}

// outside returns the number of bins of which most replicated tables have more or fewer rows.
func outside(list []modelcheck.PredictiveBin) int {
	return len(apply.Keep(list, func(b modelcheck.PredictiveBin) bool { return b.Observed < b.Q025 || b.Observed > b.Q975 }))
}

// categoriesPicture draws the number of rows of each category beside the numbers in tables that
// were simulated from the posterior.
func categoriesPicture(list []modelcheck.PredictiveBin) *picture.Picture {
	var rows []picture.Row
	for _, b := range list {
		hint := fmt.Sprintf("%s: %s rows observed, %s expected (95%%: %s to %s)", b.Category, picture.Number(b.Observed), picture.Number(b.Median), picture.Number(b.Q025), picture.Number(b.Q975))
		rows = append(rows, picture.Row{Label: b.Category, From: math.NaN(), Intervals: []picture.Interval{
			{Mid: b.Observed, Low: math.NaN(), High: math.NaN(), Ink: picture.First, Hint: hint},
			{Mid: b.Median, Low: b.Q025, High: b.Q975, Ink: picture.Second, Hint: hint},
		}})
	}
	return rowsPicture("predictive", "Posterior predictive check", rows, picture.RowsOptions{Axis: "rows", Reference: math.NaN(),
		Legend: []picture.Entry{{Text: "observed", Ink: picture.First}, {Text: "model, 95%", Ink: picture.Second}}}).
		Described("The number of rows of each category with what the model expects. %d of %d categories have more or fewer rows than 95%% of replicated tables.", outside(list), len(list))
}

// calibrationPicture compares predicted probabilities with observed frequencies, in groups of rows
// with similar probabilities.
func calibrationPicture(response string, rows []modelcheck.FittedRow) *picture.Picture {
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b modelcheck.FittedRow) int { return cmp.Compare(a.Mean, b.Mean) })
	groups := max(2, min(10, len(rows)/15))
	var list []picture.Row
	for g := range groups {
		from, to := g*len(sorted)/groups, (g+1)*len(sorted)/groups
		expected, observed := 0.0, 0.0
		for _, r := range sorted[from:to] {
			expected += r.Mean / float64(to-from)
			observed += r.Observed / float64(to-from)
		}
		se := math.Sqrt(observed * (1 - observed) / float64(to-from))
		list = append(list, picture.Row{
			Label: fmt.Sprintf("%s (%s)", picture.Probability(expected), document.Counted(to-from, "row")), From: math.NaN(),
			Intervals: []picture.Interval{
				{Mid: observed, Low: math.Max(0, observed-2*se), High: math.Min(1, observed+2*se), Ink: picture.First, Hint: fmt.Sprintf("observed share %s", picture.Probability(observed))},
				{Mid: expected, Low: math.NaN(), High: math.NaN(), Ink: picture.Second, Hint: fmt.Sprintf("expected share %s", picture.Probability(expected))},
			},
		})
	}
	return rowsPicture("calibration", "Expected probabilities against shares", list, picture.RowsOptions{
		Axis: "share of rows with " + response + " = 1", Min: 0, Max: 1, Reference: math.NaN(),
		Legend: []picture.Entry{{Text: "observed, ± 2 s.e.", Ink: picture.First}, {Text: "expected", Ink: picture.Second}}}).
		Described("Rows in %d groups by their expected probability, with the share that was observed in each.", groups)
}

// worstRows returns the table of the rows whose responses differ most from their expectations.
func worstRows(rows []modelcheck.FittedRow) *document.Table {
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b modelcheck.FittedRow) int {
		return cmp.Compare(math.Abs(b.Observed-b.Mean), math.Abs(a.Observed-a.Mean))
	})
	t := document.NewTable("Rows farthest from what was expected", "row", "observed", "expected", "difference", "<95% interval of the model")
	const most = 30
	for _, r := range sorted[:min(len(sorted), most)] {
		t.Add(fmt.Sprint(r.Row), document.Short(r.Observed), document.Short(r.Mean), document.Short(r.Observed-r.Mean), document.Interval(r.Q025, r.Q975))
	}
	return t
}
