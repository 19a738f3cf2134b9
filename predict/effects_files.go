package predict

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/picture"
)

// WriteCSV writes a row for each mean and then for each difference.
func (e *Effects) WriteCSV(path string) error {
	cells := [][]string{{"kind", "values", "minus", "by", "mean", "sd", "low", "high", "positive", "zero"}}
	for _, m := range e.Means {
		cells = append(cells, []string{"mean", name(m.Values), "", m.By, m.Mean.Text(), m.SD.Text(), m.Low.Text(), m.High.Text(), "", ""})
	}
	for _, c := range e.Contrasts {
		cells = append(cells, []string{"contrast", name(c.First), name(c.Second), c.By, c.Mean.Text(), c.SD.Text(), c.Low.Text(), c.High.Text(), c.Positive.Text(), c.Zero.Text()})
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(cells) })
}

// mostCurves is how many values of By a picture has: as many as can be distinguished.
const mostCurves = 3

// Axis names what the means are of.
func (e *Effects) Axis() string {
	switch {
	case e.Scale == "link":
		return "linear predictor"
	case e.Labels != nil:
		return "probability of " + e.Labels[1]
	}
	return "expected " + e.Response
}

// WritePicture writes the curve or the means with their intervals to a directory, as NAME.svg and
// NAME.png. What it leaves out is noted.
func (e *Effects) WritePicture(dir, name string, curve bool) error {
	if curve {
		if n := len(e.by()); n > mostCurves {
			e.Notes = append(e.Notes, fmt.Sprintf("the picture has the first %d of %d values of %s", mostCurves, n, e.By))
		}
		return e.curve(name).Write(dir)
	}
	if n := len(e.Means); n > mostForest {
		e.Notes = append(e.Notes, fmt.Sprintf("the picture has the first %d of %d means", mostForest, n))
	}
	return e.forest(name).Write(dir)
}

// by lists the values of By in their order; one empty text without By.
func (e *Effects) by() (list []string) {
	for _, m := range e.Means {
		if !slices.Contains(list, m.By) {
			list = append(list, m.By)
		}
	}
	return list
}

// curve draws means along the first predictor: a line for each value of By, within its interval.
func (e *Effects) curve(name string) *picture.Picture {
	var areas, lines []picture.Curve
	var legend []picture.Entry
	for k, by := range e.by()[:min(len(e.by()), mostCurves)] {
		ink := []picture.Ink{picture.First, picture.Second, picture.Third}[k]
		line, upper, lower := picture.Curve{Ink: ink}, picture.Curve{Ink: ink, Dashed: true}, picture.Curve{Ink: ink, Dashed: true}
		for _, m := range e.Means {
			if m.By != by {
				continue
			}
			x, _ := strconv.ParseFloat(m.Values[0], 64)
			line.X, line.Y = append(line.X, x), append(line.Y, float64(m.Mean))
			lower.Y, upper.Y = append(lower.Y, float64(m.Low)), append(upper.Y, float64(m.High))
		}
		upper.X, lower.X = line.X, line.X
		if e.By == "" {
			area := picture.Curve{Filled: true, X: slices.Clone(line.X), Y: slices.Clone(lower.Y)}
			for i := len(line.X) - 1; i >= 0; i-- {
				area.X, area.Y = append(area.X, line.X[i]), append(area.Y, upper.Y[i])
			}
			areas = append(areas, area)
		} else { // areas on top of each other would hide one another
			lines = append(lines, lower, upper)
			legend = append(legend, picture.Entry{Text: e.By + " " + by, Ink: ink})
		}
		lines = append(lines, line)
	}
	const height = 200
	p := picture.Lines(name, "Effect of "+e.Of[0], picture.Column, height, append(areas, lines...), e.Of[0], e.Axis())
	if len(legend) > 0 {
		picture.Frame{Picture: p, X: picture.Scale{From: 0, To: p.Width - 2}}.Legend(legend...)
	}
	first, last := e.Means[0], e.Means[len(e.Means)-1]
	p.Text = fmt.Sprintf("Means go from %s at %s to %s at %s; intervals hold %g%%.", picture.Number(float64(first.Mean)), first.Values[0], picture.Number(float64(last.Mean)), last.Values[0], 100*float64(e.Level))
	return p
}

// mostForest is how many means a picture has.
const mostForest = 60

// forest draws means as a list of intervals.
func (e *Effects) forest(stem string) *picture.Picture {
	var rows []picture.Row
	for _, m := range e.Means[:min(len(e.Means), mostForest)] {
		label := name(m.Values)
		if e.By != "" {
			label = m.By + ": " + label
		}
		rows = append(rows, picture.Row{Label: label, From: math.NaN(), Note: picture.Number(float64(m.Mean)), Intervals: []picture.Interval{{Mid: float64(m.Mean), Low: float64(m.Low), High: float64(m.High), Ink: picture.First}}})
	}
	p := picture.Rows(stem, "Marginal means", picture.Column, rows, picture.RowsOptions{Axis: e.Axis(), Reference: math.NaN()})
	p.Text = fmt.Sprintf("Marginal means with intervals that hold %g%%.", 100*float64(e.Level))
	return p
}
