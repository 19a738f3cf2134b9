package main

import (
	"os"

	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/study"
)

func main() {
	stopWatch := watchMemory(memory.Total(), func() {
		outOfMemory(os.Stderr, memory.Total())
		os.Exit(statusFailure)
	})
	ctx, stop := interruptible(os.Stderr)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	stopWatch()
	study.ReportPeak()
	os.Exit(status)
}
