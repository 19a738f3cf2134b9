package predict

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/picture"
)

// WriteCSV writes a row for each mean, and then a row for each difference. For a response with
// categories without an order the last column names the category.
func (e *Effects) WriteCSV(path string) error {
	var cells [][]string
	add := func(category string, line ...string) {
		if e.Categories != nil {
			line = append(line, category)
		}
		cells = append(cells, line)
	}
	add("category", "kind", "values", "minus", "by", "mean", "sd", "low", "high", "positive", "zero")
	for _, m := range e.Means {
		add(m.Category, "mean", name(m.Values), "", m.By, m.Mean.Text(), m.SD.Text(), m.Low.Text(), m.High.Text(), "", "")
	}
	for _, c := range e.Contrasts {
		add(c.Category, "contrast", name(c.First), name(c.Second), c.By, c.Mean.Text(), c.SD.Text(), c.Low.Text(), c.High.Text(), c.Positive.Text(), c.Zero.Text())
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(cells) })
}

// mostCurves is the largest number of lines that can be distinguished in a picture.
const mostCurves = 3

// Axis returns the label of the axis of the means.
func (e *Effects) Axis() string {
	switch {
	case e.Categories != nil && e.Scale == "link":
		return "log odds against " + e.Categories[0]
	case e.Categories != nil:
		return "probability"
	case e.Scale == "link":
		return "linear predictor"
	case e.Labels != nil:
		return "probability of " + e.Labels[1]
	}
	return "expected " + e.Response
}

// WritePicture writes the curve, or the means with their intervals, to the directory dir as
// NAME.svg and NAME.png. If means or curves are left out of the picture, it adds a note to Notes.
func (e *Effects) WritePicture(dir, name string, curve bool) error {
	if curve {
		if n := len(e.lines()); n > mostCurves {
			e.Notes = append(e.Notes, fmt.Sprintf("the picture has the first %d of %d lines", mostCurves, n))
		}
		return e.curve(name).Write(dir)
	}
	if n := len(e.Means); n > mostForest {
		e.Notes = append(e.Notes, fmt.Sprintf("the picture has the first %d of %d means", mostForest, n))
	}
	return e.forest(name).Write(dir)
}

// line returns the label of the line in the picture to which a mean belongs: the category of the
// mean and its value of By, if it has them.
func (e *Effects) line(m MarginalMean) string {
	text := m.Category
	if e.By != "" {
		text = strings.TrimPrefix(text+", "+e.By+" "+m.By, ", ")
	}
	return text
}

func (e *Effects) lines() (list []string) {
	for _, m := range e.Means {
		if text := e.line(m); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// curve draws means along the first predictor: for each category and value of By, a line with its
// interval.
func (e *Effects) curve(name string) *picture.Picture {
	var areas, lines []picture.Curve
	var legend []picture.Entry
	all := e.lines()
	for k, text := range all[:min(len(all), mostCurves)] {
		ink := []picture.Ink{picture.First, picture.Second, picture.Third}[k]
		line, upper, lower := picture.Curve{Ink: ink}, picture.Curve{Ink: ink, Dashed: true}, picture.Curve{Ink: ink, Dashed: true}
		for _, m := range e.Means {
			if e.line(m) != text {
				continue
			}
			x, _ := strconv.ParseFloat(m.Values[0], 64)
			line.X, line.Y = append(line.X, x), append(line.Y, float64(m.Mean))
			lower.Y, upper.Y = append(lower.Y, float64(m.Low)), append(upper.Y, float64(m.High))
		}
		upper.X, lower.X = line.X, line.X
		if text == "" {
			areas = append(areas, picture.Band(line.X, lower.Y, upper.Y))
		} else { // lines for intervals, because areas would hide each other
			lines = append(lines, lower, upper)
			legend = append(legend, picture.Entry{Text: text, Ink: ink})
		}
		lines = append(lines, line)
	}
	const height = 200
	p := picture.Lines(name, "Effect of "+e.Of[0], picture.Column, height, append(areas, lines...), e.Of[0], e.Axis())
	if len(legend) > 0 {
		picture.Frame{Picture: p, X: picture.Scale{From: 0, To: p.Width - 2}}.Legend(legend...)
	}
	if e.Categories != nil {
		p.Text = fmt.Sprintf("Means of each category; intervals hold %g%%.", 100*float64(e.Level))
		return p
	}
	first, last := e.Means[0], e.Means[len(e.Means)-1]
	p.Text = fmt.Sprintf("Means go from %s at %s to %s at %s; intervals hold %g%%.", picture.Number(float64(first.Mean)), first.Values[0], picture.Number(float64(last.Mean)), last.Values[0], 100*float64(e.Level))
	return p
}

// mostForest is the largest number of means in a picture.
const mostForest = 60

// forest draws means as a list of intervals.
func (e *Effects) forest(stem string) *picture.Picture {
	var rows []picture.Row
	for _, m := range e.Means[:min(len(e.Means), mostForest)] {
		label := name(m.Values)
		if e.By != "" {
			label = m.By + ": " + label
		}
		if m.Category != "" {
			label = m.Category + ": " + label
		}
		rows = append(rows, picture.Row{Label: label, From: math.NaN(), Note: picture.Number(float64(m.Mean)), Intervals: []picture.Interval{{Mid: float64(m.Mean), Low: float64(m.Low), High: float64(m.High), Ink: picture.First}}})
	}
	p := picture.Rows(stem, "Marginal means", picture.Column, rows, picture.RowsOptions{Axis: e.Axis(), Reference: math.NaN()})
	p.Text = fmt.Sprintf("Marginal means with intervals that hold %g%%.", 100*float64(e.Level))
	return p
}
