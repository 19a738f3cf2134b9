package study

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// peakVariable holds the file descriptor to which a task reports its peak memory.
const peakVariable = "VTI_PEAK_FD"

// ReportPeak makes a task report its largest resident memory at its end. The count that the system
// keeps for a child process starts at the memory of its parent, which the child shares until it
// runs another program. Only the child can measure its peak after this moment.
func ReportPeak() {
	descriptor, err := strconv.Atoi(os.Getenv(peakVariable))
	if err != nil || descriptor < 3 {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // the file does not exist on this system
	}
	for line := range strings.Lines(string(status)) {
		if peak, found := strings.CutPrefix(line, "VmHWM:"); found {
			out := os.NewFile(uintptr(descriptor), "peak")
			_, _ = io.WriteString(out, strings.TrimSuffix(strings.TrimSpace(peak), " kB"))
			_ = out.Close() // after an error the parent uses the count of the system
		}
	}
}

// reportedPeak reads the output of ReportPeak and returns bytes, or 0 if there is no output.
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
