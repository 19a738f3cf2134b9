// Package memory refuses work that cannot fit into the machine before the work starts.
package memory

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Total returns the memory in bytes that the process may use. On Linux it is the memory of the
// machine, or a lower limit set for the process. On systems that this package does not know, Total
// returns 1 TiB, so that only impossible work is refused.
var Total = sync.OnceValue(func() float64 { return total(os.ReadFile) })

// addressShare is the largest fraction of a limited address space that a Go heap can use, because
// the runtime reserves more than it uses. A heap that grows in large pieces reaches about four
// fifths.
const addressShare = 0.8

func total(readFile func(name string) ([]byte, error)) float64 {
	least := math.Inf(1)
	if content, err := readFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) == 3 && fields[0] == "MemTotal:" {
				if kib, err := strconv.ParseFloat(fields[1], 64); err == nil {
					least = kib * 1024
				}
			}
		}
	}
	// These files hold the limits of control groups, versions 2 and 1. The text "max", which is not
	// a number, means no limit.
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		content, err := readFile(name)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseFloat(strings.TrimSpace(string(content)), 64); err == nil && limit > 0 {
			least = math.Min(least, limit)
		}
	}
	// The line "Max address space 3072000000 unlimited bytes" holds the limit that ulimit -v sets.
	if content, err := readFile("/proc/self/limits"); err == nil {
		for line := range strings.Lines(string(content)) {
			limit, found := strings.CutPrefix(line, "Max address space")
			if fields := strings.Fields(limit); found && len(fields) > 0 {
				if bytes, err := strconv.ParseFloat(fields[0], 64); err == nil {
					least = math.Min(least, addressShare*bytes)
				}
			}
		}
	}
	if math.IsInf(least, 1) {
		return 1 << 40
	}
	return least
}

// TooLarge is the error for work that needs more memory than there is.
type TooLarge struct {
	// What names the sizes that need the memory, such as "Batch 1000000".
	What string
	// Bytes is a lower bound of the bytes needed. Total is the number of bytes there are.
	Bytes, Total float64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s needs at least %s of memory, and there are %s: choose a smaller size", e.What, Text(e.Bytes), Text(e.Total))
}

// Check returns a *TooLarge if work needs more bytes than there are. The argument subject names the
// sizes that need them, such as "Batch 1000000". The argument bytes should be a lower bound, so
// that work that fits is never refused.
func Check(subject string, bytes float64) error {
	if bytes <= Total() {
		return nil
	}
	return &TooLarge{subject, bytes, Total()}
}

// Text returns a number of bytes in words, such as "1.5 GiB".
func Text(bytes float64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit := 0
	for bytes >= 1024 && unit < len(units)-1 {
		bytes, unit = bytes/1024, unit+1
	}
	return fmt.Sprintf("%.4g %s", bytes, units[unit])
}
