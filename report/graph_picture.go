package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dagre"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/rank"
)

// link is a pair of nodes with a line or an arrow drawn between them, and the text of its label.
type link struct {
	from, to int
	// joined is the probability of an edge in either direction, and forward the probability of the
	// edge from → to.
	joined, forward float64
	// directed reports whether the link is drawn as an arrow.
	directed bool
	text     string
}

// Limits of the drawing of a graph.
const (
	// shownLinks is the least probability of an edge between two nodes, in either direction, that
	// is drawn before the reader moves the slider.
	shownLinks = 0.5
	// lowestLinks is the least probability of an edge between two nodes that the slider can show.
	lowestLinks = 0.1
	// mostLinks is the largest number of pairs in the drawing. More pairs cannot be read, and take
	// long to lay out.
	mostLinks = 150
	// An edge is drawn as an arrow if one direction has at least the share clearDirection of the
	// probability of both directions. This applies if the data can determine all directions.
	clearDirection = 0.8
)

// links returns the pairs of nodes that an edge joins with a probability of at least the argument
// least, the most probable pairs first. If byClass is true, the probabilities of equivalence
// classes determine which links have a direction.
func links(result *dag.Result, least float64, byClass bool) (list []link) {
	place := rank.Places(result.Data.Nodes)
	for _, e := range result.Edges {
		l := link{from: place[e.From], to: place[e.To], joined: math.Min(1, float64(e.Prob+e.ProbReverse)), forward: float64(e.Prob)}
		if l.joined < least {
			continue
		}
		l.directed = l.forward >= clearDirection*l.joined
		if byClass {
			known := float64(e.ClassForward + e.ClassReverse + e.ClassUndirected)
			l.directed = float64(e.ClassForward) > known/2
		}
		l.text = fmt.Sprintf("%s and %s are joined with probability %s: %s → %s %s, %s → %s %s",
			e.From, e.To, picture.Probability(l.joined), e.From, e.To, picture.Probability(float64(e.Prob)), e.To, e.From, picture.Probability(float64(e.ProbReverse)))
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b link) int { return cmp.Compare(b.joined, a.joined) })
	return list
}

// placed returns the nodes and the links that are drawn. If there are more than mostLinks links,
// only the most probable are drawn, with the nodes that they join.
func placed(nodes []string, list []link) (drawn []string, links []link) {
	if len(list) <= mostLinks {
		return nodes, list
	}
	place := map[int]int{}
	at := func(node int) int {
		k, seen := place[node]
		if !seen {
			k = len(drawn)
			place[node], drawn = k, append(drawn, nodes[node])
		}
		return k
	}
	for _, l := range list[:mostLinks] {
		l.from, l.to = at(l.from), at(l.to)
		links = append(links, l)
	}
	return drawn, links
}

// Sizes of a drawn graph, in points.
const (
	boxHeight  = 20.0
	boxPadding = 9.0
	labelGap   = 3.0
	longName   = 90.0 // largest width of a name; wider names are shortened

	legendLine = 13.0
	legendText = 34.0 // the horizontal place where the text of the legend begins

	// With more than manyLinks links, almost certain links have no number beside them.
	manyLinks = 20
)

