package report

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/mixture"
)

// mixtureMeaning is the meaning of each verdict on a mixture, with advice.
var mixtureMeaning = [...]string{
	vti.Trusted:  "two methods agree; the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the two methods do not show it. Try more --sweeps.",
	vti.Failed:   "do not use these numbers. Try more --sweeps where the samplers differ, or fewer --max-components.",
}

// MixturePage is the page of runs of vti mixture.
var MixturePage = Page{show: pageOf(mixtureDocument)}

func mixtureDocument(s *source, r *mixture.Result) *document.Document {
	d := &document.Document{
		Title:    fmt.Sprintf("How many components %s %s have?", english.Form(len(r.Data.Columns), "does", "do"), list(r.Data.Columns)),
		Subtitle: fmt.Sprintf("%s, %s, %s components", s.table(), document.Counted(r.Data.Rows, "row"), r.Data.Family),
		Answer:   []string{r.Answer},
	}
	c := r.Certificate
	found := &computation{level: &c.Verdict, reasons: c.Reasons, text: mixtureMeaning[c.Verdict],
		basis: []string{
			fmt.Sprintf("reversible jump: R-hat %.3f, %.0f effective draws; partitions: R-hat %.3f, %.0f effective draws; %d sweeps of each of %d samplers",
				float64(c.Jumps.RHat), float64(c.Jumps.ESS), float64(c.Partitions.RHat), float64(c.Partitions.ESS), c.Jumps.Sweeps, c.Jumps.Samplers+c.Partitions.Samplers),
			fmt.Sprintf("they differ by at most %.1f standard errors; the largest standard error is %.4f", float64(c.Difference), float64(c.LargestSE)),
		},
		facts: []string{"Computation: " + took(r.Seconds, 0) + "."}, words: []string{document.WordRHat, document.WordDraws},
	}
	d.Sections = []*document.Section{{
		ID: "components", Title: "How many, and which", Lead: "The density is averaged over numbers of components; its band holds 95% of the posterior at each place.",
		Tables: []*document.Table{numbersTable(r), componentsTable(r), correlationsTable(r)},
		Draw:   func(_ context.Context, part *document.Section) { drawMixture(part, r) },
	}, s.checked("", r.ModelCheck)}
	return s.answer(d, found, r.ModelCheck, "Report the probabilities of all numbers of components, and the density averaged over them, rather than one mixture.")
}

// drawMixture draws the density in each column, the clusters in pairs of columns, and the
// probabilities of numbers of components.
func drawMixture(part *document.Section, r *mixture.Result) {
	for c := range r.Data.Columns {
		part.Place(mixturePicture(r, c))
	}
	for b := range min(len(r.Data.Columns), columnsOfClusters) {
		for a := range b {
			part.Place(clustersPicture(r, a, b))
		}
	}
	part.Place(countsPicture("counts", "Number of components", "component", "components", r.Counts, func(c mixture.Count) (int, mixture.Number) { return c.Components, c.Probability }))
}

func numbersTable(r *mixture.Result) *document.Table {
	t := document.NewTable(fmt.Sprintf("Number of components: %.2f expected; occupied are those that have rows", float64(r.Expected)), "components", "probability", "by jumps", "by partitions", "occupied").Opened()
	for _, k := range r.Counts {
		if k.Probability < leastBar && k.Occupied < leastBar && k.Components != r.Given.Components {
			continue
		}
		t.Add(fmt.Sprint(k.Components), document.Probability(k.Probability, k.SE), document.Probability(k.Jumps, 0), document.Probability(k.Partitions, 0), document.Probability(k.Occupied, 0))
	}
	return t
}

// componentsTable has a row for each component, given the most probable number of components.
func componentsTable(r *mixture.Result) *document.Table {
	several := len(r.Data.Columns) > 1
	order := "in the order of the means"
	if several {
		order = "as relabelled draws have them"
	}
	location, scale := "mean", "sd"
	if r.Data.Family == mixture.Student.String() {
		location, scale = "location", "scale"
	}
	head := []string{"component", "rows", "weight", "<95% interval"}
	for _, column := range r.Data.Columns {
		name := ""
		if several {
			name = " of " + column
		}
		head = append(head, "|"+location+name, "<95% interval")
		if r.Data.Family != mixture.Poisson.String() {
			head = append(head, "|"+scale+name, "<95% interval")
		}
	}
	t := document.NewTable(fmt.Sprintf("Given %d: medians, %s; %.2f components without rows expected", r.Given.Components, order, float64(r.Given.Empty)), head...).Opened()
	members := make([]int, r.Given.Components)
	for _, row := range r.Rows {
		members[row.Component-1]++
	}
	for j, one := range r.Given.List {
		cells := []string{fmt.Sprint(j + 1), fmt.Sprint(members[j])}
		add := func(s mixture.Summary) {
			cells = append(cells, document.Short(s.Median), document.Interval(s.Q025, s.Q975))
		}
		add(one.Weight)
		for _, column := range one.Columns {
			add(column.Mean)
			if column.SD != nil {
				add(*column.SD)
			}
		}
		t.Add(cells...)
	}
	return t
}

