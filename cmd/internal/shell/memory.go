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

// Shares of the memory of the machine: from the first on the collector works harder, beyond the
// second the process ends itself, before the system ends it without a word.
const (
	softShare = 0.85
	hardShare = 0.95
)

// spareHeap is how much the process allocates at most before the collector runs for the first time,
// and spareShare how much of the memory of the machine: a part of the work of a small table was
// collecting a few megabytes again and again.
const (
	spareHeap  = 96 << 20
	spareShare = 1.0 / 64
)

// watchMemory calls exhausted, once, when the process has used up the memory of the machine; stop
// ends the watch. Impossible sizes are refused before: this is for the rest.
func watchMemory(total float64, exhausted func()) (stop func()) {
	debug.SetMemoryLimit(int64(softShare * total))
	// counts as in use, which the collector lets double; the system gives no memory for it
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

// HeldMemory is the system memory held by the Go runtime, in bytes.
func HeldMemory() float64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return float64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// OutOfMemory is the last line of a process that has used up the memory.
func outOfMemory(stderr io.Writer, total float64) {
	fmt.Fprintf(stderr, "vti: out of memory: more than %s of %s are in use; try smaller sizes, such as --batch, --chains or --certify-draws\n",
		memory.Text(hardShare*total), memory.Text(total))
}