func drawGraph(name, title string, nodes []string, list []link) (*picture.Picture, error) {
	boxes := make([]dagre.Node, len(nodes))
	names := make([]string, len(nodes))
	for k, node := range nodes {
		names[k] = picture.Fit(node, picture.LabelSize, longName)
		boxes[k] = dagre.Node{Width: math.Max(26, picture.TextWidth(names[k], picture.LabelSize)+2*boxPadding), Height: boxHeight}
	}
	edges := make([]dagre.Edge, len(list))
	numbers := make([]string, len(list))
	for k, l := range list {
		edges[k] = dagre.Edge{From: l.from, To: l.to}
		if len(list) <= manyLinks || !l.certain() {
			numbers[k] = linkLabel(l)
			edges[k].LabelWidth, edges[k].LabelHeight = picture.TextWidth(numbers[k], picture.SmallSize)+2*labelGap, picture.SmallSize+2
		}
		edges[k].Weight = 1 + int(9*l.joined) // dagre places nodes with edges of large weight close together
	}
	drawing, err := dagre.Lay(boxes, edges)
	if err != nil {
		return nil, err
	}
	legend := legendOf(list)
	width := drawing.Width
	for _, entry := range legend {
		width = math.Max(width, legendText+picture.TextWidth(entry.text, picture.SmallSize)+labelGap)
	}
	p := picture.New(name, title, width, drawing.Height+2+legendLine*float64(len(legend)))
	for k, l := range list {
		style := picture.Style{Hint: l.text, Group: "link", Value: l.joined}
		route := apply.To(drawing.Routes[k], func(point dagre.Point) picture.Point { return picture.Point{X: point.X, Y: point.Y} })
		width := 0.5 + 2.2*l.joined
		if l.directed {
			p.Arrow(route, width, 8, picture.First, style)
		} else {
			p.Line(route, width, picture.Second, style)
		}
	}
	for k, l := range list { // drawn after all lines, so that labels are above them
		style := picture.Style{Hint: l.text, Group: "link", Value: l.joined}
		text, point := numbers[k], drawing.Labels[k]
		if text == "" {
			continue
		}
		half := picture.TextWidth(text, picture.SmallSize)/2 + 1.5
		p.Box(point.X-half, point.Y-5, point.X+half, point.Y+5, picture.Surface, style)
		p.Label(picture.Point{X: point.X, Y: point.Y}, text, picture.Middle, picture.SmallSize, picture.Strong, style)
	}
	for k, point := range drawing.Nodes {
		w, h := boxes[k].Width/2, boxes[k].Height/2
		hint := picture.Style{Hint: nodes[k]}
		p.Box(point.X-w, point.Y-h, point.X+w, point.Y+h, picture.Soft, hint)
		p.Line([]picture.Point{{X: point.X - w, Y: point.Y - h}, {X: point.X + w, Y: point.Y - h}, {X: point.X + w, Y: point.Y + h}, {X: point.X - w, Y: point.Y + h}, {X: point.X - w, Y: point.Y - h}}, 0.7, picture.Muted)
		p.Label(picture.Point{X: point.X, Y: point.Y}, names[k], picture.Middle, picture.LabelSize, picture.Strong, hint)
	}
	for k, entry := range legend {
		point := picture.Point{X: legendText, Y: drawing.Height + 8 + legendLine*float64(k)}
		sample := []picture.Point{{X: 6, Y: point.Y}, {X: 29, Y: point.Y}}
		if entry.draw != nil {
			entry.draw(p, sample)
		}
		p.Label(point, entry.text, picture.Start, picture.SmallSize, picture.Strong)
	}
	return p, nil
}

// legendEntry explains an arrow, a line without a head, or the numbers beside them. The function
// draw draws an example; it is nil for numbers.
type legendEntry struct {
	text string
	draw func(p *picture.Picture, line []picture.Point)
}

// legendOf explains the marks of a drawing of links.
func legendOf(list []link) (legend []legendEntry) {
	if slices.ContainsFunc(list, func(l link) bool { return l.directed }) {
		legend = append(legend, legendEntry{"direction determined, and its probability", func(p *picture.Picture, line []picture.Point) { p.Arrow(line, 2, 8, picture.First) }})
	}
	if slices.ContainsFunc(list, func(l link) bool { return !l.directed }) {
		legend = append(legend, legendEntry{"direction open; probability of being joined", func(p *picture.Picture, line []picture.Point) { p.Line(line, 2, picture.Second) }})
	}
	if len(list) > manyLinks && slices.ContainsFunc(list, link.certain) {
		legend = append(legend, legendEntry{text: "no number: above 0.99"})
	}
	return legend
}

// probability is the probability of an arrow's direction, or of a link in either direction.
func (l link) probability() float64 {
	if l.directed {
		return l.forward
	}
	return l.joined
}

// certain reports whether the probability of a link is so close to 1 that its number can be left
// out.
func (l link) certain() bool { return l.probability() > 0.995 }

func linkLabel(l link) string {
	if p := l.probability(); p <= 0.995 || p == 1 {
		return fmt.Sprintf("%.2f", p)
	}
	return ">0.99"
}
