package walk

import (
	gocontext "context"
	"fmt"
	"io"
	"runtime"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/shard"
)

// Several processes can share the work of these functions: the scores of sets of parents by node,
// and the rounds of chains by chain.

// nodePiece holds the candidates of a node with the scores of all sets of these candidates.
type nodePiece struct {
	Parents        []int
	Scores, Priors []float64
}

// scoreNodes calls fill for every node and shares this work among processes. fill sets the
// candidates of the node and the scores of their sets. visits, if not nil, is further input of fill
// [N][N].
func (c *candidates) scoreNodes(ctx gocontext.Context, part *shard.Shard, stage string, visits [][]float64, fill func(j int)) error {
	before := make([][]int, len(c.parents))
	copy(before, c.parents)
	pieces, err := shard.Map(ctx, part, shard.Stage[int, nodePiece]{
		Name: stage, Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, j int) {
			shard.Numbers(w, []int{j}, before[j])
			if visits != nil {
				shard.Numbers(w, visits[j])
			}
		},
		Do: func(ctx gocontext.Context, j int) (nodePiece, error) {
			fill(j)
			if err := ctx.Err(); err != nil {
				return nodePiece{}, fmt.Errorf("stopped: %w", err)
			}
			return nodePiece{c.parents[j], c.scores[j], c.priors[j]}, c.err()
		},
	}, rank.UpTo(len(c.parents)))
	for j, piece := range pieces {
		c.parents[j], c.scores[j], c.priors[j] = piece.Parents, piece.Scores, piece.Priors
	}
	return err
}

// roundPiece is the result of a round of one chain: its graphs with their scores, and its state at
// the end.
type roundPiece struct {
	Graphs [][]dgraph.Set
	Scores []float64
	Thetas [][][]float64 // parameters, for tables with missing cells
	End    walkState
}

// share runs a stage, such as a round, of every chain by calling work, and shares this among
// processes.
func (r *chainRun) share(ctx gocontext.Context, stage string, work func(c int, piece *roundPiece) error) ([]roundPiece, error) {
	pieces, err := shard.Map(ctx, r.cfg.Shard, shard.Stage[int, roundPiece]{
		Name: stage, Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, c int) {
			start, err := r.state(c) // Do would return the same error
			fmt.Fprint(w, r.round, c, start, err)
		},
		Do: func(_ gocontext.Context, c int) (p roundPiece, err error) {
			if err = work(c, &p); err != nil {
				return p, err
			}
			p.End, err = r.state(c)
			return p, err
		},
	}, rank.UpTo(len(r.walks)))
	if err != nil {
		return nil, err
	}
	for c, piece := range pieces {
		if err := r.restore(c, piece.End, r.walks[c].tables); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}
