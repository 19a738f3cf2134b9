package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first Ctrl-C cancels, or the first SIGTERM or SIGHUP, as
// when a terminal is closed. The second signal ends the process, as it would without us.
func interruptible(stderr io.Writer) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	detach := context.AfterFunc(ctx, func() {
		stop()
		fmt.Fprintln(stderr, "\nvti: stopping after the step in progress; once more ends it at once")
	})
	return ctx, func() {
		detach()
		stop()
	}
}
