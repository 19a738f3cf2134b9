package shell

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWatchMemory checks that the watch calls its function if the process holds more than the
// memory of the machine, and does not call it otherwise.
func TestWatchMemory(t *testing.T) {
	before := HeldMemory()
	calls := make(chan bool, 2)
	stop := watchMemory(1e15, func() { calls <- true })
	time.Sleep(150 * time.Millisecond)
	require.Empty(t, calls)
	stop()
	stop = watchMemory(before/2, func() { calls <- true })
	select {
	case <-calls:
	case <-time.After(10 * time.Second):
		t.Fatal("no call")
	}
	stop()
	watchMemory(1e15, func() {})() // restores the memory limit
	var text strings.Builder
	outOfMemory(&text, 1<<30)
	assert.Regexp(t, `^vti: out of memory: more than 972.8 MiB of 1 GiB are in use.*\n$`, text.String())
}
