package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClock(t *testing.T) {
	c := NewClock()
	sampled := c.Seconds()
	require.Zero(t, sampled.Train, "nothing was trained")
	require.Zero(t, sampled.Certify)
	time.Sleep(2 * time.Millisecond)
	c.Trained()
	time.Sleep(2 * time.Millisecond)
	toTheEnd := c.Seconds()
	require.InDelta(t, toTheEnd.Total, toTheEnd.Train+toTheEnd.Certify, 1e-9)
	c.Certified()
	time.Sleep(2 * time.Millisecond)
	s := c.Seconds()
	require.GreaterOrEqual(t, s.Train, 0.002)
	require.GreaterOrEqual(t, s.Certify, 0.002)
	require.GreaterOrEqual(t, s.Total, s.Train+s.Certify+0.002)
	loaded := NewClock()
	time.Sleep(2 * time.Millisecond)
	loaded.Certified()
	require.Zero(t, loaded.Seconds().Train)
	require.GreaterOrEqual(t, loaded.Seconds().Certify, 0.002)
}
