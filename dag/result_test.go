package dag

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
)

// A result of more than 128 nodes lists only pairs that an edge joins with a probability of at
// least 0.01, in either direction. The expected number of edges counts all pairs. A result of 128
// nodes lists all pairs.
func TestListedPairs(t *testing.T) {
	for nodes, listed := range map[int]int{dgraph.ManyNodes + 1: 2, dgraph.ManyNodes: dgraph.ManyNodes * (dgraph.ManyNodes - 1) / 2} {
		p := &score.Problem{Data: &tables.Data{}}
		for j := range nodes {
			p.Data.Names = append(p.Data.Names, fmt.Sprint("x", j))
		}
		found := graphEstimates{edges: dgraph.Zeros(nodes), edgeErrors: dgraph.Zeros(nodes)}
		found.edges[0][1] = 0.02
		found.edges[2][5], found.edges[5][2] = 0.004, 0.007
		found.edges[3][4] = 0.009
		var r Result
		fillEdges(p, &r, found)
		require.Len(t, r.Edges, listed)
		require.InDelta(t, 0.04, float64(r.ExpectedEdges), 1e-12)
	}
}
