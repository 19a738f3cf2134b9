//go:build !unix

package serve

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// interrupt ends a process: systems without signals keep the last checkpoint on the disk.
func interrupt(process *os.Process) error { return process.Kill() }
