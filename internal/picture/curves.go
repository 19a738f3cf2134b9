package picture

import (
	"math"
	"slices"
)

// Curve is a function given by its values at increasing arguments.
type Curve struct {
	X, Y []float64
	Ink  Ink
	// Filled fills the area under the curve. Dashed curves are drawn less prominently. Dotted draws
	// only the points, in pictures that Lines makes.
	Filled, Dashed, Dotted bool
}

// Band returns the area between two functions, for Lines.
func Band(x, low, high []float64) Curve {
	back, above := slices.Clone(x), slices.Clone(high)
	slices.Reverse(back)
	slices.Reverse(above)
	return Curve{Filled: true, X: slices.Concat(x, back), Y: slices.Concat(low, above)}
}

// Curves draws functions over one axis. At zero it draws a line whose height is spike, the
// probability that the number is exactly zero. The vertical axis extends to 1 at least.
func Curves(name, title string, width, height float64, curves []Curve, spike float64, axis string, legend ...Entry) *Picture {
	p := New(name, title, width, height)
	var xs []float64
	top := 0.0
	for _, c := range curves {
		if !c.Dashed {
			xs = append(xs, c.X...)
		}
		for _, y := range c.Y {
			top = math.Max(top, y)
		}
	}
	if spike >= leastSpike {
		xs = append(xs, 0)
	}
	f := Frame{p, Around(xs...), Scale{Min: 0, Max: math.Max(top, 1), From: height - bottomMargin, To: 14}}
	f.X.From, f.X.To = 12, width-rightMargin
	for _, c := range curves {
		f.curve(c)
	}
	f.bottomAxis(axis, (f.X.From+f.X.To)/2)
	if spike >= leastSpike {
		position, tip := f.X.At(0), f.Y.At(spike)
		f.Line([]Point{{position, f.Y.From}, {position, tip}}, 2.2, Strong, Style{Hint: "probability of exactly zero: " + Probability(spike)})
		text := Probability(spike)
		half := TextWidth(text, SmallSize) / 2
		f.Label(Point{math.Max(half, math.Min(position, width-half)), tip - 6}, text, Middle, SmallSize, Strong)
	}
	f.Legend(legend...)
	return p
}

// leastSpike is the smallest probability of zero for which a line is drawn; a shorter line would
// not be visible.
const leastSpike = 0.005

func (f Frame) curve(c Curve) {
	var points []Point
	for k, x := range c.X {
		if f.X.Holds(x) {
			points = append(points, f.At(x, c.Y[k]))
		}
	}
	if len(points) < 2 {
		return
	}
	if c.Filled {
		area := append(slices.Clone(points), Point{points[len(points)-1].X, f.Y.From}, Point{points[0].X, f.Y.From})
		ink := Soft
		if c.Ink == Second {
			ink = Faint
		}
		f.Area(area, ink)
	}
	f.Line(points, 1.4, c.Ink, Style{Dashed: c.Dashed})
}

// Bar is a bar of a chart. It shows a share, which can be compared with another value.
type Bar struct {
	From, To float64 // range on the horizontal axis
	Value    float64
	// Low and High are the ends of an interval around the share or, if Compared is a number, around
	// Compared. There is no interval if both are zero.
	Low, High float64
	Compared  float64 // value to compare with; NaN: none
	Hint      string
}

// Bars draws shares, such as a histogram, as areas. The values to compare with are drawn as lines
// with their intervals.
func Bars(name, title string, width, height float64, bars []Bar, xName, yName string, legend ...Entry) *Picture {
	p := New(name, title, width, height)
	var ys, xs []float64
	for _, b := range bars {
		xs = append(xs, b.From, b.To)
		ys = append(ys, b.Value, b.High)
		if !math.IsNaN(b.Compared) {
			ys = append(ys, b.Compared)
		}
	}
	y := Scale{Min: 0, Max: 1.15 * slices.Max(append(ys, 1e-300))}
	x := Scale{Min: slices.Min(append(xs, math.Inf(1))), Max: slices.Max(append(xs, math.Inf(-1)))}
	x.Whole = len(bars) > 0 && bars[0].To-bars[0].From == 1
	f := NewFrame(p, x, y, xName, yName)
	for _, b := range bars {
		left, right := f.X.At(b.From), f.X.At(b.To)
		gap := math.Min(1, (right-left)*0.08)
		f.Box(left+gap, f.Y.At(0), right-gap, f.Y.At(b.Value), Soft, Style{Hint: b.Hint})
		f.Line([]Point{{left + gap, f.Y.At(b.Value)}, {right - gap, f.Y.At(b.Value)}}, 1.4, First, Style{Hint: b.Hint})
		middle := (left + right) / 2
		if b.High > b.Low {
			f.Line([]Point{{middle, f.Y.At(b.Low)}, {middle, f.Y.At(b.High)}}, 1.2, Second, Style{Hint: b.Hint})
		}
		if !math.IsNaN(b.Compared) {
			f.Dots([]Point{{middle, f.Y.At(b.Compared)}}, 4, Second, Style{Hint: b.Hint})
		}
	}
	f.Legend(legend...)
	return p
}

