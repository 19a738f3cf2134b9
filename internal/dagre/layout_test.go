package dagre

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// crosses reports whether the segment from a to b runs through the inside of a box.
func crosses(a, b, middle Point, n Node) bool {
	const inside = 0.5
	from, to := 0.0, 1.0
	for _, axis := range [][4]float64{
		{a.X, b.X - a.X, middle.X - n.Width/2 + inside, middle.X + n.Width/2 - inside},
		{a.Y, b.Y - a.Y, middle.Y - n.Height/2 + inside, middle.Y + n.Height/2 - inside},
	} {
		start, slope, low, high := axis[0], axis[1], axis[2], axis[3]
		if math.Abs(slope) < 1e-12 {
			if start <= low || start >= high {
				return false
			}
			continue
		}
		s, t := (low-start)/slope, (high-start)/slope
		from, to = math.Max(from, math.Min(s, t)), math.Min(to, math.Max(s, t))
	}
	return from < to
}

// random returns a random graph with cycles, isolated nodes and long edges.
func random(nodes, edges int, seed uint64) (list []Node, joined []Edge) {
	source := rand.New(rand.NewPCG(seed, 1))
	for range nodes {
		list = append(list, Node{30 + 60*source.Float64(), 22})
	}
	seen := map[[2]int]bool{}
	for range edges {
		e := Edge{From: source.IntN(nodes), To: source.IntN(nodes), LabelWidth: 24 * float64(source.IntN(2)), LabelHeight: 10, Weight: 1 + source.IntN(5)}
		if e.From != e.To && !seen[[2]int{e.From, e.To}] && !seen[[2]int{e.To, e.From}] {
			seen[[2]int{e.From, e.To}] = true
			joined = append(joined, e)
		}
	}
	return list, joined
}

// TestNothingRunsThroughNodes checks that no edge runs through a node, that no two nodes overlap,
// that edges begin and end at the borders of their nodes, and that all lies inside the drawing.
func TestNothingRunsThroughNodes(t *testing.T) {
	for seed := range uint64(20) {
		nodes, edges := random(4+int(seed), 3+2*int(seed), seed)
		t.Run(fmt.Sprintf("%d nodes, %d edges", len(nodes), len(edges)), func(t *testing.T) {
			d, err := Lay(nodes, edges)
			require.NoError(t, err)
			for a := range nodes {
				for b := range a {
					apartX := math.Abs(d.Nodes[a].X-d.Nodes[b].X) >= (nodes[a].Width+nodes[b].Width)/2
					apartY := math.Abs(d.Nodes[a].Y-d.Nodes[b].Y) >= (nodes[a].Height+nodes[b].Height)/2
					require.True(t, apartX || apartY, "nodes %d and %d", a, b)
				}
			}
			for k, e := range edges {
				route := d.Routes[k]
				require.True(t, onRim(route[0], d.Nodes[e.From], nodes[e.From]))
				require.True(t, onRim(route[len(route)-1], d.Nodes[e.To], nodes[e.To]))
				for s := 1; s < len(route); s++ {
					require.True(t, route[s].X >= 0 && route[s].X <= d.Width && route[s].Y >= 0 && route[s].Y <= d.Height, "%v of %v", route[s], d)
					for j, n := range nodes {
						require.False(t, crosses(route[s-1], route[s], d.Nodes[j], n), "edge %d→%d and node %d", e.From, e.To, j)
					}
				}
			}
		})
	}
}

func onRim(point, middle Point, n Node) bool {
	return math.Abs(math.Abs(point.Y-middle.Y)-n.Height/2) < 1e-9 && math.Abs(point.X-middle.X) <= n.Width/2
}

// TestTheSameEachTime checks that the same graph is drawn in the same way each time.
func TestTheSameEachTime(t *testing.T) {
	nodes, edges := random(12, 20, 3)
	first, err := Lay(nodes, edges)
	require.NoError(t, err)
	second, err := Lay(nodes, edges)
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestNoNodesNoEdges(t *testing.T) {
	d, err := Lay(nil, nil)
	require.NoError(t, err)
	require.Empty(t, d.Nodes)
	d, err = Lay([]Node{{30, 20}, {30, 20}}, nil)
	require.NoError(t, err)
	require.Len(t, d.Nodes, 2)
	require.PanicsWithValue(t, "dagre.Lay: edge from 0 to 0 of 1 nodes is a loop, or there twice, or of no node", func() { _, _ = Lay([]Node{{1, 1}}, []Edge{{From: 0, To: 0}}) })
}

// TestWideDrawingsAreStretched draws a node with many nodes below it. The drawing must be higher
// than its layers need, and its routes must end at the borders of nodes.
func TestWideDrawingsAreStretched(t *testing.T) {
	nodes, edges := make([]Node, 13), make([]Edge, 0, 12)
	for k := range nodes {
		nodes[k] = Node{60, 20}
		if k > 0 {
			edges = append(edges, Edge{From: 0, To: k})
		}
	}
	d, err := Lay(nodes, edges)
	require.NoError(t, err)
	require.Greater(t, d.Nodes[1].Y-d.Nodes[0].Y, 2.5*(layerGap+20))
	for k, e := range edges {
		require.Len(t, d.Routes[k], 2)
		require.True(t, onRim(d.Routes[k][0], d.Nodes[e.From], nodes[e.From]))
		require.True(t, onRim(d.Routes[k][1], d.Nodes[e.To], nodes[e.To]))
	}
}
