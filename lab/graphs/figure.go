package graphs

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/atomicfile"
)

// These are the sizes of the figure, which has four panels side by side and a legend to their
// right.
const (
	figureWidth  = 36 * vg.Centimeter
	figureHeight = 9 * vg.Centimeter
	legendWidth  = 5 * vg.Centimeter
	figureMargin = 3 * vg.Millimeter
	figureDPI    = 200
)

// methodStyle is the style in which a method is drawn. Two methods often agree so well that one
// line covers the other. Therefore the line drawn second is dashed, lies over a wider line, and has
// rings instead of dots.
type methodStyle struct {
	label  string
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	glyph  draw.GlyphDrawer
	radius vg.Length
}

// methodStyles holds the styles of the methods of the table.
var methodStyles = map[string]methodStyle{
	"vti":        {"vti, node by node", color.NRGBA{R: 0x8c, G: 0xb8, B: 0xe8, A: 0xff}, vg.Points(4), nil, draw.CircleGlyph{}, vg.Points(3)},
	"vti flow":   {"vti, one flow", color.NRGBA{R: 0x0b, G: 0x3c, B: 0x74, A: 0xff}, vg.Points(1.5), []vg.Length{vg.Points(5), vg.Points(4)}, draw.RingGlyph{}, vg.Points(4.5)},
	"greedy BIC": {"greedy BIC", color.NRGBA{R: 0xc0, G: 0x50, B: 0x20, A: 0xff}, vg.Points(1.5), nil, draw.TriangleGlyph{}, vg.Points(3)},
	"empty":      {"empty graph", color.Gray{Y: 0x90}, vg.Points(1.5), nil, draw.BoxGlyph{}, vg.Points(2.5)},
}

// writeFigure draws the scores against rows, with bars of one standard error, as SVG and PNG.
func writeFigure(path string, table []Row) error {
	panels := [][]*plot.Plot{{}}
	var legend plot.Legend
	for _, panel := range []struct {
		name    string
		low, up float64 // smallest range of the axis, which values can widen
		value   func(Row) (value, se dag.Number)
	}{
		{"F1", -0.02, 1.01, func(r Row) (dag.Number, dag.Number) { return r.F1, r.F1SE }},
		{"SHD", -0.5, 0, func(r Row) (dag.Number, dag.Number) { return r.SHD, r.SHDSE }},
		{"Brier", -0.5, 0, func(r Row) (dag.Number, dag.Number) { return r.Brier, r.BrierSE }},
		{"AUROC", 0.39, 1.01, func(r Row) (dag.Number, dag.Number) { return r.AUROC, r.AUROCSE }},
	} {
		p, err := newPanel(panel.name, table, panel.value)
		if err != nil {
			return err
		}
		p.Y.Min = min(p.Y.Min, panel.low)
		p.Y.Max = max(p.Y.Max, panel.up)
		if panel.name == "SHD" { // every method is in this legend
			legend = p.Legend
			legend.Top = true
		}
		p.Legend = plot.NewLegend()
		panels[0] = append(panels[0], p)
	}
	for _, format := range []string{".svg", ".png"} {
		var canvas vg.CanvasWriterTo = vgsvg.New(figureWidth, figureHeight)
		if format == ".png" {
			canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, figureHeight), vgimg.UseDPI(figureDPI), vgimg.UseBackgroundColor(color.White))}
		}
		tiles := draw.Tiles{Rows: 1, Cols: len(panels[0]), PadX: 5 * vg.Millimeter}
		whole := draw.New(canvas)
		for i, c := range plot.Align(panels, tiles, draw.Crop(whole, figureMargin, -legendWidth, figureMargin, -figureMargin))[0] {
			panels[0][i].Draw(c)
		}
		legend.Draw(draw.Crop(whole, figureWidth-legendWidth, -figureMargin, 0, -vg.Centimeter))
		if err := atomicfile.Write(path+format, func(w io.Writer) error {
			_, err := canvas.WriteTo(w)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// points holds means, and bars with their standard errors.
type points struct {
	plotter.XYs
	plotter.YErrors
}

func newPanel(name string, table []Row, value func(Row) (value, se dag.Number)) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = name, "rows"
	p.X.Scale = plot.LogScale{}
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	byMethod := map[string]*points{}
	var methods []string
	var ticks plot.ConstantTicks
	labelled := map[int]bool{}
	for _, row := range table {
		series, ok := byMethod[row.Method]
		if !ok {
			series = &points{}
			byMethod[row.Method] = series
			methods = append(methods, row.Method)
		}
		value, se := value(row)
		if math.IsNaN(float64(value)) {
			continue
		}
		if math.IsNaN(float64(se)) { // there is only one data set
			se = 0
		}
		series.XYs = append(series.XYs, plotter.XY{X: float64(row.Rows), Y: float64(value)})
		series.YErrors = append(series.YErrors, struct{ Low, High float64 }{float64(se), float64(se)})
		if !labelled[row.Rows] {
			labelled[row.Rows] = true
			ticks = append(ticks, plot.Tick{Value: float64(row.Rows), Label: fmt.Sprint(row.Rows)})
		}
	}
	p.X.Tick.Marker = ticks
	for _, method := range methods {
		if len(byMethod[method].XYs) == 0 {
			continue
		}
		line, err := plotter.NewLine(byMethod[method].XYs)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(byMethod[method])
		if err != nil {
			return nil, err
		}
		dots, err := plotter.NewScatter(byMethod[method].XYs)
		if err != nil {
			return nil, err
		}
		style := methodStyles[method]
		line.Color, line.Width, line.Dashes = style.color, style.width, style.dashes
		dots.Color, dots.Shape, dots.Radius = style.color, style.glyph, style.radius
		bars.Color = style.color
		p.Add(line, bars, dots)
		p.Legend.Add(style.label, line, dots)
	}
	if len(ticks) == 1 { // the range of a scale must not be empty
		p.X.Min, p.X.Max = ticks[0].Value/2, ticks[0].Value*2
	}
	return p, nil
}
