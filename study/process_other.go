//go:build !linux

package study

import (
	"os"
	"syscall"
)

// endsWithParent does nothing here: the child of a killed parent continues, and its work is lost.
func endsWithParent() *syscall.SysProcAttr { return nil }

// peakBytes is unknown here.
func peakBytes(*os.ProcessState) float64 { return 0 }
