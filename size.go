package vti

import (
	"fmt"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/space"
)

// checkSize refuses a configuration, defaults and the sizes of the flow filled in, whose training
// needs more memory than the machine has: for each weight its value, its gradient and two moments
// of Adam; for each draw of a batch all that its gradient needs.
func (c Config) checkSize(sp space.Space) error {
	size := float64(c.DType.Size())
	numbers := c.Flow.RowNumbers() + float64(sp.Dim()) // and z
	rows := float64(c.Batch) * (size*numbers + 8*float64(len(sp.Cards())))
	what := fmt.Sprintf("vti.Config: Batch %d with a flow of %s of %d hidden units", c.Batch, english.Count(c.Flow.Layers, "layer"), c.Flow.Hidden)
	return memory.Check(what, 4*size*c.Flow.Weights()+rows)
}

// CheckSize refuses numbers of draws and models that do not fit in the memory of this machine, for
// the posterior of a target. Certify calls it; callers that train first can call it before.
func (c CertifyConfig) CheckSize(target Target) error {
	c = c.withDefaults()
	if c.Draws < 0 || c.MaxModels < 0 {
		return fmt.Errorf("vti.CertifyConfig: got %d draws and at most %d models, want none of them negative", c.Draws, c.MaxModels)
	}
	sp := target.Space()
	draw := 8 * (3 + 5) // the slice of a code, both densities, weights and the number of the model
	if known := knownOf(target).Evidences; known == nil || !known.Exact() {
		draw += 8 * sp.Dim()
	}
	if err := memory.Check(fmt.Sprintf("vti.CertifyConfig: Draws %d", c.Draws), float64(c.Draws)*float64(draw)); err != nil {
		return err
	}
	count, ok := space.Count(sp)
	if !ok || count > c.MaxModels {
		return nil
	}
	model := 8*11 + 4*len(sp.Cards()) // a ModelEstimate and its code
	return memory.Check(fmt.Sprintf("vti.CertifyConfig: MaxModels %d, which lists %d models,", c.MaxModels, count), float64(count)*float64(model))
}
