package report

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
)

// probabilityOf is a whole number with its probability.
type probabilityOf struct {
	number      int
	probability float64
}

// leastBar is the least probability of a whole number that is drawn as a bar. A lower bar could not
// be seen.
const leastBar = 0.0005

// countsPicture draws the probabilities of numbers of things. The arguments one and many are the
// noun in the singular and in the plural.
func countsPicture(name, title, one, many string, list []probabilityOf) *picture.Picture {
	var bars []picture.Bar
	mean := 0.0
	for _, c := range list {
		mean += float64(c.number) * c.probability
		if c.probability > leastBar {
			bars = append(bars, picture.Bar{From: float64(c.number) - 0.5, To: float64(c.number) + 0.5, Value: c.probability, Compared: math.NaN(),
				Hint: fmt.Sprintf("%s: %s", document.Counted(c.number, one), picture.Probability(c.probability))})
		}
	}
	p := picture.Bars(name, title, picture.Column, 180, bars, many, "probability")
	p.Text = fmt.Sprintf("The posterior of the number of %s, %s on average.", many, picture.Number(mean))
	return p
}

// banded is a value at a place of an axis, with the ends of its credible interval.
type banded struct{ x, mean, low, high float64 }

// bandPicture draws a function with the band that holds 95% of the posterior at each place.
func bandPicture(name, title string, list []banded, xName, yName string, under ...picture.Curve) *picture.Picture {
	mean, band := picture.Curve{Ink: picture.First}, picture.Curve{Filled: true}
	for _, one := range list {
		mean.X, mean.Y = append(mean.X, one.x), append(mean.Y, one.mean)
		band.X, band.Y = append(band.X, one.x), append(band.Y, one.low)
	}
	for k := len(list) - 1; k >= 0; k-- {
		band.X, band.Y = append(band.X, list[k].x), append(band.Y, list[k].high)
	}
	curves := append([]picture.Curve{band}, under...)
	return picture.Lines(name, title, picture.Column, 180, append(curves, mean), xName, yName)
}

// intervalRow returns a row of a picture with a value and the ends of its interval, which holds the
// given percentage of the posterior.
func intervalRow[F ~float64](label string, mid, low, high F, percent int) picture.Row {
	return picture.Row{Label: label, From: math.NaN(), Note: picture.Number(float64(mid)), Intervals: []picture.Interval{{
		Mid: float64(mid), Low: float64(low), High: float64(high), Ink: picture.First,
		Hint: fmt.Sprintf("%s: %s, %d%%: %s to %s", label, picture.Number(float64(mid)), percent, picture.Number(float64(low)), picture.Number(float64(high)))}}}
}

// probabilityRow returns a row of a picture with a probability, and an interval of two standard
// errors to either side.
func probabilityRow[F ~float64](label string, probability, se F) picture.Row {
	p, error := float64(probability), float64(se)
	return picture.Row{Label: label, From: math.NaN(), Note: picture.Probability(p), Intervals: []picture.Interval{{
		Mid: p, Low: math.Max(0, p-2*error), High: math.Min(1, p+2*error), Ink: picture.First,
		Hint: fmt.Sprintf("%s: probability %s, standard error %s", label, picture.Probability(p), picture.Number(error))}}}
}

// widthFor returns the width of the picture of a matrix with n rows and n columns.
func widthFor(n int) float64 {
	const mostInColumn = 9
	if n > mostInColumn {
		return picture.Page
	}
	return picture.Column
}
