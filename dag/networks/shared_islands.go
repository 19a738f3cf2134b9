package networks

import (
	gocontext "context"
	"io"
	"runtime"
	"time"

	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/shard"
)

// shareIslands calls work to make islands, independent groups of particles, and shares this work
// among processes. batch lists the family of each island by its index. places, if not nil, holds
// for each island its index among the islands of its family.
func (s *Scores) shareIslands(ctx gocontext.Context, stage string, batch, places []int, work func(k int) island) ([]island, error) {
	part := s.Shard
	if s.Kept != nil && time.Since(s.began) >= s.KeepAfter {
		part = s.Kept
	}
	return shard.Map(ctx, part, shard.Stage[int, island]{
		Name: stage, Workers: runtime.GOMAXPROCS(0),
		Key: func(w io.Writer, k int) {
			shard.Numbers(w, []int{batch[k]})
			if places != nil {
				shard.Numbers(w, []int{places[k]})
			}
		},
		Do: func(_ gocontext.Context, k int) (island, error) { return work(k), nil },
	}, rank.UpTo(len(batch)))
}
