package vti

import (
	gocontext "context"
	"fmt"
	"slices"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/laplace"
	"github.com/transdim/vti/space"
)

// Laplace finds, for each model of codes, a mode of log p(y, θ | m) near start [D] and the
// second-order expansion of the log density there. A [QuadraticTarget] can use the results to give
// every model a separate expansion. Precision and Linear are nil for a model without a mode with a
// negative definite Hessian. If ctx is cancelled, Laplace returns an error that wraps ctx.Err().
func Laplace(ctx gocontext.Context, device *gpu.Device, target Target, codes [][]int32, start []float64) ([]LaplaceApproximation, error) {
	masker, ok := target.Space().(space.RowMasker)
	if !ok || len(start) != target.Space().Dim() {
		return nil, fmt.Errorf("vti.Laplace: got a space %T and a start of %s, want one with masks of single models (space.RowMasker) and %d", target.Space(), english.Count(len(start), "coordinate"), target.Space().Dim())
	}
	on, err := laplace.On(device, target, knownOf(target).Expand, len(start))
	if err != nil {
		return nil, err
	}
	found := make([]LaplaceApproximation, len(codes))
	for i, code := range codes {
		active := laplace.Active(masker.MaskRow(code, make([]bool, len(start))))
		if found[i].Precision, found[i].Linear, _, err = on.Climb(ctx, code, active, slices.Clone(start)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// LaplaceApproximation is the normal distribution proportional to exp(−½ θᵀHθ + bᵀθ) that has the
// mode and the curvature of a log density. Precision is H [D·D], row-major. The row and the column
// of an inactive coordinate j are 0 except H_jj = 1. Linear is b [D].
type LaplaceApproximation struct{ Precision, Linear []float64 }
