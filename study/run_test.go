package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

const simulatedPlan = "command = \"fake\"\nsimulate = {problem = \"varsel\", seeds = %d}\n%s"

func runAll(t testing.TB, p *Plan, cfg RunConfig) Progress {
	t.Helper()
	cfg.Launcher = fakeLauncher(t)
	state, err := p.Run(context.Background(), cfg)
	require.NoError(t, err)
	return state
}

// The files of tasks depend neither on the number of processes nor on the shards and their order.
func TestSameBytesHoweverItRuns(t *testing.T) {
	testkit.Slow(t)
	text := fmt.Sprintf(simulatedPlan, 12, "seed = 5\nkeep = [\"draws*\"]")
	one := newPlan(t, text, nil)
	state := runAll(t, one, RunConfig{Jobs: 1})
	assert.Equal(t, Progress{Total: 12, Done: 12, Jobs: 1, Task: state.Task}, state)
	want := tree(t, one)
	require.Len(t, want, 24, "a record and a file to keep")
	for _, content := range want {
		require.NotContains(t, content, one.Dir())
	}

	shards := newPlan(t, text, nil)
	for _, i := range []int{2, 0, 3, 1} {
		runAll(t, shards, RunConfig{Jobs: 2, Selection: Shard(i, 4)})
	}
	require.Equal(t, want, tree(t, shards))

	single := newPlan(t, text, nil)
	for i := range 12 {
		runAll(t, single, RunConfig{Selection: Shard(11-i, single.Tasks())})
	}
	require.Equal(t, want, tree(t, single))
	again := runAll(t, single, RunConfig{Jobs: 3})
	assert.Equal(t, Progress{Total: 12, Done: 12, Found: 12, Jobs: 3}, again)
	left, err := filepath.Glob(filepath.Join(single.Dir(), "work", "*"))
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left of the work")
}

// A task without an answer is kept with the reason. After a crash it is tried again with another
// seed, after a kill with the same seed.
func TestFailures(t *testing.T) {
	run := func(do string, once bool) *Record {
		t.Helper()
		flags := fmt.Sprintf("flags = {do = %q", do)
		if once {
			flags += fmt.Sprintf(", marker = %q", filepath.Join(t.TempDir(), "marker"))
		}
		p := newPlan(t, fmt.Sprintf(simulatedPlan, 1, flags+"}"), nil)
		runAll(t, p, RunConfig{Jobs: 1})
		r, _, err := store{p.Dir()}.record(p.Task(0).Name)
		require.NoError(t, err)
		require.NotNil(t, r)
		require.NotContains(t, r.Error, p.Dir(), "no folder of this machine")
		return r
	}
	seed := func(r *Record, attempt int) uint64 { return seedOf(0, r.Name, attempt) }

	r := run("untrusted", false)
	assert.True(t, r.Done())
	assert.Equal(t, 3, r.Exit)

	r = run("fail", false)
	assert.Equal(t, "table.csv: no answer", r.Error)
	assert.Equal(t, 1, r.Exit)
	assert.Empty(t, r.Crashes, "tried once")

	for _, do := range []string{"crash", "abort"} {
		r = run(do, false)
		assert.False(t, r.Done())
		assert.Len(t, r.Crashes, retries)
		assert.Equal(t, seed(r, retries), *r.Seed)
		r = run(do, true)
		assert.True(t, r.Done())
		assert.Len(t, r.Crashes, 1)
		assert.Equal(t, seed(r, 1), *r.Seed, "another stream")
	}
	assert.Contains(t, r.Crashes[0], "SIGABRT: abort")

	r = run("kill", true)
	assert.True(t, r.Done())
	assert.Empty(t, r.Crashes)
	assert.Equal(t, seed(r, 0), *r.Seed, "the same stream")
	r = run("kill", false)
	assert.Contains(t, r.Error, "ended by a signal (killed)")
}

