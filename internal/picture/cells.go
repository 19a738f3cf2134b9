package picture

import "math"

// Text must have enough contrast with the colour of its cell. Opacities between the constants
// halfDeep and deep give too little contrast to both dark and light text, and are not used. A cell
// with a value up to inverted has an opacity of at most halfDeep, with dark text. A larger value
// has an opacity of at least deep, with text in the colour of the page. The constants give a
// contrast of 4.5 with the inks of light and dark pages.
const (
	inverted = 0.7
	halfDeep = 0.5
	deep     = 0.92
)

// opacity returns the opacity of a cell with a value between 0 and 1.
func opacity(value float64) float64 {
	if value <= inverted {
		return halfDeep * value / inverted
	}
	return deep + (1-deep)*(math.Min(1, value)-inverted)/(1-inverted)
}

// Cell is a cell of a matrix.
type Cell struct {
	// Value is between −1 and 1 and sets the colour of the cell: First for positive and Second for
	// negative values, with an opacity that grows with the absolute value.
	Value float64
	Text  string
	Hint  string
}

// Cells draws a matrix with names of rows and columns. The argument widths, if not nil, holds the
// relative widths of the columns.
func Cells(name, title string, width float64, rows, columns []string, widths []float64, cell func(row, column int) Cell) *Picture {
	labels, heads := 0.0, 0.0
	for _, s := range rows {
		labels = math.Max(labels, TextWidth(s, LabelSize))
	}
	for _, s := range columns {
		heads = math.Max(heads, TextWidth(s, SmallSize))
	}
	labels, heads = math.Min(labels, labelShare*width), math.Min(heads, 110)
	total := 0.0
	for k := range columns {
		total += widthOf(widths, k)
	}
	room := width - labels - 8
	unit := room / total
	flat := true // headings are horizontal if they fit, and always if columns have different widths
	for k, s := range columns {
		flat = flat && (widths != nil || TextWidth(s, SmallSize) < unit*widthOf(widths, k)-2)
	}
	if flat {
		heads = SmallSize
	}
	height := 15.0
	if widths == nil && unit < 22 {
		height = math.Max(11, unit)
	}
	top := heads + 8
	p := New(name, title, width, top+height*float64(len(rows))+4)
	x := labels + 6
	for k, s := range columns {
		w := unit * widthOf(widths, k)
		if flat && TextWidth(s, SmallSize) < w {
			p.Label(Point{x + w/2, top - 8}, s, Middle, SmallSize, Muted)
		} else if !flat && w >= SmallSize-1 {
			p.Label(Point{x + w/2, top - 5}, Fit(s, SmallSize, heads), Start, SmallSize, Muted, Style{Upright: true, Hint: s})
		}
		for j := range rows {
			y := top + height*float64(j)
			c := cell(j, k)
			p.shaded(x+0.4, y+0.4, x+w-0.4, y+height-0.4, c)
			if c.Text != "" && TextWidth(c.Text, SmallSize) < w-1 {
				ink := Strong
				if math.Abs(c.Value) > inverted {
					ink = Surface
				}
				p.Label(Point{x + w/2, y + height/2}, c.Text, Middle, SmallSize, ink)
			}
		}
		x += w
	}
	for j, s := range rows {
		p.Label(Point{labels + 1, top + height*(float64(j)+0.5)}, Fit(s, LabelSize, labels+0.5), End, LabelSize, Strong, Style{Hint: s})
	}
	return p
}

func widthOf(widths []float64, k int) float64 {
	if widths == nil {
		return 1
	}
	return widths[k]
}

// shaded fills a cell with its ink. The opacity is given by the absolute value.
func (p *Picture) shaded(x0, y0, x1, y1 float64, c Cell) {
	p.Box(x0, y0, x1, y1, Grid, Style{Hint: c.Hint, Opacity: 0.45})
	if c.Value == 0 || math.IsNaN(c.Value) {
		return
	}
	ink := First
	if c.Value < 0 {
		ink = Second
	}
	p.Box(x0, y0, x1, y1, ink, Style{Hint: c.Hint, Opacity: opacity(math.Abs(c.Value))})
}
