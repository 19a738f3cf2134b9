package dagre

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/rank"
)

// band is the vertical range of a layer of nodes.
type band struct{ top, bottom float64 }

// bands returns the layers of nodes. Nodes whose centres are at one height are in one layer.
func (d *Drawing) bands(nodes []Node) (list []band) {
	order := rank.Order(len(nodes), func(a, b int) int { return cmp.Compare(d.Nodes[a].Y, d.Nodes[b].Y) })
	for _, k := range order {
		top, bottom := d.Nodes[k].Y-nodes[k].Height/2, d.Nodes[k].Y+nodes[k].Height/2
		if n := len(list); n > 0 && top < list[n-1].bottom {
			list[n-1].top, list[n-1].bottom = math.Min(list[n-1].top, top), math.Max(list[n-1].bottom, bottom)
			continue
		}
		list = append(list, band{top, bottom})
	}
	return list
}

// clearance is the distance above and below a layer of nodes within which edges run straight.
const clearance = 4

// port is a point at which an edge meets a box.
type port struct {
	edge  int
	first bool    // whether it is the first point of the edge
	next  float64 // x coordinate of the edge's next point
}

// route finds the routes of edges from the positions that dagre keeps free for them.
func (d *Drawing) route(nodes []Node, edges []Edge, found []path) {
	bands := d.bands(nodes)
	d.Routes, d.Labels = make([][]Point, len(edges)), make([]Point, len(edges))
	ports := map[[2]int][]port{} // key: node and its side, 0 above and 1 below
	for k, e := range edges {
		d.Labels[k] = found[k].Point
		points := found[k].Points
		inner := points[min(1, len(points)):max(1, len(points)-1)]
		for _, point := range inner {
			pair := through(bands, point, d.Nodes[e.From].Y < d.Nodes[e.To].Y)
			switch {
			case pair != nil:
				d.Routes[k] = append(d.Routes[k], pair...)
			case e.LabelWidth > 0: // an edge without a label has no obstacle between two layers
				d.Routes[k] = append(d.Routes[k], point)
			}
		}
		for end, node := range []int{e.From, e.To} {
			other := d.Nodes[edges[k].To]
			if end == 1 {
				other = d.Nodes[edges[k].From]
			}
			next := other.X
			if n := len(d.Routes[k]); n > 0 {
				next = d.Routes[k][end*(n-1)].X
			}
			side := 0
			if other.Y > d.Nodes[node].Y {
				side = 1
			}
			ports[[2]int{node, side}] = append(ports[[2]int{node, side}], port{k, end == 0, next})
		}
	}
	starts, ends := make([]Point, len(edges)), make([]Point, len(edges))
	for key, list := range ports {
		slices.SortFunc(list, func(a, b port) int { return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.edge, b.edge)) })
		node, side := key[0], float64(key[1])
		for place, p := range list {
			share := (float64(place)+1)/float64(len(list)+1) - 0.5
			point := Point{d.Nodes[node].X + share*nodes[node].Width*0.7, d.Nodes[node].Y + (side-0.5)*nodes[node].Height}
			if p.first {
				starts[p.edge] = point
			} else {
				ends[p.edge] = point
			}
		}
	}
	for k := range edges {
		d.Routes[k] = slices.Concat([]Point{starts[k]}, d.Routes[k], []Point{ends[k]})
		d.Routes[k] = rounded(straightened(d.Routes[k]))
	}
}

// through returns the two points between which a route runs straight through the layer of nodes at
// the height of point, a point of the route. It returns nil if point lies in no layer.
func through(bands []band, point Point, down bool) []Point {
	for _, b := range bands {
		if point.Y > b.top-clearance && point.Y < b.bottom+clearance {
			pair := []Point{{point.X, b.top - clearance}, {point.X, b.bottom + clearance}}
			if !down {
				slices.Reverse(pair)
			}
			return pair
		}
	}
	return nil
}

// straightened removes points that lie on the line between their neighbours.
func straightened(points []Point) []Point {
	kept := points[:1:1]
	for k := 1; k+1 < len(points); k++ {
		a, b, c := kept[len(kept)-1], points[k], points[k+1]
		if math.Abs((b.X-a.X)*(c.Y-a.Y)-(c.X-a.X)*(b.Y-a.Y)) > 1e-6 {
			kept = append(kept, b)
		}
	}
	return append(kept, points[len(points)-1])
}

// rounded replaces corners by arcs. Each arc begins and ends at most 9 units from the corner.
func rounded(points []Point) []Point {
	const corner, steps = 9.0, 6
	out := points[:1:1]
	for k := 1; k+1 < len(points); k++ {
		point := points[k]
		before, after := toward(point, points[k-1], corner), toward(point, points[k+1], corner)
		for s := range steps + 1 {
			t := float64(s) / steps
			out = append(out, Point{
				(1-t)*(1-t)*before.X + 2*t*(1-t)*point.X + t*t*after.X,
				(1-t)*(1-t)*before.Y + 2*t*(1-t)*point.Y + t*t*after.Y,
			})
		}
	}
	return append(out, points[len(points)-1])
}

// toward returns a point on the line from a to b. The argument way is its distance from a, which is
// reduced to half of the distance from a to b if it is larger.
func toward(a, b Point, way float64) Point {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if length == 0 {
		return a
	}
	share := math.Min(0.5, way/length)
	return Point{a.X + share*(b.X-a.X), a.Y + share*(b.Y-a.Y)}
}
