package report

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/mixture"
)

// mixtureArticle makes the article of a mixture with an unknown number of components.
func (s *source) mixtureArticle(result *mixture.Result) *article {
	c := result.Certificate
	level, reasons := &c.Verdict, c.Reasons
	a := &article{
		Title:    fmt.Sprintf("How many components has %s?", result.Data.Column),
		Subtitle: fmt.Sprintf("%s, %s", s.table(), counted(result.Data.Rows, "value", "values")),
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
		part.Pictures = append(part.Pictures, mixturePicture(result), countsPicture("counts", "Number of components", "component", "components", numbers))
		list := table{Caption: fmt.Sprintf("Given %s, in the order of their means: medians", counted(result.Given.Components, "component", "components")), Open: true, Columns: []column{
			{"component", true}, {"weight", true}, {"95% interval", false}, {"mean", true}, {"95% interval", false}, {"sd", true}, {"95% interval", false},
		}}
		for j, one := range result.Given.List {
			row := []cell{{Text: fmt.Sprint(j + 1), Sort: fmt.Sprint(j + 1)}}
			for _, q := range []mixture.Summary{one.Weight, one.Mean, one.SD} {
				row = append(row, value(float64(q.Median)), words("["+picture.Number(float64(q.Q025))+", "+picture.Number(float64(q.Q975))+"]"))
			}
			list.Rows = append(list.Rows, row)
		}
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

// mixturePicture is the density with its band over a histogram of the values.
func mixturePicture(result *mixture.Result) *picture.Picture {
	var list []banded
	for _, d := range result.Density {
		list = append(list, banded{float64(d.At), float64(d.Mean), float64(d.Q025), float64(d.Q975)})
	}
	// three times as many bins as the cube root of the rows, and no more than can be seen
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range result.Rows {
		low, high = math.Min(low, float64(row.Value)), math.Max(high, float64(row.Value))
	}
	histogram := picture.Curve{Ink: picture.Muted}
	bins := min(40, max(8, int(3*math.Cbrt(float64(len(result.Rows))))))
	counts, width := make([]float64, bins), (high-low)/float64(bins)
	for _, row := range result.Rows {
		counts[min(bins-1, int((float64(row.Value)-low)/width))] += 1 / (width * float64(len(result.Rows)))
	}
	for k, count := range counts {
		left := low + width*float64(k)
		histogram.X, histogram.Y = append(histogram.X, left, left, left+width, left+width), append(histogram.Y, 0, count, count, 0)
	}
	p := bandPicture("density", "Density", list, result.Data.Column, "density", histogram)
	p.Text = "The posterior mean of the density with a band that holds 95% at each place, over a histogram of the values."
	return p
}
