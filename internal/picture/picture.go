package picture

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/apply"
)

// Ink is the role of a colour in a picture.
type Ink int

// The inks First and Second can be distinguished by colour-blind people, and by their lightness in
// print without colours. They are blue and vermillion of Okabe and Ito (2008), darkened where text
// needs the contrast.
const (
	Strong  Ink = iota // text, axes, dots of data
	Muted              // secondary text
	Grid               // grid lines
	First              // the answer, such as a posterior
	Soft               // areas under First
	Second             // comparisons, such as a prior or a second run
	Faint              // areas under Second
	Third              // a third run or chain
	Surface            // the background
)

var inkNames = [...]string{"strong", "muted", "grid", "first", "soft", "second", "faint", "third", "surface"}

// Widths of pictures, in points: one and two columns of a journal (88 and 180 mm).
const (
	Column = 249
	Page   = 510
)

// Sizes of text, in points.
const (
	LabelSize = 9
	SmallSize = 8
)

// Point is a point of a picture, in typographic points; y grows downward.
type Point struct{ X, Y float64 }

// Picture is a drawing. New makes one.
type Picture struct {
	// Name is the stem of the picture's file names, and its id on a page. Title is a short heading.
	// Text is the description that a screen reader reads.
	Name, Title, Text string
	// Width and Height are the size in points.
	Width, Height float64
	marks         []mark
}

// New returns an empty picture of a size in points.
func New(name, title string, width, height float64) *Picture {
	return &Picture{Name: name, Title: title, Width: width, Height: height}
}

// Described sets the text of the picture, formatted as by fmt.Sprintf, and returns the picture. It
// returns nil for nil.
func (p *Picture) Described(format string, args ...any) *Picture {
	if p != nil {
		p.Text = fmt.Sprintf(format, args...)
	}
	return p
}

type shape int

const (
	line shape = iota
	area
	dots
	label
)

// Anchor is the part of a text (start, middle or end) that is placed at its position.
type Anchor int

// The anchors of a text.
const (
	Start Anchor = iota
	Middle
	End
)

// mark is an element of a picture.
type mark struct {
	shape  shape
	points []Point
	ink    Ink
	width  float64 // width of a line, or diameter of dots
	style  Style
	text   string
	anchor Anchor
	size   float64
}

// Style holds the attributes of a mark. The zero value is an opaque, solid mark without a hint.
type Style struct {
	// Hint is shown when the pointer rests on the mark.
	Hint string
	// Opacity is between 0 and 1; 0 stands for 1.
	Opacity float64
	// Dashed applies to lines. Upright turns a text by a quarter, to be read from the right.
	Dashed, Upright bool
	// Group is the kind of thing to which a mark belongs, such as "link" for the arrow and the
	// label of a link in a graph. A page can hide all marks of a thing whose Value is small. The
	// marks of one thing have the same Value. Marks with an empty Group are always shown.
	Group string
	Value float64
}

func styleOf(styles []Style) Style {
	if len(styles) == 0 {
		return Style{}
	}
	return styles[0]
}

// Line draws a line through points.
func (p *Picture) Line(points []Point, width float64, ink Ink, style ...Style) {
	p.marks = append(p.marks, mark{shape: line, points: points, ink: ink, width: width, style: styleOf(style)})
}

// Area fills a polygon.
func (p *Picture) Area(points []Point, ink Ink, style ...Style) {
	p.marks = append(p.marks, mark{shape: area, points: points, ink: ink, style: styleOf(style)})
}

// Box fills a rectangle between two corners.
func (p *Picture) Box(x0, y0, x1, y1 float64, ink Ink, style ...Style) {
	p.Area([]Point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}, ink, style...)
}

// Dots draws discs of the given diameter.
func (p *Picture) Dots(points []Point, diameter float64, ink Ink, style ...Style) {
	if len(points) > 0 {
		p.marks = append(p.marks, mark{shape: dots, points: points, ink: ink, width: diameter, style: styleOf(style)})
	}
}

// Label writes a text, centred on y.
func (p *Picture) Label(point Point, s string, anchor Anchor, size float64, ink Ink, style ...Style) {
	if s != "" {
		p.marks = append(p.marks, mark{shape: label, points: []Point{point}, ink: ink, text: s, anchor: anchor, size: size, style: styleOf(style)})
	}
}

// Place copies the marks of another picture to p, with the upper left corner of the other picture
// at a point.
func (p *Picture) Place(other *Picture, point Point) {
	for _, m := range other.marks {
		points := apply.To(m.points, func(from Point) Point { return Point{from.X + point.X, from.Y + point.Y} })
		m.points = points
		p.marks = append(p.marks, m)
	}
}

// Arrow draws a line with a head at its end; the head has the given length in points.
func (p *Picture) Arrow(points []Point, width, head float64, ink Ink, style ...Style) {
	tip, before := points[len(points)-1], points[len(points)-2]
	for k := len(points) - 2; k > 0 && math.Hypot(tip.X-points[k].X, tip.Y-points[k].Y) < head; k-- {
		before, points = points[k-1], append(append([]Point{}, points[:k]...), tip)
	}
	length := math.Hypot(tip.X-before.X, tip.Y-before.Y)
	if length == 0 {
		return
	}
	head = math.Min(head, length)
	cos, sin := (tip.X-before.X)/length, (tip.Y-before.Y)/length
	neck := Point{tip.X - head*cos, tip.Y - head*sin}
	shaft := append(append([]Point{}, points[:len(points)-1]...), neck)
	p.Line(shaft, width, ink, style...)
	side := math.Max(head/2.4, width)
	p.Area([]Point{tip, {neck.X - side*sin, neck.Y + side*cos}, {neck.X + side*sin, neck.Y - side*cos}}, ink, style...)
}
