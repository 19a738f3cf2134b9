package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/hbm/frame"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/likelihood"
)

// Sizes of caterpillars: rows in a column of a picture, and columns and rows of pictures. Chosen by
// hand: names of levels stay as large as other text, and a picture fits on a page.
const (
	panelRows   = 45
	mostPanels  = 3
	mostLevels  = panelRows * mostPanels
	tableLevels = 1500
)

// printedLevels is how many levels of a grouping a terminal shows.
const printedLevels = 8

// groups is the section of the levels of groupings.
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
	part.Draw = func(_ context.Context, part *document.Section) error {
		for k, one := range v.varying() {
			shown := one.levels
			if len(shown) > mostLevels {
				shown = slices.Concat(shown[:mostLevels/2], shown[len(shown)-mostLevels/2:])
				part.Notes = append(part.Notes, fmt.Sprintf("%s by %s: the picture has the %d highest and the %d lowest levels; the %s between are in the table.", one.term, one.group, mostLevels/2, mostLevels/2, grouped(len(one.levels)-len(shown))))
			}
			part.Place(v.caterpillar(fmt.Sprintf("caterpillar-%d-%s", k+1, document.Identifier(one.group)), one, shown))
		}
		return nil
	}
	return part
}

// caterpillar draws the effects of levels.
func (v *hierarchy) caterpillar(name string, one byTerm, shown []regression.LevelSummary) *picture.Picture {
	// the axis is that of the posteriors: estimates from single rows can be far outside
	low, high := math.Inf(1), math.Inf(-1)
	for _, level := range shown {
		low, high = math.Min(low, float64(level.Q025)), math.Max(high, float64(level.Q975))
	}
	margin := 0.15 * (high - low)
	var rows []picture.Row
	for _, level := range shown {
		row := intervalRow(level.Level, level.Mean, level.Q025, level.Q975, 95)
		row.Note = ""
		row.Intervals[0].Hint += "; " + counted(level.Rows, "row")
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
	p := picture.Rows(name, title, width, rows, picture.RowsOptions{Axis: axis, Min: low - margin, Max: high + margin, Panels: panels})
	highest, lowest := one.levels[0], one.levels[len(one.levels)-1]
	p.Text = fmt.Sprintf("%s, highest first: from %s (%s) to %s (%s).", counted(len(one.levels), "level"), highest.Level, picture.Number(float64(highest.Mean)), lowest.Level, picture.Number(float64(lowest.Mean)))
	return p
}

// unit is that of the effects of a term.
func (b byTerm) unit(response string) string {
	if !isSlope(b.term) {
		return response
	}
	return response + " per unit of " + b.term
}

// Numbers of pictures of a section, and of places of a line, chosen by hand.
const (
	mostConditional = 6
	conditionalAt   = 40
	mostPriors      = 12
)

// conditional draws the expected response against each column of the population, the other columns
// at their means, as posterior means with intervals that hold 95%: a line for a number, and a row
// for each level of a factor. Columns of interactions, which no row has alone, are left out. Where
// columns do not say all, as with smooth functions, see alongPredictors.
func (v *hierarchy) conditional(ctx context.Context) (list []*picture.Picture, notes []string) {
	expectation := v.expectation()
	if v.draws == nil || expectation == nil {
		return nil, nil
	}
	if len(v.curves())+len(v.result.Shares) > 0 {
		return v.alongPredictors(ctx)
	}
	columns := v.result.Data.Columns
	at := make([]int, len(columns)) // of the draws
	for j, c := range columns {
		if at[j] = slices.Index(v.draws.Coordinates, c.Name); at[j] < 0 {
			return nil, nil
		}
	}
	values := make([]float64, v.draws.Len())
	expected := func(given map[int]float64) picture.Interval {
		for i := range values {
			eta := 0.0
			for j, c := range columns {
				z, set := given[j]
				if !set {
					z = float64(c.Mean)
				}
				eta += z * v.draws.Values(i)[at[j]]
			}
			values[i] = expectation(eta)
		}
		slices.Sort(values)
		quantile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, values, nil) }
		return picture.Interval{Ink: picture.First, Mid: stat.Mean(values, nil), Low: quantile(0.025), High: quantile(0.975)}
	}
	levels := make(map[string][]int) // columns of a factor
	for j, c := range columns {
		if factor, _, ok := levelOf(c); ok {
			levels[factor] = append(levels[factor], j)
		}
	}
	for j, c := range columns {
		if !isSlope(c.Name) || len(list) == mostConditional || !(c.Max > c.Min) || strings.Contains(c.Name, ":") {
			continue
		}
		if factor, _, ok := levelOf(c); !ok {
			list = append(list, v.against(c, func(x float64) picture.Interval { return expected(map[int]float64{j: x}) }))
		} else if of := levels[factor]; of[0] == j {
			list = append(list, v.byLevel(factor, of, expected))
		}
	}
	return list, nil
}

// levelOf are the factor and the level of a column that says which rows have it.
func levelOf(c frame.ColumnSummary) (factor, level string, ok bool) {
	factor, level, ok = strings.Cut(c.Name, "=")
	return factor, level, ok && c.Min == 0 && c.Max == 1
}

