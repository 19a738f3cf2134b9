package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first Ctrl-C cancels, or the first SIGTERM or SIGHUP, as
// when a terminal is closed. The second signal ends the process, as it would without us. A SIGHUP
// that the process was started to ignore, as by nohup, stays ignored.
func interruptible(stderr io.Writer) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	detach := context.AfterFunc(ctx, func() {
		stop()
		fmt.Fprintln(stderr, "\nvti: stopping after the step in progress; once more ends it at once")
	})
	return ctx, func() {
		detach()
		stop()
	}
}
