package report

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/likelihood"
)

// Limits of caterpillar plots, with which a picture fits on a page. panelRows is the number of rows
// in one column of a picture, mostPanels the number of columns, and mostLevels the number of levels
// in a picture. tableLevels is the number of levels in a table.
const (
	panelRows   = 45
	mostPanels  = 3
	mostLevels  = panelRows * mostPanels
	tableLevels = 1500
)

// printedLevels is the number of levels of a grouping that a terminal shows.
const printedLevels = 8

// groups returns the section on the effects of the levels of groupings.
func (v *hierarchy) groups() *document.Section {
	part := &document.Section{ID: "groups", Title: "How groups differ", Lead: "Each level's difference from the population, with 95% intervals. Arrows lead from what the rows of the level alone would say to what the model says: levels with few rows are drawn towards the others."}
	for _, one := range v.varying() {
		t := document.NewTable(fmt.Sprintf("%s by %s: difference from the population; pooled: the share of its variance that the group's rows leave", one.term, one.group),
			"<~level", "rows", "mean", "sd", "<95% interval", "pooled", "^by its rows alone")
		t.Printed, t.Ends = printedLevels, true
		for _, level := range one.levels[:min(len(one.levels), tableLevels)] {
			alone := "–"
			if level.Unpooled != nil {
				alone = document.Short(*level.Unpooled)
			}
			t.Add(level.Level, fmt.Sprint(level.Rows), moment(level.Mean), moment(level.SD), document.Interval(level.Q025, level.Q975), fmt.Sprintf("%.2f", float64(level.Pooling)), alone)
		}
		part.Tables = append(part.Tables, t)
	}
	part.Draw = func(_ context.Context, part *document.Section) {
		for k, one := range v.varying() {
			shown := one.levels
			if len(shown) > mostLevels {
				shown = slices.Concat(shown[:mostLevels/2], shown[len(shown)-mostLevels/2:])
				part.Notes = append(part.Notes, fmt.Sprintf("%s by %s: the picture has the %d highest and the %d lowest levels; the %s between are in the table.", one.term, one.group, mostLevels/2, mostLevels/2, document.Grouped(len(one.levels)-len(shown))))
			}
			part.Place(v.caterpillar(fmt.Sprintf("caterpillar-%d-%s", k+1, document.Identifier(one.group)), one, shown))
		}
	}
	return part
}

// caterpillar draws the effects of levels with their intervals.
func (v *hierarchy) caterpillar(name string, one byTerm, shown []regression.LevelSummary) *picture.Picture {
	// The axis covers only the posterior intervals, because separate estimates of small groups can
	// be far outside.
	low, high := math.Inf(1), math.Inf(-1)
	for _, level := range shown {
		low, high = math.Min(low, float64(level.Q025)), math.Max(high, float64(level.Q975))
	}
	margin := 0.15 * (high - low)
	var rows []picture.Row
	for _, level := range shown {
		row := intervalRow(level.Level, level.Mean, level.Q025, level.Q975, 95)
		row.Note = ""
		row.Intervals[0].Hint += "; " + document.Counted(level.Rows, "row")
		if level.Unpooled != nil {
			row.From = math.Max(low-margin, math.Min(high+margin, float64(*level.Unpooled)))
		}
		rows = append(rows, row)
	}
	panels := (len(rows) + panelRows - 1) / panelRows
	width := float64(picture.Column)
	if panels > 1 {
		width = picture.Page
	}
	title := fmt.Sprintf("%s by %s", one.term, one.group)
	axis := "difference from the population"
	if v.result.Data.Response != "" {
		axis += " in " + one.unit(v.result.Data.Response)
	}
	highest, lowest := one.levels[0], one.levels[len(one.levels)-1]
	return picture.Rows(name, title, width, rows, picture.RowsOptions{Axis: axis, Min: low - margin, Max: high + margin, Panels: panels}).
		Described("%s, highest first: from %s (%s) to %s (%s).", document.Counted(len(one.levels), "level"), highest.Level, picture.Number(float64(highest.Mean)), lowest.Level, picture.Number(float64(lowest.Mean)))
}

func (b byTerm) unit(response string) string {
	if !isSlope(b.term) {
		return response
	}
	return response + " per unit of " + b.term
}

// The largest numbers of pictures of expectations along predictors, and of densities with priors,
// in a section.
const (
	mostConditional = 6
	mostPriors      = 12
)

// predicted returns the name of the quantity to which effects are added, such as log odds.
func (v *hierarchy) predicted() string {
	kind := v.kind()
	switch {
	case len(v.result.Categories) > 0:
		return "the log odds of a category of " + v.response() + " against " + v.result.Categories[0]
	case kind.HasCategories():
		return "the linear predictor of " + v.response()
	case kind.Logarithmic():
		return "the logarithm of " + v.response()
	}
	switch kind.Link() {
	case likelihood.LogitLink:
		return "the log odds of " + v.response()
	case likelihood.LogLink:
		return "the logarithm of the expected " + v.response()
	}
	return v.response()
}

func (v *hierarchy) densities(part *document.Section) {
	if v.draws == nil {
		return
	}
	drawn := 0
	for _, prior := range v.result.Priors {
		at := slices.Index(v.draws.Coordinates, prior.Name)
		if at < 0 || drawn == mostPriors {
			continue
		}
		values := v.nonzero(at)
		in := float64(len(values)) / float64(v.draws.Len())
		least := math.Inf(-1)
		if prior.Family != "normal" {
			least = 0 // the kernels would extend the density below zero
		}
		curves := densities(values, in, least, prior.LogDensity)
		if len(curves) == 0 {
			continue
		}
		spike := 0.0
		if len(v.result.Terms) > 0 {
			spike = 1 - in
		}
		p := picture.Curves("density-"+document.Identifier(prior.Name), prior.Name, picture.Column, 130, curves, spike, prior.Name,
			picture.Entry{Text: "posterior", Ink: picture.First}, picture.Entry{Text: "prior", Ink: picture.Second, Dashed: true})
		p.Text = fmt.Sprintf("The posterior of %s beside its prior, %s with scale %s.", prior.Name, prior.Family, picture.Number(float64(prior.Scale)))
		if spike > 0 {
			p.Text += fmt.Sprintf(" It is zero with probability %s.", picture.Probability(spike))
		}
		part.Place(p)
		drawn++
	}
}
