package space

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/apply"
)

// Featurer is a Space with its own description of models as inputs (features) of neural networks.
type Featurer interface {
	Space
	// FeatureDim returns C, the number of features.
	FeatureDim() int
	// Features returns inputs of a network for B models: codes [B, S] int32 -> [B, C] of dtype.
	Features(codes *graph.Node, dtype dtypes.DType) *graph.Node
}

// FeatureDimOf returns C, the number of inputs of a network for a model of a space, see [Features].
func FeatureDimOf(s Space) int {
	if featurer, ok := s.(Featurer); ok {
		return featurer.FeatureDim()
	}
	return FeatureDim(s.Cards())
}

// FeatureDim returns C, the number of inputs that [FeaturesOf] makes: the sum over the sites
// (digits) of a code of the number of outcomes, where a site with two outcomes counts 1.
func FeatureDim(cards []int) int {
	dim := 0
	for _, card := range cards {
		if card == 2 {
			dim++
		} else {
			dim += card
		}
	}
	return dim
}

// Features returns the inputs of a network for B models: codes [B, S] int32 -> [B, C] of the given
// float dtype. Unless the space is a [Featurer], a site (digit) with two outcomes has one input,
// its outcome 0 or 1, and any other site has the one-hot encoding of its outcome.
func Features(s Space, codes *graph.Node, dtype dtypes.DType) *graph.Node {
	if featurer, ok := s.(Featurer); ok {
		return featurer.Features(codes, dtype)
	}
	return FeaturesOf(s.Cards(), codes, dtype)
}

// FeaturesOf is [Features] for a space given by the number of outcomes of each site.
func FeaturesOf(cards []int, codes *graph.Node, dtype dtypes.DType) *graph.Node {
	AssertCodes("space.Features", codes, len(cards))
	// Feature c is 1 if site sites[c] has outcome outcomes[c], and 0 otherwise.
	var sites, outcomes []int32
	for site, card := range cards {
		for outcome := range card {
			if card == 2 && outcome == 0 {
				continue
			}
			sites = append(sites, int32(site))
			outcomes = append(outcomes, int32(outcome))
		}
	}
	on := graph.Equal(TakeColumns(codes, sites), graph.Const(codes.Graph(), [][]int32{outcomes}))
	return graph.ConvertDType(on, dtype)
}

// TakeColumns returns columns of x [B, N] by their indices, [B, len(columns)]. An index may repeat.
func TakeColumns(x *graph.Node, columns []int32) *graph.Node {
	if slices.Equal(columns, apply.UpTo(x.Shape().Dim(1), func(i int) int32 { return int32(i) })) {
		return x
	}
	index := graph.InsertAxes(graph.Const(x.Graph(), columns), -1)
	return graph.Transpose(graph.Gather(graph.Transpose(x, 0, 1), index), 0, 1)
}
