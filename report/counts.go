package report

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	results "github.com/transdim/vti/internal/report"
)

// leastBar is the least probability of a whole number that is drawn as a bar. A lower bar could not
// be seen.
const leastBar = 0.0005

// countsPicture draws the probabilities of counts, such as numbers of components. The function
// count returns an element of the list as a number and its probability. The arguments one and many
// are the noun in the singular and in the plural.
func countsPicture[C any, P ~float64](name, title, one, many string, list []C, count func(C) (number int, probability P)) *picture.Picture {
	var bars []picture.Bar
	mean := 0.0
	for _, c := range list {
		number, share := count(c)
		p := float64(share)
		mean += float64(number) * p
		if p > leastBar {
			bars = append(bars, picture.Bar{From: float64(number) - 0.5, To: float64(number) + 0.5, Value: p, Compared: math.NaN(),
				Hint: fmt.Sprintf("%s: %s", document.Counted(number, one), picture.Probability(p))})
		}
	}
	return picture.Bars(name, title, picture.Column, 180, bars, many, "probability").
		Described("The posterior of the number of %s, %s on average.", many, picture.Number(mean))
}

// function holds the values of a function at points x of an axis, with the ends of their credible
// intervals.
type function struct{ x, mean, low, high []float64 }

func (f *function) add(x, mean, low, high results.Number) {
	f.x, f.mean = append(f.x, float64(x)), append(f.mean, float64(mean))
	f.low, f.high = append(f.low, float64(low)), append(f.high, float64(high))
}

// bandPicture draws a function with the band that holds 95% of the posterior at each point.
func bandPicture(name, title string, f function, xName, yName string, under ...picture.Curve) *picture.Picture {
	curves := append([]picture.Curve{picture.Band(f.x, f.low, f.high)}, under...)
	return picture.Lines(name, title, picture.Column, 180, append(curves, picture.Curve{Ink: picture.First, X: f.x, Y: f.mean}), xName, yName)
}

// intervalRow returns a row of a picture with a value and the ends of its interval, which holds the
// given percentage of the posterior.
func intervalRow[F ~float64](label string, mid, low, high F, percent int) picture.Row {
	return picture.Row{Label: label, From: math.NaN(), Note: picture.Number(float64(mid)), Intervals: []picture.Interval{{
		Mid: float64(mid), Low: float64(low), High: float64(high), Ink: picture.First,
		Hint: fmt.Sprintf("%s: %s, %d%%: %s to %s", label, picture.Number(float64(mid)), percent, picture.Number(float64(low)), picture.Number(float64(high)))}}}
}

// rowsPicture draws rows in a column of the page. It returns nil if there are none.
func rowsPicture(name, title string, rows []picture.Row, options picture.RowsOptions) *picture.Picture {
	if len(rows) == 0 {
		return nil
	}
	return picture.Rows(name, title, picture.Column, rows, options)
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
