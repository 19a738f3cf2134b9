package vti

import (
	"context"
	"fmt"
	"io"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/shard"
)

// Several processes can share the evidences of models (package models), batches of draws, and
// groups of chains. Each process does all other work by itself, and ends with the whole
// certificate.

// sharedBatches is the number of batches that several processes evaluate at a time. Without other
// processes one batch is evaluated at a time. The draws of sharedBatches batches fit into memory,
// and suffice for some tens of processes.
const sharedBatches = 64

func (e *evaluator) batches() int {
	if e.engine.Shard == nil {
		return 1
	}
	return sharedBatches
}

// batchInput is a batch of B rows to evaluate: codes [B*S], and inputs of the flow or parameters
// [B*D].
type batchInput struct {
	Codes []int32
	X     []float64
	// Evaluate evaluates the batch, and Kind is the name of this function.
	Kind     string
	Evaluate func(codes []int32, x []float64) (evaluate.Pushed, []float64, error)
}

// batchPiece is an evaluated batch, with log weights [B].
type batchPiece struct {
	evaluate.Pushed
	LogWeights []float64
}

// evaluateBatches evaluates batches, some of them perhaps in other processes. The evaluation takes
// no random numbers.
func (e *evaluator) evaluateBatches(ctx context.Context, batches []batchInput) ([]batchPiece, error) {
	return shard.Map(ctx, e.engine.Shard, shard.Stage[batchInput, batchPiece]{
		Name: "draws",
		Key: func(w io.Writer, in batchInput) {
			_, _ = io.WriteString(w, in.Kind+"\x00") // writing to a hash does not fail
			shard.Numbers(w, in.Codes)
			shard.Numbers(w, in.X)
		},
		Do: func(ctx context.Context, in batchInput) (batchPiece, error) {
			if err := ctx.Err(); err != nil {
				return batchPiece{}, err
			}
			p, logWeights, err := in.Evaluate(in.Codes, in.X)
			return batchPiece{p, logWeights}, err
		},
	}, batches)
}

// runChains runs groups of chains, some of them perhaps in other processes. The first group has the
// seed of the settings. The seeds of the other groups are derived from it.
func (e *evaluator) runChains(ctx context.Context, settings rjmcmc.Config, groups int) (*rjmcmc.Result, error) {
	seeds := []uint64{settings.Seed}
	for group := 1; group < groups; group++ {
		seeds = append(seeds, stream.Seed(settings.Seed, fmt.Sprintf("group/%d", group)))
	}
	runs, err := shard.Map(ctx, e.engine.Shard, shard.Stage[uint64, *rjmcmc.Result]{
		Name: "chains",
		Key: func(w io.Writer, seed uint64) {
			fmt.Fprintln(w, seed, settings.Chains, settings.Temperatures, settings.BurnIn, settings.Iterations, settings.Thin)
			shard.Numbers(w, settings.Starts...)
		},
		Do: func(ctx context.Context, seed uint64) (*rjmcmc.Result, error) {
			chain := settings
			chain.Seed = seed
			return rjmcmc.Run(ctx, e.Device.Backend(), e.Target, chain)
		},
	}, seeds)
	if err != nil {
		return nil, err
	}
	return rjmcmc.Join(runs...)
}
