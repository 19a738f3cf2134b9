package graph

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
)

// FamilyPrior is the prior weight of a graph A, a product over nodes j with parents pa_j: p(A) ∝
// Π_j exp(BySize[|pa_j|] + Σ_{i ∈ pa_j} ByEdge[i][j]). The zero value is uniform.
type FamilyPrior struct {
	// BySize is the log weight of a node's set of parents, by number of parents [N]; nil for zeros.
	BySize []float64
	// ByEdge is the log odds of each edge, by cause and effect [N][N]; nil for zeros.
	ByEdge [][]float64
}

// PenaltyPrior returns the prior in which a graph has the weight exp(−λ · number of edges).
func PenaltyPrior(nodes int, lambda float64) FamilyPrior {
	if lambda == 0 {
		return FamilyPrior{}
	}
	return FamilyPrior{BySize: apply.UpTo(nodes, func(k int) float64 { return -lambda * float64(k) })}
}

// SparsePrior returns the prior that is uniform over the number of parents of a node, and then
// uniform over the sets of this size: 1/C(N−1, k) for each set of k parents (Friedman and Koller
// 2003, section 3.2). All graphs of an equivalence class have the same list of numbers of parents,
// up to the order of the nodes, and so the same weight.
func SparsePrior(nodes int) FamilyPrior {
	p := FamilyPrior{BySize: make([]float64, nodes)}
	for k := 1; k < nodes; k++ { // C(N−1, k) = C(N−1, k−1) (N−k)/k
		p.BySize[k] = p.BySize[k-1] - math.Log(float64(nodes-k)/float64(k))
	}
	return p
}

// LogWeight returns the log weight of node j with a set of parents.
func (p FamilyPrior) LogWeight(j int, parents Set) (sum float64) {
	if p.BySize != nil {
		sum = p.BySize[parents.Len()]
	}
	if p.ByEdge != nil {
		for i := range parents.Nodes() {
			sum += p.ByEdge[i][j]
		}
	}
	return sum
}

// Power returns the prior with all weights raised to a power.
func (p FamilyPrior) Power(power float64) (out FamilyPrior) {
	scaled := func(values []float64) (list []float64) {
		for _, x := range values {
			list = append(list, power*x)
		}
		return list
	}
	out.BySize = scaled(p.BySize)
	for _, row := range p.ByEdge {
		out.ByEdge = append(out.ByEdge, scaled(row))
	}
	return out
}

func (p FamilyPrior) finite() bool {
	all := append(slices.Concat(p.ByEdge...), p.BySize...)
	return !slices.ContainsFunc(all, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}
