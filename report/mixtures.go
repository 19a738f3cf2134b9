package report

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/mixture"
)

// mixtureTitle is the question about columns.
func mixtureTitle(columns []string) string {
	if len(columns) == 1 {
		return fmt.Sprintf("How many components does %s have?", columns[0])
	}
	return fmt.Sprintf("How many components do %s have?", list(columns))
}

// mixtureArticle makes the article of a mixture with an unknown number of components.
func (s *source) mixtureArticle(result *mixture.Result) *article {
	c := result.Certificate
	level, reasons := &c.Verdict, c.Reasons
	more := "Give the samplers more --sweeps."
	if !c.TwoMethods() {
		more = "Give the chains more --iterations, or let vti mixture answer, whose samplers are made for mixtures, and vti compare say whether the two agree."
	}
	a := &article{
		Title:    mixtureTitle(result.Data.Columns),
		Subtitle: fmt.Sprintf("%s, %s, %s components", s.table(), counted(result.Data.Rows, "row"), result.Data.Family),
		Answer:   []string{result.Answer},
		Marks:    []badge{computation(level, reasons), model(result.ModelCheck)},
		Next:     next(level, more, result.ModelCheck, "Report the probabilities of all numbers of components, and the density averaged over them, rather than one mixture."),
	}
	a.rest = func(ctx context.Context) ([]section, error) {
		part := section{ID: "components", Title: "How many, and which", Lead: "The density is averaged over numbers of components; its band holds 95% of the posterior at each place."}
		var numbers []probabilityOf
		for _, c := range result.Counts {
			numbers = append(numbers, probabilityOf{c.Components, float64(c.Probability)})
		}
		for c := range result.Data.Columns {
			part.Pictures = append(part.Pictures, mixturePicture(result, c))
		}
		for b := range min(len(result.Data.Columns), columnsOfClusters) {
			for a := range b {
				part.Pictures = append(part.Pictures, clustersPicture(result, a, b))
			}
		}
		part.Pictures = append(part.Pictures, countsPicture("counts", "Number of components", "component", "components", numbers))
		list := componentsTable(result)
		counts := table{Caption: "Numbers of components", Columns: []column{{"components", true}, {"probability", true}}}
		if c.TwoMethods() {
			counts.Columns = append(counts.Columns, column{"by reversible jump", true}, column{"by partitions", true})
		}
		counts.Columns = append(counts.Columns, column{"with rows", true})
		for _, k := range result.Counts {
			row := []cell{{Text: fmt.Sprint(k.Components), Sort: fmt.Sprint(k.Components)}, share(float64(k.Probability))}
			if c.TwoMethods() {
				row = append(row, share(float64(k.Jumps)), share(float64(k.Partitions)))
			}
			counts.Rows = append(counts.Rows, append(row, share(float64(k.Occupied))))
		}
		part.Tables = []table{list}
		if len(result.Data.Columns) > 1 {
			part.Tables = append(part.Tables, correlationsTable(result))
		}
		part.Tables = append(part.Tables, counts)
		facts := table{Caption: "What the verdict rests on", Open: true, Columns: []column{{"what", false}, {"value", false}}, Rows: [][]cell{
			{words("R-hat of reversible-jump chains"), words(picture.Digits(float64(c.Jumps.RHat), 4))},
		}}
		if c.TwoMethods() {
			facts.Rows = append(facts.Rows,
				[]cell{words("R-hat of samplers of partitions"), words(picture.Digits(float64(c.Partitions.RHat), 4))},
				[]cell{words("largest difference of the two, in standard errors"), words(picture.Number(float64(c.Difference)))})
		} else {
			facts.Rows = append(facts.Rows, []cell{words("effective draws"), words(picture.Number(float64(c.Jumps.ESS)))})
		}
		facts.Rows = append(facts.Rows, []cell{words("largest standard error of a probability"), words(picture.Number(float64(c.LargestSE)))})
		check := section{ID: "check", Title: "Does the model describe the table", Notes: []string{"Model: " + a.Marks[1].Word + ". " + a.Marks[1].Text}, Tables: findings(result.ModelCheck)}
		return []section{part, check, earned(a.Marks[0], facts), s.provenance()}, nil
	}
	return a
}

