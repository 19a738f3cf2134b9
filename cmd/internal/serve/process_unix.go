//go:build unix

package serve

import (
	"os"
	"os/exec"
	"syscall"
)

// detach puts a process in a separate process group, so that Ctrl-C in the terminal of the server
// does not reach it. Otherwise the process would get two signals, and the second ends it without a
// checkpoint.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks a process to stop after the present step, and to write its checkpoint.
func interrupt(process *os.Process) error { return process.Signal(os.Interrupt) }
