package picture

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Scale maps numbers to positions on a picture, in points.
type Scale struct {
	Min, Max float64 // range of the numbers
	From, To float64 // positions of Min and Max
	// Whole restricts ticks to whole numbers. Powers labels each tick as a power of ten with the
	// tick's number as exponent.
	Whole, Powers bool
}

// At returns the position of a number. A number outside the scale is placed at the nearer end.
func (s Scale) At(x float64) float64 {
	return s.From + (s.To-s.From)*math.Min(1, math.Max(0, (x-s.Min)/(s.Max-s.Min)))
}

// Holds reports whether a number lies on the scale.
func (s Scale) Holds(x float64) bool { return x >= s.Min && x <= s.Max }

// Around returns a scale whose range contains all finite values, with a margin on both sides.
func Around(values ...float64) Scale {
	s := Scale{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.Min, s.Max = math.Min(s.Min, v), math.Max(s.Max, v)
		}
	}
	if s.Min > s.Max {
		s.Min, s.Max = 0, 1
	}
	margin := cmp.Or(0.04*(s.Max-s.Min), math.Max(math.Abs(s.Min)/10, 0.5))
	return Scale{Min: s.Min - margin, Max: s.Max + margin}
}

// Tick is a labelled number on a scale.
type Tick struct {
	Value float64
	Label string
}

// ticks returns ticks at round numbers, which are 1, 2 or 5 times a power of ten apart. The
// argument most is approximately the largest number of ticks.
func (s Scale) ticks(most int) (list []Tick) {
	span := s.Max - s.Min
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	power := math.Pow(10, math.Floor(math.Log10(span/float64(most))))
	step := power
	for _, times := range []float64{1, 2, 5, 10} {
		if step = times * power; math.Floor(s.Max/step+1e-9)-math.Ceil(s.Min/step-1e-9) < float64(most) {
			break
		}
	}
	if s.Whole || s.Powers {
		step = math.Max(1, step)
	}
	decimals := int(math.Max(0, -math.Floor(math.Log10(step)+1e-9)))
	for k := math.Ceil(s.Min/step - 1e-9); k*step <= s.Max+1e-9*step; k++ {
		label := tickLabel(k*step, step, decimals)
		if s.Powers {
			label = tickLabel(math.Pow(10, k*step), 0, max(0, int(-k*step)))
		}
		list = append(list, Tick{k * step, label})
	}
	return list
}

func tickLabel(value, step float64, decimals int) string {
	if math.Abs(value) < step/2 {
		return "0"
	}
	if math.Abs(value) >= 1e6 || decimals > 4 {
		return strings.ReplaceAll(strings.ReplaceAll(strconv.FormatFloat(value, 'g', 4, 64), "e+0", "e"), "-", "−")
	}
	return strings.Replace(strconv.FormatFloat(value, 'f', decimals, 64), "-", "−", 1)
}

// Frame is the rectangle of a picture that its axes bound.
type Frame struct {
	*Picture
	X, Y Scale
}

// Margins around a frame, in points.
const (
	tickLength   = 3
	bottomMargin = 32 // tick labels and the name of the axis
	topMargin    = 8
	rightMargin  = 12 // half the width of the last tick label
)

// NewFrame adds axes to a picture. xName and yName name them, with units. The ends of the axes are
// computed from the widths of the labels.
func NewFrame(p *Picture, x, y Scale, xName, yName string) Frame {
	y.From, y.To = p.Height-bottomMargin, topMargin
	yTicks := y.ticks(6)
	widest := 0.0
	for _, t := range yTicks {
		widest = math.Max(widest, TextWidth(t.Label, SmallSize))
	}
	x.From, x.To = widest+tickLength+6, p.Width-rightMargin
	if yName != "" {
		x.From += LabelSize + 4
	}
	f := Frame{p, x, y}
	for _, t := range yTicks {
		position := y.At(t.Value)
		f.Line([]Point{{x.From, position}, {x.To, position}}, 0.5, Grid)
		f.Label(Point{x.From - tickLength - 2, position}, t.Label, End, SmallSize, Muted)
	}
	f.bottomAxis(xName, (f.X.From+f.X.To)/2)
	f.Line([]Point{{x.From, y.To}, {x.From, y.From}}, 0.7, Muted)
	f.Label(Point{LabelSize/2 + 1, (y.From + y.To) / 2}, Fit(yName, LabelSize, p.Height-8), Middle, LabelSize, Strong, Style{Upright: true})
	return f
}

// bottomAxis draws the horizontal axis. The middle of its name is at the position middle, or nearer
// to the middle of the picture if the name is long.
func (f Frame) bottomAxis(name string, middle float64) {
	base := f.Y.From
	f.Line([]Point{{f.X.From, base}, {f.X.To, base}}, 0.7, Muted)
	ticks := f.X.ticks(max(2, int((f.X.To-f.X.From)/38)))
	for _, t := range ticks {
		position := f.X.At(t.Value)
		f.Line([]Point{{position, base}, {position, base + tickLength}}, 0.7, Muted)
		f.Label(Point{position, base + tickLength + 6}, t.Label, Middle, SmallSize, Muted)
	}
	name = Fit(name, LabelSize, f.Width-4)
	half := TextWidth(name, LabelSize) / 2
	middle = math.Max(half+2, math.Min(middle, f.Width-half-2))
	f.Label(Point{middle, base + tickLength + 20}, name, Middle, LabelSize, Strong)
}

// At returns the position of a pair of numbers.
func (f Frame) At(x, y float64) Point { return Point{f.X.At(x), f.Y.At(y)} }

// Title writes a heading above the frame's upper edge.
func (f Frame) Title(s string) {
	middle := (f.X.From + f.X.To) / 2
	f.Label(Point{middle, 5}, Fit(s, SmallSize, f.X.To-f.X.From), Middle, SmallSize, Strong)
}

// Band fills the area between two functions of x. It is drawn over the grid lines of the frame.
func (f Frame) Band(x, lower, upper []float64) {
	around := make([]Point, 2*len(x))
	for k := range x {
		around[k], around[len(around)-1-k] = f.At(x[k], upper[k]), f.At(x[k], lower[k])
	}
	f.Area(around, Soft)
}

// Legend writes the meanings of inks above the frame's upper edge, in a row that ends at the right.
func (f Frame) Legend(entries ...Entry) {
	x := f.X.To
	for k := len(entries) - 1; k >= 0; k-- {
		e := entries[k]
		x -= TextWidth(e.Text, SmallSize)
		f.Label(Point{x, 5}, e.Text, Start, SmallSize, Strong)
		if e.Dashed {
			f.Line([]Point{{x - 17, 5}, {x - 3, 5}}, 1.5, e.Ink, Style{Dashed: true})
		} else {
			f.Line([]Point{{x - 15, 5}, {x - 4, 5}}, 4, e.Ink)
		}
		x -= 24
	}
}

// Entry is an entry of a legend.
type Entry struct {
	Text   string
	Ink    Ink
	Dashed bool
}
