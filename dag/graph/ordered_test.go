package graph

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// For all codes of small graphs, A equals PᵀUP as a product of matrices and is acyclic, and every
// graph occurs once for each of its topological orders.
func TestOrderedExhaustively(t *testing.T) {
	for nodes := 2; nodes <= 5; nodes++ {
		o := NewOrdered(nodes)
		reached := map[string]float64{}
		graphs := map[string]*Graph{}
		for _, code := range space.All(o.Cards()) {
			g, err := o.Graph(code)
			require.NoError(t, err)
			reached[g.Key()]++
			graphs[g.Key()] = g
		}
		require.Len(t, reached, int(countGraphs(nodes)))
		for key, count := range reached {
			g := graphs[key]
			require.Equal(t, count, g.Orders(), key)
			order, ok := g.Order()
			require.True(t, ok)
			again, err := o.Graph(o.Code(g, order))
			require.NoError(t, err)
			require.True(t, g.Equal(again))
		}
	}
}

// matrixProduct returns PᵀUP computed from its definition.
func matrixProduct(nodes int, code []int32) [][]bool {
	p, u, a := make([][]int32, nodes), make([][]int32, nodes), make([][]bool, nodes)
	order, _ := DecodeLehmer(nodes, code[:nodes-1])
	next := nodes - 1
	for s := range nodes {
		p[s], u[s], a[s] = make([]int32, nodes), make([]int32, nodes), make([]bool, nodes)
		p[s][order[s]] = 1
		for t := s + 1; t < nodes; t++ {
			u[s][t] = code[next]
			next++
		}
	}
	for i := range nodes {
		for j := range nodes {
			for s := range nodes {
				for t := range nodes {
					a[i][j] = a[i][j] || p[s][i]*u[s][t]*p[t][j] != 0
				}
			}
		}
	}
	return a
}

func TestAdjacencyInAGraph(t *testing.T) {
	backend := testkit.Backend(t)
	for _, nodes := range []int{2, 3, 4} {
		o := NewOrdered(nodes)
		var codes [][]int32
		for _, code := range space.All(o.Cards()) {
			codes = append(codes, append([]int32(nil), code...))
		}
		output, err := graph.ExecOnce(backend, o.Adjacency, codes)
		require.NoError(t, err)
		got := output.Value().([][][]bool)
		for b, code := range codes {
			require.Equal(t, matrixProduct(nodes, code), got[b])
			g, err := o.Graph(code)
			require.NoError(t, err)
			for i := range nodes {
				for j := range nodes {
					require.Equal(t, g.Has(i, j), got[b][i][j])
				}
			}
		}
	}
}

// Graphs of random codes over more nodes are acyclic, and the digits have the numbers of values
// that appendix F.7 of Davies et al. (2025) states.
func TestOrderedIsAcyclic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 20).Draw(t, "nodes")
		o := NewOrdered(nodes)
		cards := o.Cards()
		require.Len(t, cards, nodes-1+nodes*(nodes-1)/2)
		code := make([]int32, len(cards))
		for site, card := range cards {
			code[site] = int32(rapid.IntRange(0, card-1).Draw(t, "outcome"))
		}
		g, err := o.Graph(code)
		require.NoError(t, err)
		order, ok := g.Order()
		require.True(t, ok)
		require.Nil(t, g.Cycle())
		again, err := o.Graph(o.Code(g, order))
		require.NoError(t, err)
		require.True(t, g.Equal(again))
	})
}

func TestOrderedErrors(t *testing.T) {
	o := NewOrdered(3)
	_, err := o.Graph([]int32{0, 0, 0})
	require.ErrorContains(t, err, "got 3 sites, want 5")
	_, err = o.Graph([]int32{0, 0, 0, 2, 0})
	require.ErrorContains(t, err, "site 3 of the code: got 2, want 0 or 1")
	g := NewGraph(3)
	g.Set(0, 1, true)
	require.Panics(t, func() { o.Code(g, []int{1, 0, 2}) })
	require.Panics(t, func() { NewOrdered(1) })
}

// The number of acyclic graphs by Robinson's formula (1973) agrees with known values and with an
// enumeration.
func TestCountGraphs(t *testing.T) {
	for n, want := range []float64{1, 1, 3, 25, 543, 29281, 3781503, 1138779265} {
		require.Equal(t, want, countGraphs(n))
		if n > 5 {
			continue
		}
		families := make([][]Set, n)
		for j := range families {
			for set := range subsets((1<<n - 1) &^ (1 << j)) {
				families[j] = append(families[j], lowSet(set))
			}
		}
		count := 0.0
		testkit.EachGraph(families, func(parents []Set) bool {
			count++
			return true
		})
		require.Equal(t, want, count)
	}
}

// FuzzOrdered checks that the graph of any code has no cycle, that encoding it along the order of
// the code restores the code, and that an invalid code is refused.
func FuzzOrdered(f *testing.F) {
	f.Add(uint8(3), []byte{2, 1, 1, 0, 1})
	f.Add(uint8(6), []byte{5, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Add(uint8(2), []byte{7, 9})
	f.Fuzz(func(t *testing.T, size uint8, bytes []byte) {
		nodes := 2 + int(size%11)
		ordered := NewOrdered(nodes)
		code, valid := make([]int32, len(ordered.Cards())), true
		for site, card := range ordered.Cards() {
			if site < len(bytes) {
				code[site] = int32(int8(bytes[site]))
			}
			valid = valid && code[site] >= 0 && int(code[site]) < card
		}
		g, err := ordered.Graph(code)
		require.Equal(t, valid, err == nil)
		if !valid {
			return
		}
		require.Nil(t, g.Cycle())
		order, err := DecodeLehmer(nodes, code[:nodes-1])
		require.NoError(t, err)
		require.Equal(t, code, ordered.Code(g, order))
	})
}

// countGraphs returns the number of acyclic graphs over n nodes (Robinson 1973). It is exact up to
// 8 nodes and rounded above.
func countGraphs(n int) float64 {
	counts := make([]float64, n+1)
	counts[0] = 1
	for m := 1; m <= n; m++ {
		binomial := 1.0
		for k := 1; k <= m; k++ {
			binomial *= float64(m-k+1) / float64(k)
			term := binomial * math.Ldexp(counts[m-k], k*(m-k))
			if k%2 == 1 {
				counts[m] += term
			} else {
				counts[m] -= term
			}
		}
	}
	return counts[n]
}
