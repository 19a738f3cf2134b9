//go:build unix

package papers

import (
	"syscall"
	"time"
)

// cpuSeconds is the processor time of the process, over all cores.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return nan
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
