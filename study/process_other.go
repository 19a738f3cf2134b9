//go:build !linux

package study

import (
	"os"
	"syscall"
)

// endsWithParent does nothing on this system: the child of a killed parent continues, and its work
// is lost.
func endsWithParent() *syscall.SysProcAttr { return nil }

// peakBytes returns 0: the peak is unknown on this system.
func peakBytes(*os.ProcessState) float64 { return 0 }
