package rjmcmc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/lab/testkit"
)

// Impossible sizes are refused before any allocation, with the memory that they need in the error.
// Sizes of large runs are accepted.
func TestSizesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{Chains: 1e12}, "Chains 1000000000000 with Temperatures 1 needs at least"},
		{Config{Chains: 1e9, Temperatures: 1e9}, "Temperatures 1000000000 needs at least"},
		{Config{Chains: 2, Iterations: 1e15}, "every 5-th of Iterations 1000000000000000 of Chains 2 needs at least"},
	} {
		assert.ErrorContains(t, c.cfg.Validate(), c.says)
	}
	assert.NoError(t, Config{Chains: 4096, Iterations: 20000, Temperatures: 8}.Validate())

	// These draws fit in memory for models of one coordinate, but not of five.
	l := correlatedLinear(t)
	draws := int(memory.Total() / 30)
	cfg := Config{Chains: 1, Iterations: draws, Thin: 1}
	assert.NoError(t, cfg.Validate())
	_, err := Run(context.Background(), testkit.Backend(t), l, cfg)
	assert.ErrorContains(t, err, "needs at least")
}
