package space

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// Space is a finite set of models, each with a code of S categorical variables (sites). The
// parameters of all models are coordinates of one vector of length D.
type Space interface {
	// Cards returns the number of outcomes of each of the S sites. Callers must not change the
	// slice.
	Cards() []int
	// Dim returns D, the number of coordinates of the parameters of all models.
	Dim() int
	// Mask returns, in a computation graph, which coordinates each model uses: codes [B, S] int32
	// -> [B, D] Bool. It panics with an error when codes has another shape or dtype.
	Mask(codes *graph.Node) *graph.Node
}

// RowMasker is a [Space] that can also compute which coordinates a model uses in plain Go.
type RowMasker interface {
	Space
	// MaskRow sets dst[d] (length D) to whether code (length S) uses coordinate d, and returns dst.
	// If dst is nil it is allocated. It panics when a length is wrong or an outcome does not exist.
	MaskRow(code []int32, dst []bool) []bool
}

// CheckCards returns an error unless there are sites (digits), each with at least one outcome.
func CheckCards(cards []int) error {
	if len(cards) == 0 {
		return fmt.Errorf("space: want at least one site, got none")
	}
	for site, card := range cards {
		if card < 1 || card > maxCard {
			return fmt.Errorf("space: site %d has %d outcomes, want 1 to %d", site, card, maxCard)
		}
	}
	return nil
}

// AssertCodes panics unless codes has shape [B, sites] int32. The error begins with the argument
// named where.
func AssertCodes(where string, codes *graph.Node, sites int) {
	if codes.DType() != dtypes.Int32 || codes.Rank() != 2 || codes.Shape().Dim(1) != sites {
		panic(fmt.Errorf("%s: want codes of shape [B, %d] and dtype Int32, got %s", where, sites, codes.Shape()))
	}
}
