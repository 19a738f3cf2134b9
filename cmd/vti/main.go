package main

import (
	"os"
	"runtime/debug"
	"slices"

	"github.com/transdim/vti/internal/memory"
)

func main() {
	if !slices.Contains(os.Args, "--stack") {
		debug.SetTraceback("none") // a panic outside the main goroutine, which run cannot catch
	}
	stopWatch := watchMemory(memory.Total(), func() {
		outOfMemory(os.Stderr, memory.Total())
		os.Exit(statusFailure)
	})
	ctx, stop := interruptible(os.Stderr)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	stopWatch()
	os.Exit(status)
}
