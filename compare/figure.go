package compare

import (
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/report"
)

// Look of the figure.
const (
	figureSide = 12 * vg.Centimeter
	figureDPI  = 200
	// smaller probabilities, and those of models that a run does not give, are drawn at the edge
	figureFloor = 1e-6
)

// writeFigure draws, as svg or png, the model probabilities of A and B against each other on
// logarithmic axes, with the diagonal where they agree.
func (c *Comparison) writeFigure(path, format string) error {
	p, err := c.figure()
	if err != nil {
		return err
	}
	var canvas vg.CanvasWriterTo = vgsvg.New(figureSide, figureSide)
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureSide, figureSide), vgimg.UseDPI(figureDPI))}
	}
	p.Draw(draw.New(canvas))
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

func (c *Comparison) figure() (*plot.Plot, error) {
	points, low := figurePoints(c.Models)
	p := plot.New()
	p.Title.Text = "Model probabilities"
	p.X.Label.Text, p.Y.Label.Text = "A: "+c.A.Command, "B: "+c.B.Command
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, powersOfTen(low)
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: 1, Y: 1}})
	if err != nil {
		return nil, err
	}
	diagonal.Color = color.Gray{Y: 0xa0}
	scatter, err := plotter.NewScatter(points)
	if err != nil {
		return nil, err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xb0}, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(plotter.NewGrid(), diagonal, scatter)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, 1, low, 1
	return p, nil
}

// powersOfTen labels the powers of ten from low to 1.
func powersOfTen(low float64) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for exponent := int(math.Round(math.Log10(low))); exponent <= 0; exponent++ {
		power := math.Pow10(exponent)
		ticks = append(ticks, plot.Tick{Value: power, Label: strconv.FormatFloat(power, 'g', -1, 64)})
	}
	return ticks
}

// figurePoints are the points of the models with a probability above the floor in either run, and
// the power of ten where the axes begin.
func figurePoints(models []Pair) (points plotter.XYs, low float64) {
	smallest := 0.1
	for _, model := range models {
		if model.largest() < figureFloor {
			continue
		}
		x, y := atLeast(model.A), atLeast(model.B)
		points = append(points, plotter.XY{X: x, Y: y})
		smallest = math.Min(smallest, math.Min(x, y))
	}
	low = math.Pow10(int(math.Floor(math.Log10(smallest) + 1e-9))) // a power of ten itself stays
	return points, low
}

// atLeast raises a probability to the floor; one that is not known too.
func atLeast(probability report.Number) float64 {
	if p := float64(probability); p > figureFloor {
		return p
	}
	return figureFloor
}
