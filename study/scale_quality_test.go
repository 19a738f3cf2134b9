//go:build quality

package study

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMillion collects the simulated results of a million tasks and prints the time and the memory
// that this takes. It needs 12 GB of disk and three million inodes under TMPDIR. VTI_TEST_TASKS
// replaces the number of tasks.
func TestMillion(t *testing.T) {
	tasks := 1_000_000
	if text := os.Getenv("VTI_TEST_TASKS"); text != "" {
		_, err := fmt.Sscan(text, &tasks)
		require.NoError(t, err)
	}
	p := newPlan(t, fmt.Sprintf("command = \"fake\"\nsimulate = {problem = \"varsel\", seeds = %d}\ngrid = {prior-sd = [0.5, 1.5]}", tasks/2), nil)
	started := time.Now()
	var wait sync.WaitGroup
	for i := range runtime.NumCPU() {
		wait.Go(func() { fillShard(t, p, i, runtime.NumCPU()) })
	}
	wait.Wait()
	folders, err := os.ReadDir(filepath.Join(p.Dir(), "tasks"))
	require.NoError(t, err)
	most := 0
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(p.Dir(), "tasks", folder.Name()))
		require.NoError(t, err)
		most = max(most, len(entries))
	}
	fmt.Printf("%d tasks written in %.0f s: %d folders, at most %d tasks in one\n", tasks, time.Since(started).Seconds(), len(folders), most)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the setting of vti study collect
	debug.FreeOSMemory()
	started = time.Now()
	before := processorTime()
	status, err := p.Status(0)
	require.NoError(t, err)
	require.Equal(t, tasks, status.Done)
	fmt.Printf("status: %.1f s, %.1f s of processor time\n", time.Since(started).Seconds(), processorTime()-before)
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // this resets the count of the peak memory of this process
	started = time.Now()
	before = processorTime()
	out := filepath.Join(p.Dir(), "results.parquet")
	summary, err := p.Collect(context.Background(), CollectConfig{Out: out})
	require.NoError(t, err)
	require.Equal(t, tasks, summary.Done)
	fmt.Printf("collect: %.1f s, %.1f s of processor time, peak memory %s\n", time.Since(started).Seconds(), processorTime()-before, peak(t))
	for path, rows := range summary.Files {
		info, err := os.Stat(path)
		require.NoError(t, err)
		fmt.Printf("  %s: %d rows, %.1f MB\n", filepath.Base(path), rows, float64(info.Size())/1e6)
	}
}

// processorTime returns the processor time of this process, in seconds.
func processorTime() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// peak returns the largest resident memory of this process since the peak was reset.
func peak(t *testing.T) string {
	content, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.TrimSpace(text)
		}
	}
	return "unknown"
}
