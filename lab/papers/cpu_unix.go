//go:build unix

package papers

import (
	"syscall"
	"time"
)

// cpuSeconds returns the processor time of the process, summed over all cores.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return nan
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
