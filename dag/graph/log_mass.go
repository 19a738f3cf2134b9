package graph

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/internal/logsum"
)

// mostSummedNodes is the largest number of nodes for which LogMass sums a prior that treats nodes
// differently. With more nodes such a sum takes longer than a second.
const mostSummedNodes = 10

// LogMass returns the log of the sum of the prior weights of all graphs that the structure allows.
// With the prior over orders a graph counts once for each topological order. LogMass returns NaN
// for priors and constraints that treat nodes differently if there are more than 10 nodes.
func (s Structure) LogMass() float64 {
	if s.Prior.ByEdge != nil || s.constrained() { // prior or constraints do not treat all nodes alike
		if s.Nodes > mostSummedNodes {
			return math.NaN()
		}
		families := s.Families()
		return s.Sum(families, make([]float64, len(families)), func(int, int) bool { return true }).LogTotal()
	}
	sets := make([]float64, s.Nodes) // log of the total weight of all sets of parents among 0, 1, … nodes
	for nodes := range sets {
		sets[nodes] = math.Inf(-1)
		for size := 0; size <= nodes && (s.MaxParents < 0 || size <= s.MaxParents); size++ {
			weight := combin.LogGeneralizedBinomial(float64(nodes), float64(size))
			if s.Prior.BySize != nil {
				weight += s.Prior.BySize[size]
			}
			sets[nodes] = logsum.Add(sets[nodes], weight)
		}
	}
	if s.Orders {
		sum := 0.0
		for nodes := range sets {
			sum += sets[nodes] + math.Log(float64(nodes+1))
		}
		return sum
	}
	return logLayers(s.Nodes, sets)
}

// logLayers returns the log of the sum of the weights of all graphs, computed by layers. The first
// layer has the nodes without parents. Every other node has a parent in the layer before its own,
// and all its parents are in earlier layers. sets[m] is the log of the total weight of sets of
// parents among m nodes.
func logLayers(nodes int, sets []float64) float64 {
	// last[n][k] is the log of the sum over graphs of n nodes with k nodes in the last layer.
	last := make([][]float64, nodes+1)
	for n := 1; n <= nodes; n++ {
		last[n] = make([]float64, n+1)
		for k := 1; k <= n; k++ {
			last[n][k] = math.Inf(-1)
			if k == n {
				last[n][k] = float64(k) * sets[0]
			}
			for before := 1; before <= n-k; before++ {
				// log of the total weight of sets with a parent in the layer before
				touching := sets[n-k] + math.Log(-math.Expm1(sets[n-k-before]-sets[n-k]))
				last[n][k] = logsum.Add(last[n][k], last[n-k][before]+combin.LogGeneralizedBinomial(float64(n), float64(k))+float64(k)*touching)
			}
		}
	}
	return logsum.Of(last[nodes][1:])
}

func (s Structure) constrained() bool {
	for j := range s.Nodes {
		if !s.Required[j].Empty() || s.Allowed[j] != Below(s.Nodes).Without(j) {
			return true
		}
	}
	return false
}

// Free reports whether all graphs are possible.
func (s Structure) Free() bool {
	return !s.constrained() && (s.MaxParents < 0 || s.MaxParents >= s.Nodes-1)
}
