package vti

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// Start says what a fit starts from.
type Start int

const (
	// PilotStart: the flow is its anchor, a normal approximation, and q(m) what a pilot run with
	// that flow finds (pilot.go).
	PilotStart Start = iota
	// AnchorStart: the flow is its anchor, and q(m) stays at its own start, which is p(m) for a
	// table.
	AnchorStart
	// IdentityStart, as in the paper: the flow is the identity, without any anchor, and q(m) stays
	// at its own start.
	IdentityStart
)

var starts = enum.New[Start]("start", "pilot", "anchor", "identity")

// String returns the name.
func (s Start) String() string { return starts.String(s) }

// MarshalText writes the name.
func (s Start) MarshalText() ([]byte, error) { return starts.Marshal(s) }

// UnmarshalText reads what MarshalText wrote.
func (s *Start) UnmarshalText(text []byte) error { return starts.Unmarshal(text, s) }

// largestModel finds, site by site, the outcome that switches on most coordinates.
func largestModel(sp space.RowMasker) (code []int32, mask []bool) {
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

// logPriors evaluates log p(m) of every model in the order of its index, in chunks. It returns nil,
// for a uniform start, if the models cannot be listed.
func logPriors(device *gpu.Device, target Target) ([]float64, error) {
	cards := target.Space().Cards()
	count, ok := space.CountCodes(cards)
	if !ok || count > modeldist.DefaultLimit {
		return nil, nil
	}
	exec, err := NewExec(device.Backend(), func(index *Node) *Node {
		return evaluate.Float64(evaluate.LogPrior(target, space.Codes(cards, index)))
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

// Beginning is q(m) q(θ | m) that a fit starts from instead of the prior and its own anchor, as a
// network for many data sets says it of one (package amortize).
type Beginning struct {
	// LogModels is log q(m) of all models, in the order of their index.
	LogModels []float64
	// Flow is the family of q(θ | m), and Weights holds its variables.
	Flow    cosmic.Config
	Weights *context.Context
}

// models is q(m), as a table, where log p(m) of the same models does not exclude them.
func (b *Beginning) models(cards []int, logPrior []float64) (ModelDistribution, error) {
	logits := make([]float64, len(b.LogModels))
	for i, value := range b.LogModels {
		logits[i] = value
		if logPrior != nil && !finite(logPrior[i]) {
			logits[i] = logPrior[i]
		}
	}
	return modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logits})
}

// copyWeights puts the weights of the flow into the variables of a fit that has none.
func (b *Beginning) copyWeights(into *context.Context) error {
	for variable := range b.Weights.InAbsPath("/" + evaluate.FlowScope).IterVariablesInScope() {
		clone, err := evaluate.Clone(variable)
		if err != nil {
			return err
		}
		into.InAbsPath(variable.Scope()).Checked(false).VariableWithValue(variable.Name(), clone).SetTrainable(variable.Trainable)
	}
	return nil
}
