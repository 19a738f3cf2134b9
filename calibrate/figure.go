package calibrate

import (
	"image/color"
	"io"
	"path/filepath"

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

// WriteFigure draws a panel for each kind of parameter, with the difference of the distribution of
// its ranks from the uniform one, and for each kind of statement, with how often it was true by its
// probability, all with their bands, to a directory.
func (s *Summary) WriteFigure(dir string) error {
	var panels []*plot.Plot
	for _, u := range s.Uniformity {
		p, err := u.panel()
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	for _, r := range s.Reliability {
		p, err := r.panel()
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return nil
	}
	width := panelSide * vg.Length(len(panels))
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: vg.Centimeter / 2, PadTop: vg.Centimeter / 4, PadRight: vg.Centimeter / 4}
	for name, canvas := range map[string]vg.CanvasWriterTo{
		FigureSVG: vgsvg.New(width, panelSide),
		FigurePNG: vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, panelSide), vgimg.UseDPI(pictureDPI), vgimg.UseBackgroundColor(color.White))},
	} {
		for j, part := range plot.Align([][]*plot.Plot{panels}, tiles, draw.New(canvas))[0] {
			panels[j].Draw(part)
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

// panel draws the difference of the empirical distribution function within its band.
func (u *Uniformity) panel() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "ranks: " + u.Kind
	p.X.Label.Text, p.Y.Label.Text = "rank", "share below − rank"
	return p, addBand(p, u.Levels, u.Lower, u.Upper, u.Difference)
}

// panel draws frequencies by stated probability within their bands.
func (r *Reliability) panel() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "probabilities: " + r.Kind
	p.X.Label.Text, p.Y.Label.Text = "stated", "happened"
	p.Add(plotter.NewFunction(func(x float64) float64 { return x }))
	var x, lower, upper, y []float64
	for _, bin := range r.Bins {
		x, lower, upper, y = append(x, bin.Stated), append(lower, bin.Lower), append(upper, bin.Upper), append(y, bin.Happened)
	}
	return p, addBand(p, x, lower, upper, y)
}

// addBand adds a band and a line of points over x.
func addBand(p *plot.Plot, x, lower, upper, y []float64) error {
	line, around := make(plotter.XYs, len(x)), make(plotter.XYs, 0, 2*len(x))
	for i := range x {
		line[i] = plotter.XY{X: x[i], Y: y[i]}
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
	drawn, points, err := plotter.NewLinePoints(line)
	if err != nil {
		return err
	}
	drawn.Color, points.Color = lineColor, lineColor
	points.Radius = vg.Points(1.5)
	p.Add(band, drawn, points)
	return nil
}
