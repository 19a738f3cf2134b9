package study

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// peakVariable tells a task the file descriptor to which it reports its largest memory.
const peakVariable = "VTI_PEAK_FD"

// ReportPeak lets a process that runs a task report its largest resident memory, when it ends.
// What the system counts for a child begins with that of its parent, which it shares until it
// begins to run a program of its own; only the process itself can see what came after.
func ReportPeak() {
	descriptor, err := strconv.Atoi(os.Getenv(peakVariable))
	if err != nil || descriptor < 3 {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // not on this system
	}
	for line := range strings.Lines(string(status)) {
		if peak, found := strings.CutPrefix(line, "VmHWM:"); found {
			out := os.NewFile(uintptr(descriptor), "peak")
			_, _ = io.WriteString(out, strings.TrimSuffix(strings.TrimSpace(peak), " kB"))
			_ = out.Close() // without it the count of the system is taken
		}
	}
}

// reportedPeak is what ReportPeak has written, in bytes; 0 if nothing.
func reportedPeak(in io.Reader) float64 {
	text, err := io.ReadAll(in)
	if err != nil {
		return 0
	}
	kib, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0
	}
	return kib * 1024
}
