package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that is cancelled by the first Ctrl-C, SIGTERM or SIGHUP (the
// signal of a closed terminal). A second signal ends the process. If the process was started to
// ignore SIGHUP, for example by nohup, SIGHUP stays ignored.
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
