package vti

import (
	"context"

	"github.com/transdim/vti/rjmcmc"
)

// keptChains are chains over models, of which any number of first iterations can be asked for.
type keptChains struct{ *rjmcmc.Models }

// hurriedIterations is how often chains ask whether the time is over. Chosen by hand.
const hurriedIterations = 30

// first are the sets of the first iterations after burn-in, or of fewer, at least some tens, when
// late reports that the time is over.
func (k *keptChains) first(ctx context.Context, iterations int, late func() bool) ([][]int32, error) {
	done := len(k.Sets) / k.Chains()
	for done < iterations && (done == 0 || !late()) {
		more := min(iterations-done, hurriedIterations)
		done += more
		if len(k.Sets) == 0 {
			more += rjmcmc.DefaultModelBurnIn
		}
		if err := k.Run(ctx, more); err != nil {
			return nil, err
		}
	}
	return k.Sets[:min(done, iterations)*k.Chains()], nil
}