// A failed task is skipped unless its repetition is requested. An answer then replaces the failure.
func TestFailedTasksRunAgainWhenAsked(t *testing.T) {
	p := newPlan(t, "command = \"fake\"\ntables = {files = [\"t?.csv\"]}\nseed = 3", map[string]string{"t1.csv": "1", "t2.csv": "2"})
	unreadable := filepath.Join(filepath.Dir(p.Path()), "t2.csv")
	require.NoError(t, os.Remove(unreadable))
	require.NoError(t, os.Mkdir(unreadable, 0o755)) // a directory, which even root cannot read as a file
	var reported []string
	state := runAll(t, p, RunConfig{Jobs: 1, Report: func(p Progress) { reported = append(reported, p.Error) }})
	assert.Equal(t, 1, state.Failed)
	require.Len(t, reported, 2)
	assert.Equal(t, "read t2.csv: is a directory", reported[1])
	status, err := p.Status(-1)
	require.NoError(t, err)
	assert.Equal(t, &Status{Counts: Counts{Tasks: 2, Done: 1, Failed: 1}, Failures: []Failure{{1, p.Task(1).Name, "read t2.csv: is a directory"}}}, status)

	require.NoError(t, os.Remove(unreadable))
	require.NoError(t, os.WriteFile(unreadable, []byte("2"), 0o644))
	state = runAll(t, p, RunConfig{Jobs: 1})
	assert.Equal(t, Progress{Total: 2, Done: 1, Failed: 1, Found: 2, Jobs: 1}, state)
	state = runAll(t, p, RunConfig{Jobs: 1, Again: true})
	assert.Equal(t, 2, state.Done)
	assert.NoDirExists(t, store{p.Dir()}.path(p.Task(1).Name, Failed))
}

// A full disk is no failure of a task. The task stays missing, and the run reports the fault and
// stops.
func TestFaultsOfTheMachine(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 8, "flags = {do = \"full\"}"), nil)
	state, err := p.Run(context.Background(), RunConfig{Launcher: fakeLauncher(t), Jobs: 1})
	require.ErrorContains(t, err, "3 tasks could not be brought to an end and are missing still; the last: writing: no space left on device")
	assert.Equal(t, 3, state.Unrecorded)
	p = newPlan(t, fmt.Sprintf(simulatedPlan, 8, fmt.Sprintf("flags = {do = \"full\", marker = %q}", marker)), nil)
	state, err = p.Run(context.Background(), RunConfig{Launcher: fakeLauncher(t), Jobs: 1})
	require.ErrorContains(t, err, "1 task could not be brought to an end")
	assert.Equal(t, 7, state.Done)
	assert.Equal(t, 8, runAll(t, p, RunConfig{Jobs: 1}).Done)
}

// Cancelling a run ends its processes, and loses only the tasks in progress.
func TestCancel(t *testing.T) {
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 4, "flags = {do = \"wait\"}"), nil)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	started := time.Now()
	state, err := p.Run(ctx, RunConfig{Launcher: fakeLauncher(t), Jobs: 2})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(started), 30*time.Second)
	assert.Equal(t, Progress{Total: 4, Jobs: 2}, state)
}

// Two processes cannot run all tasks of one study at the same time.
func TestOneRunAtATime(t *testing.T) {
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 2, "flags = {do = \"wait\"}"), nil)
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := p.Run(ctx, RunConfig{Launcher: fakeLauncher(t), Jobs: 1})
		first <- err
	}()
	require.Eventually(t, func() bool {
		working, _ := filepath.Glob(filepath.Join(p.Dir(), "work", "*", "[0-9a-f]*"))
		return len(working) > 0
	}, 10*time.Second, 10*time.Millisecond)
	_, err := p.Run(context.Background(), RunConfig{Launcher: fakeLauncher(t), Jobs: 1})
	require.ErrorContains(t, err, "is in use")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
}

// If several processes publish the same task, the files of one process stay, and the other
// processes change nothing.
func TestPublishOnce(t *testing.T) {
	s := store{t.TempDir()}
	const name = "0123456789abcdef"
	finished := func(r Record) string {
		dir := t.TempDir()
		require.NoError(t, writeJSON(filepath.Join(dir, recordFile), r))
		return dir
	}
	answer := func(text string) Record { return Record{Name: name, Answer: json.RawMessage(text)} }
	failed := Record{Name: name, Error: "no"}
	read := func() string {
		r, _, err := s.record(name)
		require.NoError(t, err)
		if r.Answer == nil {
			return r.Error
		}
		return fmt.Sprint(r.Answer)
	}
	require.NoError(t, s.publish(finished(failed), name, Failed))
	require.Equal(t, "no", read())
	require.NoError(t, s.publish(finished(Record{Name: name, Error: "other"}), name, Failed))
	require.Equal(t, "no", read(), "the first failure stays")
	require.NoError(t, s.publish(finished(answer(`1`)), name, Done))
	require.Equal(t, "1", read(), "an answer counts more than a failure")
	require.NoDirExists(t, s.path(name, Failed))
	require.NoError(t, s.publish(finished(answer(`2`)), name, Done))
	require.Equal(t, "1", read(), "the first answer stays")
	require.NoError(t, s.publish(finished(failed), name, Failed))
	require.Equal(t, "1", read())

	// An unreadable record is replaced.
	require.NoError(t, os.WriteFile(filepath.Join(s.path(name, Done), recordFile), []byte(`{"name": "01`), 0o644))
	_, state, err := s.record(name)
	require.Error(t, err)
	require.Equal(t, Missing, state)
	require.NoError(t, s.publish(finished(answer(`3`)), name, Done))
	require.Equal(t, "3", read())
}

