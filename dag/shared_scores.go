package dag

import (
	gocontext "context"
	"fmt"
	"io"
	"runtime"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/shard"
)

// What several processes share in the search for graphs: the scores of sets of parents by node,
// the rounds of chains by chain, and the islands of particles by family.

// upTo lists 0 to n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// nodePiece are the candidates of a node with the scores of all sets of them.
type nodePiece struct {
	Parents        []int
	Scores, Priors []float64
}

// scoreNodes calls score, which fills in its candidates and their scores, for every node, or has
// others do it. visits, if not nil, has what decides beside the data [N][N].
func (c *candidates) scoreNodes(ctx gocontext.Context, own *shard.Shard, stage string, visits [][]float64, score func(j int)) error {
	before := make([][]int, len(c.parents))
	copy(before, c.parents)
	pieces, err := shard.Map(ctx, own, shard.Stage[int, nodePiece]{
		Name: stage, Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, j int) {
			shard.Numbers(w, []int{j}, before[j])
			if visits != nil {
				shard.Numbers(w, visits[j])
			}
		},
		Do: func(ctx gocontext.Context, j int) (nodePiece, error) {
			score(j)
			if err := ctx.Err(); err != nil {
				return nodePiece{}, fmt.Errorf("stopped: %w", err)
			}
			return nodePiece{c.parents[j], c.scores[j], c.priors[j]}, c.failed.get()
		},
	}, upTo(len(c.parents)))
	for j, piece := range pieces {
		c.parents[j], c.scores[j], c.priors[j] = piece.Parents, piece.Scores, piece.Priors
	}
	return err
}

// roundPiece is a round of one chain: its graphs with their scores, and its state in the end.
type roundPiece struct {
	Graphs [][]dgraph.Set
	Scores []float64
	End    walkState
}

// shareRound lets every chain take a round by work, or has others do it.
func (r *chainRun) shareRound(ctx gocontext.Context, work func(c int) ([][]dgraph.Set, []float64, error)) ([]roundPiece, error) {
	pieces, err := shard.Map(ctx, r.cfg.Shard, shard.Stage[int, roundPiece]{
		Name: "round", Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, c int) {
			start, err := r.state(c) // an error would be one of Do too
			fmt.Fprint(w, r.round, c, start, err)
		},
		Do: func(_ gocontext.Context, c int) (p roundPiece, err error) {
			if p.Graphs, p.Scores, err = work(c); err != nil {
				return p, err
			}
			p.End, err = r.state(c)
			return p, err
		},
	}, upTo(len(r.walks)))
	if err != nil || r.cfg.Shard == nil {
		return pieces, err
	}
	for c, piece := range pieces {
		if err := r.restore(c, piece.End, r.walks[c].tables); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// islandPiece is an island in a file.
type islandPiece struct {
	LogEvidence float64
	Sweeps      int
	Thetas      [][]float64
}

// shareIslands makes an island for every entry of a batch of families by work, or has others do
// it. places, if not nil, are the numbers of the islands among those of their families.
func (s *particleScores) shareIslands(ctx gocontext.Context, stage string, batch, places []int, work func(k int) island) ([]island, error) {
	pieces, err := shard.Map(ctx, s.shard, shard.Stage[int, islandPiece]{
		Name: stage, Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, k int) {
			shard.Numbers(w, []int{batch[k]})
			if places != nil {
				shard.Numbers(w, []int{places[k]})
			}
		},
		Do: func(_ gocontext.Context, k int) (islandPiece, error) {
			own := work(k)
			return islandPiece{own.logEvidence, own.sweeps, own.thetas}, nil
		},
	}, upTo(len(batch)))
	if err != nil {
		return nil, err
	}
	islands := make([]island, len(pieces))
	for k, one := range pieces {
		islands[k] = island{logEvidence: one.LogEvidence, sweeps: one.Sweeps, thetas: one.Thetas}
	}
	return islands, nil
}
