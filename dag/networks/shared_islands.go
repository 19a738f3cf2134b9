package networks

import (
	gocontext "context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/shard"
)

// mostInPiece is the largest number of islands (runs of independent groups of particles) that one
// process makes at a time and stores in one file, since each file takes time. Small batches are cut
// into about leastPieces pieces, to divide them among processes.
const mostInPiece, leastPieces = 16, 32

// shareIslands calls work to make islands (results of independent groups of particles), and shares
// this work among processes. batch holds the index of each island's family. places, if not nil,
// holds the index of each island among the islands of its family.
func (s *Scores) shareIslands(ctx gocontext.Context, stage string, batch, places []int, work func(k int) island) ([]island, error) {
	part := s.Shard
	if s.Kept != nil && time.Since(s.began) >= s.KeepAfter {
		part = s.Kept
	}
	size := min(max(len(batch)/leastPieces, 1), mostInPiece)
	pieces, err := shard.Map(ctx, part, shard.Stage[[]int, []island]{
		Name: stage, Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, piece []int) {
			for _, k := range piece {
				shard.Numbers(w, []int{batch[k]})
				if places != nil {
					shard.Numbers(w, []int{places[k]})
				}
			}
		},
		Do: func(ctx gocontext.Context, piece []int) (islands []island, err error) {
			for _, k := range piece {
				if err := ctx.Err(); err != nil {
					return nil, fmt.Errorf("stopped: %w", err)
				}
				islands = append(islands, work(k))
			}
			return islands, nil
		},
	}, slices.Collect(slices.Chunk(rank.UpTo(len(batch)), size)))
	if err != nil {
		return nil, err
	}
	return slices.Concat(pieces...), nil
}
