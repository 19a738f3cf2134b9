package calibrate

import (
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/transdim/vti/internal/atomicfile"
)

// Size of a panel, and the resolution of the PNG.
const (
	panelSide  = 9 * vg.Centimeter
	pictureDPI = 120
)

var (
	bandColor = color.NRGBA{R: 0xc8, G: 0xd8, B: 0xe8, A: 0xff}
	lineColor = color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xff}
)

// Names of the figure's files; there are none when no replicate has ranks or events.
const (
	FigureSVG = "calibration.svg"
	FigurePNG = "calibration.png"
)

// WriteFigure draws to a directory: for each kind of parameter the histogram of its ranks, with the
// interval that holds 95% of the counts of a bin, and the difference of the distribution of ranks
// from the uniform one within its simultaneous band; for each kind of statement how often it was
// true by its probability, with intervals.
func (s *Summary) WriteFigure(dir string) error {
	var rows [][]*plot.Plot
	for _, of := range []func(*Uniformity) (*plot.Plot, error){(*Uniformity).histogram, (*Uniformity).difference} {
		var row []*plot.Plot
		for _, u := range s.Uniformity {
			p, err := of(u)
			if err != nil {
				return err
			}
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	var row []*plot.Plot
	for _, r := range s.Reliability {
		p, err := r.panel()
		if err != nil {
			return err
		}
		row = append(row, p)
	}
	rows = slices.DeleteFunc(append(rows, row), func(row []*plot.Plot) bool { return len(row) == 0 })
	if len(rows) == 0 {
		return nil
	}
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	for k, row := range rows { // plot.Align wants as many in each
		rows[k] = append(row, make([]*plot.Plot, columns-len(row))...)
	}
	width, height := panelSide*vg.Length(columns), panelSide*vg.Length(len(rows))
	tiles := draw.Tiles{
		Rows: len(rows), Cols: columns, PadX: vg.Centimeter / 2, PadY: vg.Centimeter / 2,
		PadTop: vg.Centimeter / 4, PadRight: vg.Centimeter / 2, PadBottom: vg.Centimeter / 4, PadLeft: vg.Centimeter / 4,
	}
	for name, canvas := range map[string]vg.CanvasWriterTo{
		FigureSVG: vgsvg.New(width, height),
		FigurePNG: vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pictureDPI), vgimg.UseBackgroundColor(color.White))},
	} {
		for k, parts := range plot.Align(rows, tiles, draw.New(canvas)) {
			for j, part := range parts {
				if rows[k][j] != nil {
					rows[k][j].Draw(part)
				}
			}
		}
		if err := atomicfile.Write(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := canvas.WriteTo(w)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// newPanel is an empty panel whose horizontal axis is from 0 to 1.
func newPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.X.Min, p.X.Max = 0, 1
	p.X.Tick.Marker = unitTicks
	return p
}

var unitTicks = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.25, Label: "0.25"}, {Value: 0.5, Label: "0.5"}, {Value: 0.75, Label: "0.75"}, {Value: 1, Label: "1"}}

// histogram draws the counts of ranks.
func (u *Uniformity) histogram() (*plot.Plot, error) {
	p := newPanel(fmt.Sprintf("%s: %d ranks", u.Kind, u.Count), "rank of the true value", "count, with 95% interval")
	n := len(u.Histogram)
	share := distuv.Binomial{N: float64(u.Count), P: 1 / float64(n)}
	low, high := 0.0, float64(u.Count)
	for share.CDF(low) < 0.025 {
		low++
	}
	for high > 0 && share.CDF(high-1) > 0.975 {
		high--
	}
	steps, largest := make(plotter.XYs, 0, 2*n), high
	for b, count := range u.Histogram {
		steps = append(steps, plotter.XY{X: float64(b) / float64(n), Y: float64(count)}, plotter.XY{X: float64(b+1) / float64(n), Y: float64(count)})
		largest = max(largest, float64(count))
	}
	p.Y.Min, p.Y.Max = 0, 1.05*largest
	if err := addBand(p, []float64{0, 1}, []float64{low, low}, []float64{high, high}); err != nil {
		return nil, err
	}
	line, err := plotter.NewLine(steps)
	if err != nil {
		return nil, err
	}
	line.Color = lineColor
	p.Add(line)
	return p, nil
}

// difference draws the difference of the empirical distribution function within its band.
func (u *Uniformity) difference() (*plot.Plot, error) {
	p := newPanel(map[bool]string{false: "within the band", true: "outside the band"}[u.Crossed], "rank", "share below, less rank")
	if err := addBand(p, u.Levels, u.Lower, u.Upper); err != nil {
		return nil, err
	}
	points := make(plotter.XYs, len(u.Levels))
	for i, level := range u.Levels {
		points[i] = plotter.XY{X: level, Y: u.Difference[i]}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color = lineColor
	zero := plotter.NewFunction(func(float64) float64 { return 0 })
	zero.Color = color.Gray{Y: 0xa0}
	p.Add(zero, line)
	return p, nil
}

// panel draws frequencies by stated probability within their bands.
func (r *Reliability) panel() (*plot.Plot, error) {
	p := newPanel(fmt.Sprintf("%s: %d probabilities", r.Kind, r.Count), "stated", "happened")
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = unitTicks
	var x, lower, upper []float64
	var points plotter.XYs
	for _, bin := range r.Bins {
		x, lower, upper = append(x, bin.Stated), append(lower, bin.Lower), append(upper, bin.Upper)
		points = append(points, plotter.XY{X: bin.Stated, Y: bin.Happened})
	}
	if err := addBand(p, x, lower, upper); err != nil {
		return nil, err
	}
	diagonal := plotter.NewFunction(func(x float64) float64 { return x })
	diagonal.Color = color.Gray{Y: 0xa0}
	line, scatter, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	line.Color, scatter.Color = lineColor, lineColor
	scatter.Shape, scatter.Radius = draw.CircleGlyph{}, vg.Points(2)
	p.Add(diagonal, line, scatter)
	return p, nil
}

// addBand adds a band over x.
func addBand(p *plot.Plot, x, lower, upper []float64) error {
	around := make(plotter.XYs, 0, 2*len(x))
	for i := range x {
		around = append(around, plotter.XY{X: x[i], Y: upper[i]})
	}
	for i := len(x) - 1; i >= 0; i-- {
		around = append(around, plotter.XY{X: x[i], Y: lower[i]})
	}
	band, err := plotter.NewPolygon(around)
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = bandColor, 0
	p.Add(band)
	return nil
}
