package study

import (
	"os"
	"syscall"
)

// endsWithParent makes a child end when its parent ends, even by kill -9.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// peakBytes returns the largest resident memory of a process that has ended, in bytes.
func peakBytes(state *os.ProcessState) float64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return float64(usage.Maxrss) * 1024 // Linux counts in KiB
	}
	return 0
}
