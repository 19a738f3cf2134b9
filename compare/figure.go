package compare

import (
	"math"

	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/report"
)

// figureSide is the width and the height of the figure, in points.
const figureSide = 340

// figureFloor is the smallest probability in the figure. It replaces smaller and missing
// probabilities.
const figureFloor = 1e-6

// figure returns a plot of the model probabilities in B against the probabilities in A, on
// logarithmic axes.
func (c *Comparison) figure() *picture.Picture {
	points, low := figurePoints(c.Models)
	p := picture.New(figureName, "Model probabilities", figureSide, figureSide)
	axis := picture.Scale{Min: low, Max: 0, Powers: true}
	f := picture.NewFrame(p, axis, axis, "A: "+c.A.Command, "B: "+c.B.Command)
	f.Line([]picture.Point{f.At(low, low), f.At(0, 0)}, 0.7, picture.Muted)
	for k, point := range points {
		points[k] = f.At(point.X, point.Y)
	}
	f.Dots(points, 5, picture.First, picture.Style{Opacity: 0.7})
	return p
}

// figurePoints returns a point for each model whose probability is at least figureFloor in either
// run, and the lower end of both axes. All are base 10 logarithms of probabilities.
func figurePoints(models []Pair) (points []picture.Point, low float64) {
	low = -1
	for _, model := range models {
		if model.largest() < figureFloor {
			continue
		}
		point := picture.Point{X: power(model.A), Y: power(model.B)}
		points = append(points, point)
		low = min(low, point.X, point.Y)
	}
	return points, math.Floor(low + 1e-9) // the small number keeps rounding from lowering an exact power of ten
}

// power returns the base 10 logarithm of a probability, or of figureFloor if the probability is
// smaller or missing.
func power(probability report.Number) float64 {
	if p := float64(probability); p > figureFloor {
		return math.Log10(p)
	}
	return math.Log10(figureFloor)
}
