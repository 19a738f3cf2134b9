package picture

import "math"

// Interval is an estimate of one number with an interval.
type Interval struct {
	Mid, Low, High float64
	Ink            Ink
	// Hint is the text that a page shows at the interval.
	Hint string
}

// Row is a labelled row of intervals.
type Row struct {
	Label     string
	Intervals []Interval
	// From, if it is not NaN, is the start of an arrow that ends at the first interval.
	From float64
	// Note is a text written at the right end of the row.
	Note string
}

// RowsOptions sets how rows are drawn.
type RowsOptions struct {
	// Axis names the numbers, with their unit.
	Axis string
	// Bars draws a bar from zero to the middle of each interval.
	Bars bool
	// Min and Max are the ends of the axis, unless both are zero.
	Min, Max float64
	// Reference is the number at which a vertical line is drawn. NaN: no line.
	Reference float64
	// Panels is the number of columns into which the rows are divided; 0 stands for 1.
	Panels int
	// Legend explains the inks.
	Legend []Entry
}

const (
	rowHeight  = 14.0
	panelGap   = 10.0
	labelShare = 0.5 // largest share of the width of a panel for labels
)

// Rows draws labelled rows of intervals, such as bars, forest plots and caterpillar plots.
func Rows(name, title string, width float64, rows []Row, options RowsOptions) *Picture {
	panels := max(1, options.Panels)
	perPanel := (len(rows) + panels - 1) / panels
	top := 6.0
	if len(options.Legend) > 0 {
		top = 16
	}
	p := New(name, title, width, top+rowHeight*float64(perPanel)+bottomMargin)
	scale := options.scale(rows)
	each := (width - panelGap*float64(panels-1)) / float64(panels)
	for k := range panels {
		from, to := min(k*perPanel, len(rows)), min((k+1)*perPanel, len(rows))
		left := float64(k) * (each + panelGap)
		p.panel(rows[from:to], left, left+each, top, top+rowHeight*float64(perPanel), scale, options, rows)
	}
	if len(options.Legend) > 0 {
		Frame{Picture: p, X: Scale{From: 0, To: width - 2}}.Legend(options.Legend...)
	}
	return p
}

func (o RowsOptions) scale(rows []Row) Scale {
	if o.Min != 0 || o.Max != 0 {
		return Scale{Min: o.Min, Max: o.Max}
	}
	var values []float64
	for _, row := range rows {
		values = append(values, row.From)
		for _, i := range row.Intervals {
			values = append(values, i.Mid, i.Low, i.High)
		}
	}
	if o.Bars {
		values = append(values, 0)
	}
	return Around(append(values, o.Reference)...)
}

// panel draws rows between the positions left and right. The argument all holds the rows of all
// panels, from which the widths of labels and notes follow.
func (p *Picture) panel(rows []Row, left, right, top, bottom float64, x Scale, options RowsOptions, all []Row) {
	labels, notes := 0.0, 0.0
	for _, row := range all {
		labels = math.Max(labels, TextWidth(row.Label, LabelSize))
		notes = math.Max(notes, TextWidth(row.Note, SmallSize))
	}
	labels = math.Min(labels, labelShare*(right-left)) + 3 // 3 points of distance from the edge
	x.From, x.To = left+labels+6, right-6
	if notes > 0 {
		x.To = right - notes - 8
	}
	f := Frame{Picture: p, X: x, Y: Scale{From: bottom, To: top}}
	for _, t := range x.ticks(max(2, int((x.To-x.From)/38))) {
		f.Line([]Point{{x.At(t.Value), top}, {x.At(t.Value), bottom}}, 0.5, Grid)
	}
	if !math.IsNaN(options.Reference) && x.Holds(options.Reference) {
		f.Line([]Point{{x.At(options.Reference), top}, {x.At(options.Reference), bottom}}, 0.8, Muted)
	}
	for k, row := range rows {
		y := top + rowHeight*(float64(k)+0.5)
		f.Label(Point{left + labels, y}, Fit(row.Label, LabelSize, labels+0.5), End, LabelSize, Strong, Style{Hint: row.Label})
		f.Label(Point{right - 1, y}, row.Note, End, SmallSize, Muted)
		f.row(row, y, options)
	}
	// The name of the axis is written once, in the middle below all panels.
	switch {
	case options.Panels <= 1:
		f.bottomAxis(options.Axis, (x.From+x.To)/2)
	case left == 0:
		f.bottomAxis(options.Axis, p.Width/2)
	default:
		f.bottomAxis("", 0)
	}
}

// row draws the intervals of a row side by side around y.
func (f Frame) row(row Row, y float64, options RowsOptions) {
	n := float64(len(row.Intervals))
	height := math.Min(9, 11/math.Max(1, n))
	for k, i := range row.Intervals {
		position := y + (float64(k)-(n-1)/2)*height
		if options.Bars && !math.IsNaN(i.Mid) {
			ink := Soft
			if i.Ink == Second {
				ink = Faint
			}
			f.Box(f.X.At(0), position-height*0.42, f.X.At(i.Mid), position+height*0.42, ink, Style{Hint: i.Hint})
		}
		if !math.IsNaN(i.Low) && !math.IsNaN(i.High) && i.High > i.Low {
			f.Line([]Point{{f.X.At(i.Low), position}, {f.X.At(i.High), position}}, 1.4, i.Ink, Style{Hint: i.Hint})
		}
		if k == 0 && !math.IsNaN(row.From) && f.X.At(row.From) != f.X.At(i.Mid) {
			f.Arrow([]Point{{f.X.At(row.From), position - 3}, {f.X.At(i.Mid), position}}, 0.7, 4, Second)
			f.Dots([]Point{{f.X.At(row.From), position - 3}}, 2.6, Second)
		}
		if f.X.Holds(i.Mid) {
			f.Dots([]Point{{f.X.At(i.Mid), position}}, 4.6, i.Ink, Style{Hint: i.Hint})
		}
	}
}
