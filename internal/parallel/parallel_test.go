package parallel

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDo(t *testing.T) {
	done := make([]bool, 20)
	first, second := errors.New("first"), errors.New("second")
	err := Do(len(done), func(i int) error {
		done[i] = true
		switch i {
		case 3:
			return first
		case 17:
			return second
		}
		return nil
	})
	require.EqualError(t, err, "first\nsecond")
	for i := range done {
		require.True(t, done[i])
	}
	require.NoError(t, Do(0, nil))
}

// TestForFails checks that the returned error belongs to the lowest piece that fails, and that few
// pieces begin after the failure.
func TestForFails(t *testing.T) {
	for range 50 {
		var begun atomic.Int64
		err := For(t.Context(), 10_000, func(i int) error {
			begun.Add(1)
			if i%5 == 3 {
				return errors.New(string(rune('a' + i)))
			}
			return nil
		})
		require.EqualError(t, err, "d")
		require.Less(t, begun.Load(), int64(9000))
	}
}

func TestForStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	err := For(ctx, 1000, func(int) error {
		if begun.Add(1) == 10 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, begun.Load(), int64(10+runtime.GOMAXPROCS(0)))
}

// TestEach checks that every piece is done once, and that a worker does one piece at a time.
func TestEach(t *testing.T) {
	const n = 1000
	counts, scratch := make([]int, n), make([]int, Workers(n))
	require.NoError(t, Each(t.Context(), n, func(w int) func(i int) error {
		return func(i int) error {
			scratch[w] = i
			runtime.Gosched()
			if scratch[w] == i {
				counts[i]++
			}
			return nil
		}
	}))
	for i := range counts {
		require.Equal(t, 1, counts[i])
	}
	require.Equal(t, 0, Workers(0))
}