// correlationsTable has the correlations of columns within the components.
func correlationsTable(r *mixture.Result) *document.Table {
	t := document.NewTable("Correlations of columns within components: medians", "component", "<columns", "correlation", "<95% interval")
	for j, one := range r.Given.List {
		for _, c := range one.Correlations {
			t.Add(fmt.Sprint(j+1), c.A+", "+c.B, document.Short(c.Value.Median), document.Interval(c.Value.Q025, c.Value.Q975))
		}
	}
	return t
}

// Each pair of the first columnsOfClusters columns has a picture of clusters.
const columnsOfClusters = 3

// clustersPicture draws the rows in two columns, and an ellipse for each component at the posterior
// medians of its parameters. The ellipse is at two standard deviations from the mean, so that 1 −
// exp(−2) of the component's rows are expected inside.
func clustersPicture(result *mixture.Result, a, b int) *picture.Picture {
	points := apply.To(result.Rows, func(row mixture.Row) picture.Point {
		return picture.Point{X: float64(row.Values[a]), Y: float64(row.Values[b])}
	})
	var outline []picture.Reference
	names := result.Data.Columns
	for _, one := range result.Given.List {
		correlation := 0.0
		for _, c := range one.Correlations {
			if c.A == names[a] && c.B == names[b] {
				correlation = float64(c.Value.Median)
			}
		}
		x, y := one.Columns[a], one.Columns[b]
		ellipseAt := func(angle float64) (float64, float64) {
			u, v := math.Cos(angle), math.Sin(angle)
			return float64(x.Mean.Median) + 2*float64(x.SD.Median)*u,
				float64(y.Mean.Median) + 2*float64(y.SD.Median)*(correlation*u+math.Sqrt(1-correlation*correlation)*v)
		}
		const pieces = 60
		for k := range pieces {
			var r picture.Reference
			r.X0, r.Y0 = ellipseAt(2 * math.Pi * float64(k) / pieces)
			r.X1, r.Y1 = ellipseAt(2 * math.Pi * float64(k+1) / pieces)
			outline = append(outline, r)
		}
	}
	return picture.Scatter(fmt.Sprintf("clusters-%d-%d", a+1, b+1), "Components of "+names[a]+" and "+names[b], picture.Column, 170, points, outline, names[a], names[b]).
		Described("Every row, and for each component an ellipse that holds 86%% of its rows, at the medians of its parameters.")
}

// mixturePicture draws the density in a column with its credible band, over a histogram of the
// values.
func mixturePicture(result *mixture.Result, at int) *picture.Picture {
	var density function
	name := result.Data.Columns[at]
	for _, d := range result.Density {
		if d.Column == name {
			density.add(d.At, d.Mean, d.Q025, d.Q975)
		}
	}
	// the number of bins is three times the cube root of the number of rows, up to the largest
	// number that can be distinguished
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range result.Rows {
		low, high = math.Min(low, float64(row.Values[at])), math.Max(high, float64(row.Values[at]))
	}
	histogram := picture.Curve{Ink: picture.Muted}
	bins := min(40, max(8, int(3*math.Cbrt(float64(len(result.Rows))))))
	width := (high - low) / float64(bins)
	if result.Data.Family == mixture.Poisson.String() { // bins are centred at whole numbers
		width = math.Max(1, math.Ceil(width))
		bins = int((high-low)/width) + 1
		low -= 0.5
	}
	counts := make([]float64, bins)
	for _, row := range result.Rows {
		counts[min(bins-1, int((float64(row.Values[at])-low)/width))] += 1 / (width * float64(len(result.Rows)))
	}
	for k, count := range counts {
		left := low + width*float64(k)
		histogram.X, histogram.Y = append(histogram.X, left, left, left+width, left+width), append(histogram.Y, 0, count, count, 0)
	}
	file, title := "density", "Density"
	if len(result.Data.Columns) > 1 {
		file, title = fmt.Sprintf("density-%d", at+1), "Density of "+name
	}
	return bandPicture(file, title, density, name, "density", histogram).
		Described("The posterior mean of the density with a band that holds 95%% at each place, over a histogram of the values.")
}