// Reference is a line across a scatter plot, from (X0, Y0) to (X1, Y1).
type Reference struct{ X0, Y0, X1, Y1 float64 }

// Scatter draws pairs of numbers as points, with lines to compare them with.
func Scatter(name, title string, width, height float64, points []Point, references []Reference, xName, yName string) *Picture {
	p := New(name, title, width, height)
	var xs, ys []float64
	for _, point := range points {
		xs, ys = append(xs, point.X), append(ys, point.Y)
	}
	// The scales include the reference lines, however far these are from the points.
	for _, r := range references {
		ys = append(ys, r.Y0, r.Y1)
	}
	f := NewFrame(p, Around(xs...), Around(ys...), xName, yName)
	var places []Point
	for _, point := range points {
		if f.X.Holds(point.X) && f.Y.Holds(point.Y) {
			places = append(places, f.At(point.X, point.Y))
		}
	}
	size := 3.4
	if len(points) > 300 {
		size = 2.4
	}
	f.Dots(places, size, First)
	for _, r := range references {
		if r, ok := f.clip(r); ok {
			f.Line([]Point{f.At(r.X0, r.Y0), f.At(r.X1, r.Y1)}, 1.2, Second, Style{Dashed: true})
		}
	}
	return p
}

func (f Frame) clip(r Reference) (Reference, bool) {
	from, to := 0.0, 1.0
	for _, side := range [][4]float64{{r.X0, r.X1 - r.X0, f.X.Min, f.X.Max}, {r.Y0, r.Y1 - r.Y0, f.Y.Min, f.Y.Max}} {
		start, slope, low, high := side[0], side[1], side[2], side[3]
		if slope == 0 {
			if start < low || start > high {
				return r, false
			}
			continue
		}
		a, b := (low-start)/slope, (high-start)/slope
		from, to = math.Max(from, math.Min(a, b)), math.Min(to, math.Max(a, b))
	}
	pointAt := func(t float64) (x, y float64) { return r.X0 + t*(r.X1-r.X0), r.Y0 + t*(r.Y1-r.Y0) }
	var cut Reference
	cut.X0, cut.Y0 = pointAt(from)
	cut.X1, cut.Y1 = pointAt(to)
	return cut, from < to
}

// Lines draws several functions, with an axis for their values. It is used for traces.
func Lines(name, title string, width, height float64, curves []Curve, xName, yName string) *Picture {
	p := New(name, title, width, height)
	var xs, ys []float64
	for _, c := range curves {
		xs, ys = append(xs, c.X...), append(ys, c.Y...)
	}
	x := Around(xs...)
	if len(xs) > 0 {
		x.Min, x.Max = slices.Min(xs), math.Max(slices.Max(xs), slices.Min(xs)+1e-9)
	}
	f := NewFrame(p, x, Around(ys...), xName, yName)
	for _, c := range curves {
		var points []Point
		for k := range c.X {
			if !math.IsNaN(c.Y[k]) && !math.IsInf(c.Y[k], 0) {
				points = append(points, f.At(c.X[k], c.Y[k]))
			}
		}
		if c.Filled {
			f.Area(points, Soft)
			continue
		}
		if c.Dotted {
			f.Dots(points, 2, c.Ink)
			continue
		}
		if len(points) > 1 {
			f.Line(points, 1.1, c.Ink, Style{Dashed: c.Dashed})
		}
	}
	return p
}
