package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/dagre"
	"github.com/transdim/vti/internal/picture"
)

// link is a pair of nodes with what is to be drawn of it.
type link struct {
	from, to int
	// joined is the probability of an edge in either direction, and forward that of from → to.
	joined, forward float64
	// directed links have an arrow.
	directed bool
	text     string
}

// Limits of what is drawn of a graph, chosen by hand.
const (
	// shownLinks is the probability from which a pair is drawn at first: it is then more likely
	// joined than not.
	shownLinks = 0.5
	// lowestLinks is the least probability of a pair in the picture that a slider can show.
	lowestLinks = 0.1
	// mostLinks bounds the pairs that are placed: more cannot be read, and take long to place.
	mostLinks = 150
	// clearDirection is the share of the probability of an edge that one direction must have to be
	// drawn with an arrow where the table can tell all directions apart.
	clearDirection = 0.8
)

// links are the pairs of a result that are joined with at least some probability, the most probable
// first. byClass says that equivalence classes know which directions are determined.
func links(result *dag.Result, least float64, byClass bool) (list []link) {
	place := map[string]int{}
	for k, name := range result.Data.Nodes {
		place[name] = k
	}
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
	slices.SortStableFunc(list, func(a, b link) int {
		switch {
		case a.joined > b.joined:
			return -1
		case a.joined < b.joined:
			return 1
		}
		return 0
	})
	return list[:min(len(list), mostLinks)]
}

// Sizes of a drawn graph, in points.
const (
	boxHeight  = 20.0
	boxPadding = 9.0
	labelGap   = 3.0
	longName   = 90.0 // wider names are shortened

	legendHeight = 28.0
)

// drawGraph draws nodes and links.
func drawGraph(name, title string, nodes []string, list []link) (*picture.Picture, error) {
	boxes := make([]dagre.Node, len(nodes))
	names := make([]string, len(nodes))
	for k, node := range nodes {
		names[k] = picture.Fit(node, picture.LabelSize, longName)
		boxes[k] = dagre.Node{Width: math.Max(26, picture.TextWidth(names[k], picture.LabelSize)+2*boxPadding), Height: boxHeight}
	}
	edges := make([]dagre.Edge, len(list))
	for k, l := range list {
		edges[k] = dagre.Edge{From: l.from, To: l.to, LabelWidth: picture.TextWidth(linkLabel(l), picture.SmallSize) + 2*labelGap, LabelHeight: picture.SmallSize + 2}
		edges[k].Weight = 1 + int(9*l.joined) // probable links decide where things are
	}
	drawing, err := dagre.Lay(boxes, edges)
	if err != nil {
		return nil, err
	}
	p := picture.New(name, title, math.Max(drawing.Width, 130), drawing.Height+legendHeight)
	for k, l := range list {
		style := picture.Style{Hint: l.text, Group: "link", Value: l.joined}
		route := make([]picture.Point, len(drawing.Routes[k]))
		for i, at := range drawing.Routes[k] {
			route[i] = picture.Point{X: at.X, Y: at.Y}
		}
		width := 0.5 + 2.2*l.joined
		if l.directed {
			p.Arrow(route, width, 8, picture.First, style)
		} else {
			p.Line(route, width, picture.Second, style)
		}
	}
	for k, l := range list { // labels lie over all lines
		style := picture.Style{Hint: l.text, Group: "link", Value: l.joined}
		text, at := linkLabel(l), drawing.Labels[k]
		half := picture.TextWidth(text, picture.SmallSize)/2 + 1.5
		p.Box(at.X-half, at.Y-5, at.X+half, at.Y+5, picture.Surface, style)
		p.Label(picture.Point{X: at.X, Y: at.Y}, text, picture.Middle, picture.SmallSize, picture.Strong, style)
	}
	for k, at := range drawing.Nodes {
		w, h := boxes[k].Width/2, boxes[k].Height/2
		hint := picture.Style{Hint: nodes[k]}
		p.Box(at.X-w, at.Y-h, at.X+w, at.Y+h, picture.Soft, hint)
		p.Line([]picture.Point{{X: at.X - w, Y: at.Y - h}, {X: at.X + w, Y: at.Y - h}, {X: at.X + w, Y: at.Y + h}, {X: at.X - w, Y: at.Y + h}, {X: at.X - w, Y: at.Y - h}}, 0.7, picture.Muted)
		p.Label(picture.Point{X: at.X, Y: at.Y}, names[k], picture.Middle, picture.LabelSize, picture.Strong, hint)
	}
	for k, text := range []string{"direction determined", "direction open"} {
		at := picture.Point{X: 34, Y: drawing.Height + 8 + 13*float64(k)}
		sample := []picture.Point{{X: 6, Y: at.Y}, {X: 29, Y: at.Y}}
		if k == 0 {
			p.Arrow(sample, 2, 8, picture.First)
		} else {
			p.Line(sample, 2, picture.Second)
		}
		p.Label(at, text, picture.Start, picture.SmallSize, picture.Strong)
	}
	return p, nil
}

// linkLabel is what is written on a link: the probability of an arrow's direction, or that the two
// are joined.
func linkLabel(l link) string {
	p := l.joined
	if l.directed {
		p = l.forward
	}
	if p > 0.995 && p < 1 {
		return ">0.99"
	}
	return fmt.Sprintf("%.2f", p)
}
