//go:build !linux

package study

import (
	"os"
	"syscall"
)

// endsWithParent does nothing on this system: if the parent is killed, the child continues in vain.
func endsWithParent() *syscall.SysProcAttr { return nil }

// peakBytes returns 0: the peak is unknown on this system.
func peakBytes(*os.ProcessState) float64 { return 0 }
