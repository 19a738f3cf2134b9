package shell

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/transdim/vti/internal/memory"
)

// Shares of the memory of the machine. When the process uses softShare, the garbage collector works
// harder. When it uses hardShare, the process ends itself with a message, before the system kills
// it without a message.
const (
	softShare = 0.85
	hardShare = 0.95
)

// The process allocates at most spareHeap bytes, and at most spareShare of the memory of the
// machine, before the garbage collector runs for the first time. Otherwise a run on a small table
// spends part of its time on collecting a few megabytes again and again.
const (
	spareHeap  = 96 << 20
	spareShare = 1.0 / 64
)

// watchMemory calls the function exhausted, once, when the process has used up the memory of the
// machine. The function stop ends the watch. Computations of impossible sizes are refused before
// they start; the watch is for computations that were not refused.
func watchMemory(total float64, exhausted func()) (stop func()) {
	debug.SetMemoryLimit(int64(softShare * total))
	// The slice counts as memory in use, which the collector allows to double before it runs. The
	// system provides no memory for it, because nothing is ever written to it.
	spare := make([]byte, int(min(spareHeap, spareShare*total)))
	ticker, done := time.NewTicker(50*time.Millisecond), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if HeldMemory() > hardShare*total {
					exhausted()
					return
				}
			}
		}
	}()
	return func() {
		runtime.KeepAlive(spare)
		ticker.Stop()
		close(done)
	}
}

// HeldMemory returns the memory, in bytes, that the Go runtime has obtained from the system.
func HeldMemory() float64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return float64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// outOfMemory prints the last line of a process that has used up the memory.
func outOfMemory(stderr io.Writer, total float64) {
	fmt.Fprintf(stderr, "vti: out of memory: more than %s of %s are in use; try smaller sizes, such as --batch, --chains or --certify-draws\n",
		memory.Text(hardShare*total), memory.Text(total))
}