// componentsTable describes the components given the most probable number of them, with a row for
// each column of values.
func componentsTable(result *mixture.Result) table {
	several := len(result.Data.Columns) > 1
	order := "in the order of their means"
	if several {
		order = "as relabelled draws have them"
	}
	location, scale := "mean", "sd"
	if result.Data.Family == mixture.Student.String() {
		location, scale = "location", "scale"
	}
	list := table{Caption: fmt.Sprintf("Given %s, %s: medians", counted(result.Given.Components, "component"), order), Open: true, Columns: []column{
		{"component", true}, {"weight", true}, {"95% interval", false},
	}}
	if several {
		list.Columns = append(list.Columns, column{"column", false})
	}
	list.Columns = append(list.Columns, column{location, true}, column{"95% interval", false})
	if result.Data.Family != mixture.Poisson.String() {
		list.Columns = append(list.Columns, column{scale, true}, column{"95% interval", false})
	}
	for j, one := range result.Given.List {
		for _, c := range one.Columns {
			row := []cell{{Text: fmt.Sprint(j + 1), Sort: fmt.Sprint(j + 1)}}
			add := func(q mixture.Summary) {
				row = append(row, value(float64(q.Median)), words("["+picture.Number(float64(q.Q025))+", "+picture.Number(float64(q.Q975))+"]"))
			}
			add(one.Weight)
			if several {
				row = append(row, words(c.Column))
			}
			add(c.Mean)
			if c.SD != nil {
				add(*c.SD)
			}
			list.Rows = append(list.Rows, row)
		}
	}
	return list
}

// correlationsTable has the correlations of columns within the components.
func correlationsTable(result *mixture.Result) table {
	list := table{Caption: "Correlations of columns within components: medians", Columns: []column{{"component", true}, {"columns", false}, {"correlation", true}, {"95% interval", false}}}
	for j, one := range result.Given.List {
		for _, c := range one.Correlations {
			list.Rows = append(list.Rows, []cell{{Text: fmt.Sprint(j + 1), Sort: fmt.Sprint(j + 1)}, words(c.A + ", " + c.B),
				value(float64(c.Value.Median)), words("[" + picture.Number(float64(c.Value.Q025)) + ", " + picture.Number(float64(c.Value.Q975)) + "]")})
		}
	}
	return list
}

// columnsOfClusters is the number of columns, the first, of which each pair has a picture.
const columnsOfClusters = 3

// clustersPicture has the rows in two columns, and an ellipse for each component at its medians,
// two standard deviations wide: 1 − exp(−2) of its rows are inside.
func clustersPicture(result *mixture.Result, a, b int) *picture.Picture {
	var points []picture.Point
	for _, row := range result.Rows {
		points = append(points, picture.Point{X: float64(row.Values[a]), Y: float64(row.Values[b])})
	}
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
		at := func(angle float64) (float64, float64) {
			u, v := math.Cos(angle), math.Sin(angle)
			return float64(x.Mean.Median) + 2*float64(x.SD.Median)*u,
				float64(y.Mean.Median) + 2*float64(y.SD.Median)*(correlation*u+math.Sqrt(1-correlation*correlation)*v)
		}
		const pieces = 60
		for k := range pieces {
			var r picture.Reference
			r.X0, r.Y0 = at(2 * math.Pi * float64(k) / pieces)
			r.X1, r.Y1 = at(2 * math.Pi * float64(k+1) / pieces)
			outline = append(outline, r)
		}
	}
	p := picture.Scatter(fmt.Sprintf("clusters-%d-%d", a+1, b+1), "Components of "+names[a]+" and "+names[b], picture.Column, 170, points, outline, names[a], names[b])
	p.Text = "Every row, and for each component an ellipse that holds 86% of its rows, at the medians of its parameters."
	return p
}

// mixturePicture is the density in a column with its band over a histogram of the values.
func mixturePicture(result *mixture.Result, at int) *picture.Picture {
	var list []banded
	name := result.Data.Columns[at]
	for _, d := range result.Density {
		if d.Column == name {
			list = append(list, banded{float64(d.At), float64(d.Mean), float64(d.Q025), float64(d.Q975)})
		}
	}
	// three times as many bins as the cube root of the rows, and no more than can be seen
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range result.Rows {
		low, high = math.Min(low, float64(row.Values[at])), math.Max(high, float64(row.Values[at]))
	}
	histogram := picture.Curve{Ink: picture.Muted}
	bins := min(40, max(8, int(3*math.Cbrt(float64(len(result.Rows))))))
	width := (high - low) / float64(bins)
	if result.Data.Family == mixture.Poisson.String() { // bins of whole numbers, about them
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
	p := bandPicture(file, title, list, name, "density", histogram)
	p.Text = "The posterior mean of the density with a band that holds 95% at each place, over a histogram of the values."
	return p
}
