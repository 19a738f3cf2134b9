package cardinality

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/transdim/vti/internal/atomicfile"
)

// WriteFigure draws the cross-entropies of one level of misspecification, averaged over tables,
// against the number of predictors, as path.svg and path.png.
func WriteFigure(path, level string, rows []Row) error {
	figure := plot.New()
	figure.Title.Text = fmt.Sprintf("Cross-entropy of reversible-jump draws, %s misspecification", level)
	figure.X.Label.Text, figure.Y.Label.Text = "predictors", "nats"
	var ticks []plot.Tick
	for _, row := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(row.Predictors), Label: strconv.Itoa(row.Predictors)})
	}
	figure.X.Tick.Marker = plot.ConstantTicks(slices.Compact(ticks))
	figure.Legend.Top, figure.Legend.Left = true, true
	var lines []any
	for _, sampler := range Samplers {
		if points := means(rows, level, sampler); len(points) > 0 {
			lines = append(lines, sampler, points)
		}
	}
	if err := plotutil.AddLinePoints(figure, lines...); err != nil {
		return err
	}
	var errs []error
	for _, format := range []string{"svg", "png"} {
		errs = append(errs, atomicfile.Write(path+"."+format, func(w io.Writer) error {
			canvas, err := figure.WriterTo(14*vg.Centimeter, 10*vg.Centimeter, format)
			if err == nil {
				_, err = canvas.WriteTo(w)
			}
			return err
		}))
	}
	return errors.Join(errs...)
}

// means are the points of a line, in the order of the rows.
func means(rows []Row, level, sampler string) (points plotter.XYs) {
	count := 0
	for _, row := range rows {
		if row.Level != level || row.Sampler != sampler {
			continue
		}
		if x := float64(row.Predictors); len(points) == 0 || points[len(points)-1].X != x {
			points, count = append(points, plotter.XY{X: x}), 0
		}
		count++
		last := &points[len(points)-1]
		last.Y += (float64(row.CrossEntropy) - last.Y) / float64(count)
	}
	return points
}
