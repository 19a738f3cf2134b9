package checkpoint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestSchedule checks that the first checkpoint is due after two seconds, that intervals then
// double up to the longest, and that they are longer if writing takes long.
func TestSchedule(t *testing.T) {
	var never *Schedule
	never.Wrote(time.Second)
	assert.False(t, never.Due())
	s := NewSchedule(7 * time.Second)
	assert.Equal(t, 2*time.Second, s.pause)
	assert.False(t, s.Due())
	for _, want := range []time.Duration{4, 7, 7} {
		s.Wrote(time.Millisecond)
		assert.InDelta(t, float64(want*time.Second), float64(time.Until(s.next)), 1e9)
	}
	s.Wrote(10 * time.Second)
	assert.InDelta(t, 200e9, float64(time.Until(s.next)), 1e9)
	s.next = time.Now()
	assert.True(t, s.Due())
	assert.Less(t, time.Until(NewSchedule(time.Second).next), 1001*time.Millisecond)
}
