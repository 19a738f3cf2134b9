package vti

import (
	"context"

	"github.com/transdim/vti/rjmcmc"
)

// keptChains are chains over models, of which any number of first iterations can be asked for.
type keptChains struct{ *rjmcmc.Models }

// first are the sets of the first iterations after burn-in.
func (k *keptChains) first(ctx context.Context, iterations int) ([][]int32, error) {
	done := len(k.Sets) / k.Chains()
	if more := iterations - done; more > 0 {
		if done == 0 {
			more += rjmcmc.DefaultModelBurnIn
		}
		if err := k.Run(ctx, more); err != nil {
			return nil, err
		}
	}
	return k.Sets[:iterations*k.Chains()], nil
}
