//go:build unix

package serve

import (
	"os"
	"os/exec"
	"syscall"
)

// detach keeps a Ctrl-C in the terminal of the server from the process, which would otherwise get
// two signals: the second ends it without a checkpoint.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks a process to stop after the step in progress, and to keep its checkpoint.
func interrupt(process *os.Process) error { return process.Signal(os.Interrupt) }
