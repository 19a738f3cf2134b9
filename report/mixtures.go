package report

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/mixture"
)

// mixtureArticle makes the article of a mixture with an unknown number of components.
func (s *source) mixtureArticle(result *mixture.Result) *article {
	c := result.Certificate
	level, reasons := &c.Verdict, c.Reasons
	a := &article{
		Title:    fmt.Sprintf("How many components has %s?", strings.Join(result.Data.Columns, ", ")),
		Subtitle: fmt.Sprintf("%s, %s, %s components", s.table(), counted(result.Data.Rows, "row", "rows"), result.Data.Family),
		Answer:   []string{result.Answer},
		Marks:    []badge{computation(level, reasons), model(result.ModelCheck)},
		Next:     next(level, "Give the samplers more --sweeps.", result.ModelCheck, "Report the probabilities of all numbers of components, and the density averaged over them, rather than one mixture."),
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
		part.Pictures = append(part.Pictures, countsPicture("counts", "Number of components", "component", "components", numbers))
		list := componentsTable(result)
		counts := table{Caption: "Numbers of components", Columns: []column{{"components", true}, {"probability", true}, {"by reversible jump", true}, {"by partitions", true}, {"with rows", true}}}
		for _, k := range result.Counts {
			counts.Rows = append(counts.Rows, []cell{{Text: fmt.Sprint(k.Components), Sort: fmt.Sprint(k.Components)}, share(float64(k.Probability)), share(float64(k.Jumps)), share(float64(k.Partitions)), share(float64(k.Occupied))})
		}
		part.Tables = []table{list, counts}
		facts := table{Caption: "What the verdict rests on", Open: true, Columns: []column{{"what", false}, {"value", false}}, Rows: [][]cell{
			{words("R-hat of reversible-jump chains"), words(picture.Digits(float64(c.Jumps.RHat), 4))},
			{words("R-hat of samplers of partitions"), words(picture.Digits(float64(c.Partitions.RHat), 4))},
			{words("largest difference of the two, in standard errors"), words(picture.Number(float64(c.Difference)))},
			{words("largest standard error of a probability"), words(picture.Number(float64(c.LargestSE)))},
		}}
		check := section{ID: "check", Title: "Does the model describe the table", Notes: []string{"Model: " + a.Marks[1].Word + ". " + a.Marks[1].Text}, Tables: findings(result.ModelCheck)}
		return []section{part, check, earned(a.Marks[0], facts), s.provenance()}, nil
	}
	return a
}

// componentsTable describes the components given the most probable number of them.
func componentsTable(result *mixture.Result) table {
	order := "in the order of their means"
	if len(result.Data.Columns) > 1 {
		order = "as relabelled draws have them"
	}
	list := table{Caption: fmt.Sprintf("Given %s, %s: medians", counted(result.Given.Components, "component", "components"), order), Open: true, Columns: []column{
		{"component", true}, {"weight", true}, {"95% interval", false},
	}}
	location, scale := "mean", "sd"
	if result.Data.Family == mixture.Student.String() {
		location, scale = "location", "scale"
	}
	for _, name := range result.Data.Columns {
		if len(result.Data.Columns) == 1 {
			name = ""
		} else {
			name = " of " + name
		}
		list.Columns = append(list.Columns, column{location + name, true}, column{"95% interval", false})
		if result.Data.Family != mixture.Poisson.String() {
			list.Columns = append(list.Columns, column{scale + name, true}, column{"95% interval", false})
		}
	}
	for j, one := range result.Given.List {
		row := []cell{{Text: fmt.Sprint(j + 1), Sort: fmt.Sprint(j + 1)}}
		add := func(q mixture.Summary) {
			row = append(row, value(float64(q.Median)), words("["+picture.Number(float64(q.Q025))+", "+picture.Number(float64(q.Q975))+"]"))
		}
		add(one.Weight)
		for _, c := range one.Columns {
			add(c.Mean)
			if c.SD != nil {
				add(*c.SD)
			}
		}
		list.Rows = append(list.Rows, row)
	}
	return list
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
