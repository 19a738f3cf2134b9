package calibrate

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/picture"
)

// panelSide is the width and the height of a panel, in points.
const panelSide = 255

const figureName = "calibration"

// WriteFigure draws the figure to the files calibration.svg and calibration.png in a directory. It
// writes no files if no replicate has ranks or events. For each kind of parameter there is a
// histogram of its ranks, with the interval that contains the count of a bin with probability 95%
// if ranks are uniform. Beside it is the distribution function of the ranks minus the uniform
// distribution function, with a simultaneous 95% band. For each kind of statement a panel shows the
// frequency of true statements by stated probability, with intervals.
func (s *Summary) WriteFigure(dir string) error {
	filled := slices.DeleteFunc([][]*picture.Picture{
		apply.To(s.Uniformity, (*Uniformity).histogram), apply.To(s.Uniformity, (*Uniformity).difference), apply.To(s.Reliability, (*Reliability).panel),
	}, func(row []*picture.Picture) bool { return len(row) == 0 })
	if len(filled) == 0 {
		return nil
	}
	columns := max(len(s.Uniformity), len(s.Reliability))
	figure := picture.New(figureName, "Calibration", panelSide*float64(columns), panelSide*float64(len(filled)))
	for k, row := range filled {
		for j, panel := range row {
			figure.Place(panel, picture.Point{X: panelSide * float64(j), Y: panelSide * float64(k)})
		}
	}
	return figure.Write(dir)
}

// newPanel returns an empty panel whose horizontal axis is from 0 to 1.
func newPanel(title string, y picture.Scale, xName, yName string) picture.Frame {
	p := picture.New(figureName, title, panelSide, panelSide)
	f := picture.NewFrame(p, picture.Scale{Min: 0, Max: 1}, y, xName, yName)
	f.Title(title)
	return f
}

func (u *Uniformity) histogram() *picture.Picture {
	n := len(u.Histogram)
	share := distuv.Binomial{N: float64(u.Count), P: 1 / float64(n)}
	low, high := 0.0, float64(u.Count)
	for share.CDF(low) < 0.025 {
		low++
	}
	for high > 0 && share.CDF(high-1) > 0.975 {
		high--
	}
	y := picture.Scale{Min: 0, Max: 1.05 * max(high, float64(slices.Max(u.Histogram)))}
	f := newPanel(fmt.Sprintf("%s: %d ranks", u.Kind, u.Count), y, "rank of the true value", "count, with 95% interval")
	f.Band([]float64{0, 1}, []float64{low, low}, []float64{high, high})
	var steps []picture.Point
	for b, count := range u.Histogram {
		steps = append(steps, f.At(float64(b)/float64(n), float64(count)), f.At(float64(b+1)/float64(n), float64(count)))
	}
	f.Line(steps, 1.2, picture.First)
	return f.Picture
}

// difference draws the empirical distribution function of the ranks minus the uniform one, within
// its simultaneous band.
func (u *Uniformity) difference() *picture.Picture {
	title := "within the band"
	if u.Crossed {
		title = "outside the band"
	}
	f := newPanel(title, picture.Around(slices.Concat(u.Lower, u.Upper, u.Difference)...), "rank", "share below, less rank")
	f.Band(u.Levels, u.Lower, u.Upper)
	f.Line([]picture.Point{f.At(0, 0), f.At(1, 0)}, 0.7, picture.Muted)
	f.Line(apply.UpTo(len(u.Levels), func(i int) picture.Point { return f.At(u.Levels[i], u.Difference[i]) }), 1.2, picture.First)
	return f.Picture
}

func (r *Reliability) panel() *picture.Picture {
	f := newPanel(fmt.Sprintf("%s: %d probabilities", r.Kind, r.Count), picture.Scale{Min: 0, Max: 1.05}, "stated", "happened")
	var x, lower, upper []float64
	var points []picture.Point
	for _, bin := range r.Bins {
		x, lower, upper = append(x, bin.Stated), append(lower, bin.Lower), append(upper, bin.Upper)
		points = append(points, f.At(bin.Stated, bin.Happened))
	}
	f.Band(x, lower, upper)
	f.Line([]picture.Point{f.At(0, 0), f.At(1, 1)}, 0.7, picture.Muted)
	f.Line(points, 1.2, picture.First)
	f.Dots(points, 4, picture.First)
	return f.Picture
}
