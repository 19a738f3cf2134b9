package regression

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/transdim/vti/internal/atomicfile"
)

// Look of a caterpillar plot.
const (
	caterpillarWidth = 14 * vg.Centimeter
	caterpillarFrame = 2.2 * vg.Centimeter  // title and axis
	caterpillarRow   = 0.32 * vg.Centimeter // of each level
	caterpillarDPI   = 160
	caterpillarRows  = 120 // of more levels the lowest and the highest are drawn
)

// caterpillar is what is drawn of one term that varies by one grouping, the lowest level first.
type caterpillar struct {
	group, term string
	levels      []LevelSummary
	left        int // levels that are not drawn
}

// caterpillars picks them from a result.
func caterpillars(result *Result) (list []caterpillar) {
	for _, v := range result.Varying {
		if n := len(list); n == 0 || list[n-1].group != v.Group || list[n-1].term != v.Term {
			list = append(list, caterpillar{group: v.Group, term: v.Term})
		}
		last := &list[len(list)-1]
		last.levels = append(last.levels, v)
	}
	for i := range list {
		c := &list[i]
		slices.SortStableFunc(c.levels, func(a, b LevelSummary) int { return cmp.Compare(a.middle(), b.middle()) })
		if c.left = len(c.levels) - caterpillarRows; c.left > 0 {
			c.levels = slices.Concat(c.levels[:caterpillarRows/2], c.levels[len(c.levels)-caterpillarRows/2:])
		}
	}
	return list
}

// middle is the mean, or the middle of the interval where the mean is not resolved.
func (l LevelSummary) middle() Figure {
	if math.IsNaN(float64(l.Mean)) {
		return (l.Q025 + l.Q975) / 2
	}
	return l.Mean
}

// fileName is that of the plot, without its ending: only letters, digits and a few signs, so that
// any name of a column gives one.
func (c caterpillar) fileName(number int) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return -1
	}, c.group)
	return fmt.Sprintf("caterpillar-%d-%s", number, safe)
}

// writeCaterpillars draws the effects of the levels of every grouping, a plot for each term, as SVG
// and PNG.
func (r *Regression) writeCaterpillars(dir string, result *Result) error {
	for number, c := range caterpillars(result) {
		p, err := c.plot()
		if err != nil {
			return err
		}
		height := caterpillarFrame + caterpillarRow*vg.Length(len(c.levels))
		for _, format := range []string{".svg", ".png"} {
			var canvas vg.CanvasWriterTo = vgsvg.New(caterpillarWidth, height)
			if format == ".png" {
				canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(caterpillarWidth, height), vgimg.UseDPI(caterpillarDPI), vgimg.UseBackgroundColor(color.White))}
			}
			p.Draw(vgdraw.New(canvas))
			if err := atomicfile.Write(filepath.Join(dir, c.fileName(number+1)+format), func(w io.Writer) error {
				_, err := canvas.WriteTo(w)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// plot draws the mean of each effect and the interval that holds 95% of its posterior.
func (c caterpillar) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = c.term + " by " + c.group
	p.X.Label.Text = "difference from the population, with 95% intervals"
	if c.left > 0 {
		p.X.Label.Text += fmt.Sprintf(" (%d levels in the middle left out)", c.left)
	}
	var ticks plot.ConstantTicks
	means := make(plotter.XYs, len(c.levels))
	for i, level := range c.levels {
		at := float64(i)
		ticks = append(ticks, plot.Tick{Value: at, Label: level.Level})
		means[i] = plotter.XY{X: float64(level.middle()), Y: at}
		line, err := plotter.NewLine(plotter.XYs{{X: float64(level.Q025), Y: at}, {X: float64(level.Q975), Y: at}})
		if err != nil {
			return nil, err
		}
		line.LineStyle = vgdraw.LineStyle{Color: color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xa0}, Width: vg.Points(1.2)}
		p.Add(line)
	}
	scatter, err := plotter.NewScatter(means)
	if err != nil {
		return nil, err
	}
	scatter.GlyphStyle = vgdraw.GlyphStyle{Color: color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xff}, Radius: vg.Points(2), Shape: vgdraw.CircleGlyph{}}
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: -0.7}, {X: 0, Y: float64(len(c.levels)) - 0.3}})
	if err != nil {
		return nil, err
	}
	zero.LineStyle = vgdraw.LineStyle{Color: color.Gray{Y: 0xa0}, Width: vg.Points(0.7)}
	p.Add(zero, scatter)
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Label.Font.Size = vg.Points(7)
	p.Y.Min, p.Y.Max = -0.7, float64(len(c.levels))-0.3
	return p, nil
}
