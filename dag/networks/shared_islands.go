package networks

import (
	gocontext "context"
	"io"
	"runtime"
	"time"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/shard"
)

// islandPiece is an island in a file.
type islandPiece struct {
	LogEvidence float64
	Sweeps      int
	Thetas      [][]float64
}

// shareIslands makes an island for every entry of a batch of families by work, or has others do
// it. places, if not nil, are the numbers of the islands among those of their families.
func (s *Scores) shareIslands(ctx gocontext.Context, stage string, batch, places []int, work func(k int) island) ([]island, error) {
	own := s.Shard
	if s.Kept != nil && time.Since(s.began) >= s.KeepAfter {
		own = s.Kept
	}
	pieces, err := shard.Map(ctx, own, shard.Stage[int, islandPiece]{
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
	}, score.UpTo(len(batch)))
	if err != nil {
		return nil, err
	}
	islands := make([]island, len(pieces))
	for k, one := range pieces {
		islands[k] = island{logEvidence: one.LogEvidence, sweeps: one.Sweeps, thetas: one.Thetas}
	}
	return islands, nil
}
