//go:build !unix

package serve

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// interrupt kills a process. On systems without signals only the last checkpoint on the disk is
// kept.
func interrupt(process *os.Process) error { return process.Kill() }
