package dag

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/transdim/vti/internal/atomicfile"
)

// Size of the figure: four panels side by side, and the legend, which has no line behind it, to
// their right.
const (
	figureWidth  = 34 * vg.Centimeter
	figureHeight = 9 * vg.Centimeter
	legendWidth  = 3 * vg.Centimeter
	figureDPI    = 200
)

// methodColors are those of the lines, by method.
var methodColors = map[string]color.Color{
	"vti": color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xff}, "vti made": color.NRGBA{R: 0x1f, G: 0x8a, B: 0x4c, A: 0xff}, "greedy BIC": color.NRGBA{R: 0xc0, G: 0x50, B: 0x20, A: 0xff}, "empty": color.Gray{Y: 0x90},
}

// writeBenchmarkFigure draws the four scores against the number of rows, with bars of one standard
// error, as SVG and PNG.
func writeBenchmarkFigure(path string, table []BenchmarkRow) error {
	panels := [][]*plot.Plot{{}}
	var legend plot.Legend
	for _, panel := range []struct {
		name string
		of   func(BenchmarkRow) (value, se Number)
	}{
		{"F1", func(r BenchmarkRow) (Number, Number) { return r.F1, r.F1SE }},
		{"SHD", func(r BenchmarkRow) (Number, Number) { return r.SHD, r.SHDSE }},
		{"Brier", func(r BenchmarkRow) (Number, Number) { return r.Brier, r.BrierSE }},
		{"AUROC", func(r BenchmarkRow) (Number, Number) { return r.AUROC, r.AUROCSE }},
	} {
		p, err := benchmarkPanel(panel.name, table, panel.of)
		if err != nil {
			return err
		}
		if panel.name == "SHD" { // which every method has
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
		for i, c := range plot.Align(panels, tiles, draw.Crop(whole, 0, -legendWidth, 0, 0))[0] {
			panels[0][i].Draw(c)
		}
		legend.Draw(draw.Crop(whole, figureWidth-legendWidth, -2*vg.Millimeter, 0, -vg.Centimeter))
		if err := atomicfile.Write(path+format, func(w io.Writer) error {
			_, err := canvas.WriteTo(w)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// points are means with the bars of their standard errors.
type points struct {
	plotter.XYs
	plotter.YErrors
}

func benchmarkPanel(name string, table []BenchmarkRow, of func(BenchmarkRow) (value, se Number)) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = name, "rows"
	p.X.Scale = plot.LogScale{}
	byMethod := map[string]*points{}
	var methods []string
	var ticks plot.ConstantTicks
	labelled := map[int]bool{}
	for _, row := range table {
		own, ok := byMethod[row.Method]
		if !ok {
			own = &points{}
			byMethod[row.Method] = own
			methods = append(methods, row.Method)
		}
		value, se := of(row)
		if math.IsNaN(float64(value)) {
			continue
		}
		if math.IsNaN(float64(se)) { // a single data set
			se = 0
		}
		own.XYs = append(own.XYs, plotter.XY{X: float64(row.Rows), Y: float64(value)})
		own.YErrors = append(own.YErrors, struct{ Low, High float64 }{float64(se), float64(se)})
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
		line.Color, bars.Color = methodColors[method], methodColors[method]
		line.Width = vg.Points(1.5)
		p.Add(line, bars)
		p.Legend.Add(method, line)
	}
	if len(ticks) == 1 { // a scale needs an extent
		p.X.Min, p.X.Max = ticks[0].Value/2, ticks[0].Value*2
	}
	return p, nil
}
