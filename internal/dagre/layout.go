package dagre

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dop251/goja"
)

//go:embed dagre.min.js
var source string

var program = sync.OnceValues(func() (*goja.Program, error) { return goja.Compile("dagre.min.js", source, false) })

// Point is a point of the drawing; y grows downward.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Node is the size of a node, which is drawn as a box.
type Node struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Edge joins two nodes, given by their indices. Edges with a larger Weight are kept shorter and
// straighter; 0 stands for 1.
type Edge struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Weight int `json:"weight"`
	// LabelWidth and LabelHeight are the size of the space kept free for a label of the edge.
	LabelWidth  float64 `json:"width"`
	LabelHeight float64 `json:"height"`
}

// Drawing holds the positions of all nodes, edges and labels of a drawing.
type Drawing struct {
	Width, Height float64
	// Nodes holds the centres of the boxes.
	Nodes []Point
	// Routes holds a polyline from box to box for each edge, in the order of the edges. Labels
	// holds the centres of the edges' labels.
	Routes [][]Point
	Labels []Point
}

// These are distances in the unit in which sizes of nodes are given. nodeGap leaves room for the
// rounded corners of an edge that passes between two nodes.
const (
	nodeGap  = 22
	edgeGap  = 14
	layerGap = 34
	margin   = 6
)

// input is the graph that the script below lays out.
type input struct {
	Nodes []Node     `json:"nodes"`
	Edges []Edge     `json:"edges"`
	Gaps  [4]float64 `json:"gaps"`
}

// layout is the output of the script: the positions of nodes and edges. The position of an edge is
// the centre of its label.
type layout struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Nodes  []Point `json:"nodes"`
	Edges  []path  `json:"edges"`
}

type path struct {
	Point
	Points []Point `json:"points"`
}

// missing defines the functions of a browser that dagre needs and goja lacks. The values that dagre
// copies are plain objects of numbers and texts, so JSON can copy them.
const missing = `globalThis.structuredClone = value => value === undefined ? undefined : JSON.parse(JSON.stringify(value));`

const script = `(function (text) {
  const input = JSON.parse(text);
  const g = new dagre.graphlib.Graph();
  g.setGraph({nodesep: input.gaps[0], edgesep: input.gaps[1], ranksep: input.gaps[2], marginx: input.gaps[3], marginy: input.gaps[3]});
  input.nodes.forEach((n, k) => g.setNode(String(k), {width: n.width, height: n.height}));
  input.edges.forEach(e => g.setEdge(String(e.from), String(e.to), {weight: e.weight, width: e.width, height: e.height, labelpos: 'c'}));
  dagre.layout(g);
  return JSON.stringify({
    width: g.graph().width, height: g.graph().height,
    nodes: input.nodes.map((_, k) => g.node(String(k))),
    edges: input.edges.map(e => g.edge(String(e.from), String(e.to))),
  });
})`

// Lay places a graph. No two edges may join the same two nodes in the same direction, and no edge
// may join a node with itself.
func Lay(nodes []Node, edges []Edge) (*Drawing, error) {
	in := input{Nodes: nodes, Edges: []Edge{}, Gaps: [4]float64{nodeGap, edgeGap, layerGap, margin}}
	seen := map[[2]int]bool{}
	for _, e := range edges {
		if e.From < 0 || e.From >= len(nodes) || e.To < 0 || e.To >= len(nodes) || e.From == e.To || seen[[2]int{e.From, e.To}] {
			panic(fmt.Sprintf("dagre.Lay: edge from %d to %d of %d nodes is a loop, or there twice, or of no node", e.From, e.To, len(nodes)))
		}
		seen[[2]int{e.From, e.To}] = true
		e.Weight = max(1, e.Weight)
		in.Edges = append(in.Edges, e)
	}
	if len(nodes) == 0 {
		return &Drawing{}, nil
	}
	out, err := call(in)
	if err != nil {
		return nil, fmt.Errorf("laying out a graph of %d nodes and %d edges: %w", len(nodes), len(edges), err)
	}
	d := &Drawing{Width: out.Width, Height: out.Height, Nodes: out.Nodes}
	d.stretch(out.Edges)
	d.route(nodes, edges, out.Edges)
	d.widen()
	return d, nil
}

// widen extends the drawing to include routes that dagre does not count in its size, the routes of
// edges without labels.
func (d *Drawing) widen() {
	left, right := float64(margin), d.Width-margin
	for _, route := range d.Routes {
		for _, point := range route {
			left, right = math.Min(left, point.X), math.Max(right, point.X)
		}
	}
	for _, places := range slices.Concat([][]Point{d.Nodes, d.Labels}, d.Routes) {
		for k := range places {
			places[k].X += margin - left
		}
	}
	d.Width = right - left + 2*margin
}

// Drawings wider than pageShape times their height are stretched vertically, by a factor of at most
// mostStretch. In a wide drawing, edges between neighbouring layers are nearly level and hard to
// distinguish.
const (
	pageShape   = 1.4
	mostStretch = 3
)

// stretch moves layers apart, and with them the edges that lead from one layer to the next.
func (d *Drawing) stretch(edges []path) {
	by := math.Min(mostStretch, d.Width/(pageShape*d.Height))
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, point := range d.Nodes {
		top, bottom = math.Min(top, point.Y), math.Max(bottom, point.Y)
	}
	if by <= 1 || top == bottom {
		return
	}
	move := func(y *float64) { *y = top + (*y-top)*by }
	d.Height += (by - 1) * (bottom - top)
	for k := range d.Nodes {
		move(&d.Nodes[k].Y)
	}
	for k := range edges {
		move(&edges[k].Y)
		for i := range edges[k].Points {
			move(&edges[k].Points[i].Y)
		}
	}
}

func call(in input) (*layout, error) {
	compiled, err := program()
	if err != nil {
		return nil, err
	}
	vm := goja.New()
	if _, err := vm.RunString(missing); err != nil {
		return nil, err
	}
	if _, err := vm.RunProgram(compiled); err != nil {
		return nil, err
	}
	value, err := vm.RunString(script)
	if err != nil {
		return nil, err
	}
	function, _ := goja.AssertFunction(value)
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	result, err := function(goja.Undefined(), vm.ToValue(string(text)))
	if err != nil {
		return nil, err
	}
	out := new(layout)
	return out, json.Unmarshal([]byte(result.String()), out)
}
