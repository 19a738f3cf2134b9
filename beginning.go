package vti

import (
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/modeldist"
)

// Beginning is q(m) q(θ | m) that a fit starts from instead of the prior and its own anchor: the
// answer of an amortized network for a data set ([Amortized.Beginning]).
type Beginning struct {
	logModels []float64     // log q(m) of all models, in the order of their index
	flow      cosmic.Config // of q(θ | m)
	weights   *context.Context
}

// LogModels is log q(m) of all models by the network, in the order of their index.
func (b *Beginning) LogModels() []float64 { return b.logModels }

// models is q(m), as a table, where log p(m) of the same models does not exclude them.
func (b *Beginning) models(cards []int, logPrior []float64) (ModelDistribution, error) {
	logits := make([]float64, len(b.logModels))
	for i, value := range b.logModels {
		logits[i] = value
		if logPrior != nil && !finite(logPrior[i]) {
			logits[i] = logPrior[i]
		}
	}
	return modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logits})
}

// copyWeights puts the weights of the flow into the variables of a fit that has none.
func (b *Beginning) copyWeights(into *context.Context) error {
	for variable := range b.weights.InAbsPath("/" + flowScope).IterVariablesInScope() {
		clone, err := cloneOf(variable)
		if err != nil {
			return err
		}
		into.InAbsPath(variable.Scope()).Checked(false).VariableWithValue(variable.Name(), clone).SetTrainable(variable.Trainable)
	}
	return nil
}

// cloneOf is a copy of the value of a variable.
func cloneOf(variable *context.Variable) (*tensors.Tensor, error) {
	value, err := variable.Value()
	if err != nil {
		return nil, err
	}
	return value.LocalClone()
}