// against draws what is expected over the range of a column.
func (v *hierarchy) against(c frame.ColumnSummary, expected func(x float64) picture.Interval) *picture.Picture {
	var x, mean, low, high []float64
	for k := range conditionalAt {
		place := float64(c.Min) + float64(c.Max-c.Min)*float64(k)/(conditionalAt-1)
		e := expected(place)
		x, mean, low, high = append(x, place), append(mean, e.Mid), append(low, e.Low), append(high, e.High)
	}
	return v.curvePicture(c.Name, x, mean, low, high)
}

// curvePicture draws an expectation with its interval over the values of a column.
func (v *hierarchy) curvePicture(column string, x, mean, low, high []float64) *picture.Picture {
	band := picture.Curve{Filled: true, X: slices.Clone(x), Y: slices.Clone(low)}
	for k := len(x) - 1; k >= 0; k-- {
		band.X, band.Y = append(band.X, x[k]), append(band.Y, high[k])
	}
	p := picture.Lines("conditional-"+document.Identifier(column), "Effect of "+column, picture.Column, 160, []picture.Curve{band, {X: x, Y: mean, Ink: picture.First}}, column, "expected "+v.response())
	p.Text = fmt.Sprintf("Of the population, with the other columns at their means: the expectation goes from %s at %s to %s at %s; the band holds 95%%.", picture.Number(mean[0]), picture.Number(x[0]), picture.Number(mean[len(mean)-1]), picture.Number(x[len(x)-1]))
	return p
}

// byLevel draws what is expected at each level of a factor whose columns are given, the level that
// has no column first.
func (v *hierarchy) byLevel(factor string, columns []int, expected func(given map[int]float64) picture.Interval) *picture.Picture {
	given := make(map[int]float64, len(columns))
	for _, j := range columns {
		given[j] = 0
	}
	row := func(level string) picture.Row {
		e := expected(given)
		return picture.Row{Label: level, Intervals: []picture.Interval{e}, From: math.NaN(), Note: picture.Number(e.Mid)}
	}
	rows := []picture.Row{row("(reference)")}
	for _, j := range columns {
		_, level, _ := levelOf(v.result.Data.Columns[j])
		given[j] = 1
		rows = append(rows, row(level))
		given[j] = 0
	}
	return v.levelsPicture(factor, rows)
}

// levelsPicture draws an expectation for each level of a factor.
func (v *hierarchy) levelsPicture(factor string, rows []picture.Row) *picture.Picture {
	p := picture.Rows("conditional-"+document.Identifier(factor), "Levels of "+factor, picture.Column, rows, picture.RowsOptions{Axis: "expected " + v.response(), Reference: math.NaN()})
	p.Text = "Of the population, with the other columns at their means; intervals hold 95%."
	return p
}

// kind is the likelihood of the response.
func (v *hierarchy) kind() likelihood.Kind {
	kind, err := likelihood.Parse(cmp.Or(v.value("frame.response")+v.value("frame.likelihood"), "gaussian"))
	if err != nil {
		return likelihood.GaussianKind
	}
	return kind
}

// expectation takes the linear predictor to the mean of the response; nil where that depends on
// more than the linear predictor.
func (v *hierarchy) expectation() func(eta float64) float64 {
	kind := v.kind()
	if kind.HasCategories() || kind.Logarithmic() || kind == likelihood.ZeroInflatedKind || kind == likelihood.HurdleKind {
		return nil
	}
	return kind.Link().Mean
}

// predicted is what effects of columns change.
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

// densities draws priors and posteriors.
func (v *hierarchy) densities() (list []*picture.Picture) {
	if v.draws == nil {
		return nil
	}
	for _, prior := range v.result.Priors {
		at := slices.Index(v.draws.Coordinates, prior.Name)
		if at < 0 || len(list) == mostPriors {
			continue
		}
		var values []float64
		for i := range v.draws.Len() {
			if x := v.draws.Values(i)[at]; x != 0 {
				values = append(values, x)
			}
		}
		in := float64(len(values)) / float64(v.draws.Len())
		x, y := density(values)
		if len(x) == 0 {
			continue
		}
		if prior.Family != "normal" { // kernels smear a density over zero
			for k := range x {
				x[k] = math.Max(0, x[k])
			}
		}
		factor := in / slices.Max(y)
		curve := picture.Curve{Ink: picture.Second, Dashed: true}
		low, high := math.Min(0, x[0]), math.Max(0, x[len(x)-1])
		for k := range y {
			y[k] *= factor
			place := low + (high-low)*1.15*float64(k)/(densityPoints-1)
			curve.X, curve.Y = append(curve.X, place), append(curve.Y, math.Min(2, factor*math.Exp(prior.LogDensity(place))))
		}
		spike := 0.0
		if len(v.result.Terms) > 0 {
			spike = 1 - in
		}
		p := picture.Curves("density-"+document.Identifier(prior.Name), prior.Name, picture.Column, 130, []picture.Curve{{X: x, Y: y, Ink: picture.First, Filled: true}, curve}, spike, prior.Name,
			picture.Entry{Text: "posterior", Ink: picture.First}, picture.Entry{Text: "prior", Ink: picture.Second, Dashed: true})
		p.Text = fmt.Sprintf("The posterior of %s beside its prior, %s with scale %s.", prior.Name, prior.Family, picture.Number(float64(prior.Scale)))
		if spike > 0 {
			p.Text += fmt.Sprintf(" It is zero with probability %s.", picture.Probability(spike))
		}
		list = append(list, p)
	}
	return list
}
