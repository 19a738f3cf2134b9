package budget

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTimeIsDivided checks that the parts of a run of one minute end one after the other, and that
// without a limit no part ends.
func TestTimeIsDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited, unlimited := Start(time.Minute), Start(0)
		collapsed, cancel := limited.Context(context.Background(), Collapsed)
		defer cancel()
		whole, cancel := limited.Context(context.Background(), Whole)
		defer cancel()
		free, cancel := unlimited.Context(context.Background(), Collapsed)
		defer cancel()
		for _, step := range []struct {
			elapsed                         time.Duration
			family, collapsed, births, over bool
		}{
			{29 * time.Second, false, false, false, false},
			{31 * time.Second, true, false, false, false},
			{37 * time.Second, true, true, false, false},
			{55 * time.Second, true, true, true, false},
			{61 * time.Second, true, true, true, true},
		} {
			time.Sleep(time.Until(limited.Began.Add(step.elapsed)))
			synctest.Wait()
			require.Equal(t, step.family, Passed(limited.End(FamilyTraining)), step.elapsed)
			require.Equal(t, step.collapsed, collapsed.Err() != nil, step.elapsed)
			require.Equal(t, step.births, Passed(limited.End(Births)), step.elapsed)
			require.Equal(t, step.over, limited.Over(), step.elapsed)
			require.Equal(t, step.over, whole.Err() != nil, step.elapsed)
			require.Equal(t, step.over, unlimited.Or(time.Minute).Over(), step.elapsed)
		}
		require.NoError(t, free.Err())
		require.False(t, unlimited.Over())
		require.True(t, unlimited.End(Whole).IsZero())
	})
}

func TestWorkFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited, unlimited := Start(time.Minute), Start(0)
		require.True(t, limited.Fits(time.Minute))
		time.Sleep(20 * time.Second)
		require.True(t, limited.Fits(40*time.Second))
		require.False(t, limited.Fits(41*time.Second))
		require.True(t, unlimited.Fits(time.Hour))
		require.Equal(t, 36*time.Second, limited.Of(Collapsed))
	})
}

// TestShare checks that a share of the time left to a context ends before the context, and that
// without a deadline a share has none.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited, cancel := Start(time.Minute).Context(context.Background(), Whole)
		defer cancel()
		time.Sleep(20 * time.Second)
		share, cancelShare := Share(limited, 0.75)
		defer cancelShare()
		end, _ := share.Deadline()
		require.Equal(t, 30*time.Second, time.Until(end))
		free, cancelFree := Share(context.Background(), 0.75)
		defer cancelFree()
		_, ends := free.Deadline()
		require.False(t, ends)
	})
}