// When a process is killed, its child ends too. The next process removes the files that both left.
func TestKilledWorkersLeaveNothing(t *testing.T) {
	if os.Getenv("VTI_TEST_STUDY") != "" { // this process is the worker
		p, err := Read(os.Getenv("VTI_TEST_STUDY"))
		must(err)
		_, err = p.Run(context.Background(), RunConfig{Launcher: fakeLauncher(t), Jobs: 1})
		must(err)
		return
	}
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 2, "flags = {do = \"wait\"}"), nil)
	worker := exec.Command(os.Args[0], "-test.run=^TestKilledWorkersLeaveNothing$")
	worker.Env = append(os.Environ(), "VTI_TEST_STUDY="+p.Path())
	require.NoError(t, worker.Start())
	pattern := filepath.Join(p.Dir(), "work", "*", "*", "table.csv")
	require.Eventually(t, func() bool { found, _ := filepath.Glob(pattern); return len(found) > 0 }, 20*time.Second, 10*time.Millisecond)
	// Wait for the child: a worker that dies between fork and exec leaves a copy of itself that
	// holds the lock.
	require.Eventually(t, func() bool { return anyProcess(p.Dir()) }, 20*time.Second, 10*time.Millisecond, "the child begins")
	require.NoError(t, worker.Process.Kill())
	require.True(t, errors.As(worker.Wait(), new(*exec.ExitError)))
	require.Eventually(t, func() bool { return !anyProcess(p.Dir()) }, 20*time.Second, 10*time.Millisecond, "the child ends")
	dir, release, err := store{p.Dir()}.workplace()
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, left, 1, "only the new one")
	release()
	require.NoDirExists(t, dir)
}

// anyProcess reports whether the command line of a process other than this one names dir.
func anyProcess(dir string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), dir) && path != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) {
			return true
		}
	}
	return false
}

func TestEndings(t *testing.T) {
	for _, c := range []struct {
		e               ending
		crashed, killed bool
		text            string
	}{
		{ending{status: 1, stderr: "vti: t.csv: no rows"}, false, false, "t.csv: no rows"},
		{ending{status: 2, stderr: "panic: index\n\ngoroutine 1"}, true, false, "panic: index\n\ngoroutine 1"},
		{ending{status: 1, stderr: "vti: a defect of vti, please report it: x"}, true, false, "a defect of vti, please report it: x"},
		{ending{status: -1, signal: syscall.SIGSEGV}, true, false, "ended by a signal (segmentation fault);"},
		{ending{status: -1, signal: syscall.SIGKILL}, false, true, "ended by a signal (killed);"},
		{ending{status: 7}, false, false, "exit status 7"},
	} {
		assert.Equal(t, c.crashed, c.e.crashed(), c.text)
		assert.Equal(t, c.killed, c.e.killed(), c.text)
		assert.Equal(t, c.text, c.e.text())
	}
	var kept tail
	for range 1000 {
		fmt.Fprint(&kept, "0123456789")
	}
	assert.Len(t, kept.kept, longestError)
}

func TestEstimate(t *testing.T) {
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 9, ""), nil)
	e, err := p.Estimate(context.Background(), fakeLauncher(t))
	require.NoError(t, err)
	require.Len(t, e.Pilots, 3)
	assert.Equal(t, 6, e.Remaining)
	assert.Equal(t, []int{0, 4, 8}, []int{e.Pilots[0].Index, e.Pilots[1].Index, e.Pilots[2].Index})
	assert.Positive(t, e.Least)
	assert.LessOrEqual(t, e.Least, e.Seconds)
	assert.LessOrEqual(t, e.Seconds, e.Largest)
	assert.Greater(t, e.PeakBytes, 1e6)
	again, err := p.Estimate(context.Background(), Launcher{Program: "none"})
	require.NoError(t, err)
	assert.Equal(t, e, again, "pilots run once")
	e.PeakBytes = 1e9
	assert.Equal(t, 4, e.Jobs(4, 100e9))
	assert.Equal(t, 2, e.Jobs(4, 3e9))
	assert.Equal(t, 1, e.Jobs(4, 1e8))
	assert.Equal(t, []int{0}, pilots(1))
	assert.Equal(t, []int{0, 1}, pilots(2))
}
