package picture

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Inline returns the picture as SVG for an HTML page. Colours are classes: the class ink-NAME sets
// the property --ink, which the style sheet of the page defines for light and dark pages. The
// property --points is the width of the picture in points, so that the page can scale it.
func (p *Picture) Inline() string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="picture" viewBox="0 0 %s %s" width="%spt" height="%spt" style="--points:%s" role="img" aria-label="%s">`,
		short(p.Width), short(p.Height), short(p.Width), short(p.Height), short(p.Width), html.EscapeString(p.Title+". "+p.Text))
	for _, m := range p.marks {
		m.inline(&out)
	}
	out.WriteString("</svg>")
	return out.String()
}

// short writes a length, rounded to digits that are visible.
func short(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}

// place writes a coordinate, rounded to digits that are visible.
func place(x float64) string { return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0") }

func (m mark) inline(out *strings.Builder) {
	classes := "ink-" + inkNames[m.ink]
	var more string
	if m.style.Group != "" {
		classes += " item"
		more = fmt.Sprintf(` data-group="%s" data-value="%g"`, html.EscapeString(m.style.Group), m.style.Value)
	}
	classes += [...]string{line: " stroke", dots: " stroke round", area: " fill", label: " fill"}[m.shape]
	m.write(out, `class="`+classes+`"`+more)
}

// write writes a mark as SVG. The attributes give its colours.
func (m mark) write(out *strings.Builder, attributes string) {
	if m.style.Opacity > 0 && m.style.Opacity < 1 {
		attributes += fmt.Sprintf(` opacity="%.3g"`, m.style.Opacity)
	}
	tip := ""
	if m.style.Hint != "" {
		tip = "<title>" + html.EscapeString(m.style.Hint) + "</title>"
	}
	var path strings.Builder
	for k, point := range m.points {
		switch {
		case m.shape == dots:
			path.WriteString("M" + place(point.X) + " " + place(point.Y) + "h0")
		case k == 0:
			path.WriteString("M" + place(point.X) + " " + place(point.Y))
		default:
			path.WriteString("L" + place(point.X) + " " + place(point.Y))
		}
	}
	switch m.shape {
	case line, dots:
		if m.style.Dashed {
			attributes += ` stroke-dasharray="4 3"`
		}
		fmt.Fprintf(out, `<path %s stroke-width="%s" d="%s">%s</path>`, attributes, short(m.width), path.String(), tip)
	case area:
		fmt.Fprintf(out, `<path %s d="%sZ">%s</path>`, attributes, path.String(), tip)
	case label:
		anchor := [...]string{"start", "middle", "end"}[m.anchor]
		turn := ""
		if m.style.Upright {
			turn = fmt.Sprintf(` transform="rotate(-90 %s %s)"`, place(m.points[0].X), place(m.points[0].Y))
		}
		// The middle of letters without descenders is 0.35 of the font size above the base line.
		// textLength squeezes a text into its measured width if the font of the page is wider than
		// the measured font.
		fmt.Fprintf(out, `<text %s x="%s" y="%s" font-size="%s" text-anchor="%s" textLength="%s" lengthAdjust="spacingAndGlyphs"%s>%s%s</text>`,
			attributes, place(m.points[0].X), place(m.points[0].Y+baseline*m.size), short(m.size), anchor, short(TextWidth(m.text, m.size)), turn, html.EscapeString(m.text), tip)
	}
}

// baseline is the distance of the base line below the middle of letters, in units of the font size:
// half the height of capitals of Liberation Sans.
const baseline = 0.35
