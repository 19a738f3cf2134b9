package evaluate

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// LargestModel returns the code of a model with many coordinates, and the mask of these
// coordinates. It chooses the outcome that adds the most coordinates, for one site after the other.
func LargestModel(sp space.RowMasker) (code []int32, mask []bool) {
	cards := sp.Cards()
	code, mask = make([]int32, len(cards)), make([]bool, sp.Dim())
	for site, card := range cards {
		best, most := int32(0), -1
		for outcome := range int32(card) {
			code[site] = outcome
			active := 0
			for _, on := range sp.MaskRow(code, mask) {
				if on {
					active++
				}
			}
			if active > most {
				best, most = outcome, active
			}
		}
		code[site] = best
	}
	return code, sp.MaskRow(code, mask)
}

// LogPriors evaluates log p(m) of every model in the order of its index, in chunks. If there are
// too many models to list, it returns nil. Training of q(m) then starts from equal probabilities.
func LogPriors(device *gpu.Device, target Target) ([]float64, error) {
	cards := target.Space().Cards()
	count, ok := space.CountCodes(cards)
	if !ok || count > modeldist.DefaultLimit {
		return nil, nil
	}
	exec, err := graph.NewExec(device.Backend(), func(index *graph.Node) *graph.Node {
		return Float64(LogPrior(target, space.Codes(cards, index)))
	})
	if err != nil {
		return nil, err
	}
	chunk := min(count, 1<<14)
	index, values := make([]int32, chunk), make([]float64, 0, count)
	for start := 0; start < count; start += chunk {
		for i := range index {
			index[i] = int32(min(start+i, count-1))
		}
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(index) })
		if err != nil {
			return nil, fmt.Errorf("evaluating the prior over models: %w", err)
		}
		values = append(values, tensors.MustCopyFlatData[float64](outputs[0])[:min(chunk, count-start)]...)
	}
	return values, nil
}
