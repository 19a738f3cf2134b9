//go:build quality

package study

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tinyTask is a program that replaces vti. It reads its table and answers at once.
const tinyTask = `#!/bin/sh
for a in "$@"; do case $a in --out=*) out=${a#--out=};; --seed=*) seed=${a#--seed=};; esac; done
read -r y <"$2" || { echo "vti: $2: cannot be read" >&2; exit 2; }
mkdir -p "$out" && echo "{\"log_evidence\":0.$seed,\"y\":$y}" >"$out/result.json" && exit 0
echo "vti: writing: no space left on device" >&2
exit 1
`

// TestFaults runs tiny tasks in four processes. The processes are killed at random moments and
// started again. At times the file system is full. One table is unreadable, and two other processes
// collect results meanwhile. The results must equal, byte for byte, the results of a run without
// disturbances. The test needs root, to mount a small tmpfs. VTI_TEST_TASKS replaces the number of
// tasks, 10,000.
func TestFaults(t *testing.T) {
	tasks := 10_000
	if text := os.Getenv("VTI_TEST_TASKS"); text != "" {
		_, err := fmt.Sscan(text, &tasks)
		require.NoError(t, err)
	}
	files := map[string]string{"tiny": tinyTask}
	for i := range tasks {
		files[fmt.Sprintf("tables/t%05d.csv", i)] = fmt.Sprintf("%d\n", i)
	}
	const plan = "command = \"fake\"\nseed = 4\ntables = {files = [\"tables/*.csv\"]}"
	unreadable := func(p *Plan) {
		path := filepath.Join(filepath.Dir(p.Path()), "tables", fmt.Sprintf("t%05d.csv", tasks/2))
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Mkdir(path, 0o755))
	}
	quiet, faulty := newPlan(t, plan, files), newPlan(t, plan, files)
	unreadable(quiet)
	unreadable(faulty)
	program := func(p *Plan) string {
		path := filepath.Join(filepath.Dir(p.Path()), "tiny")
		require.NoError(t, os.Chmod(path, 0o755))
		return path
	}
	started := time.Now()
	state, err := quiet.Run(context.Background(), RunConfig{Launcher: Launcher{Program: program(quiet), Seeded: func(string) bool { return true }}, Jobs: 4})
	require.NoError(t, err)
	require.Equal(t, 1, state.Failed)
	fmt.Printf("%d tasks in a quiet run: %.0f s\n", tasks, time.Since(started).Seconds())

	require.NoError(t, os.MkdirAll(faulty.Dir(), 0o755))
	size := fmt.Sprintf("size=%dm,nr_inodes=%d", 16+tasks*12/1000, 1000+8*tasks)
	require.NoError(t, exec.Command("mount", "-t", "tmpfs", "-o", size, "tmpfs", faulty.Dir()).Run())
	defer exec.Command("umount", "-l", faulty.Dir()).Run()
	var kills, starts, full, collections atomic.Int64
	ctx, over := context.WithCancel(context.Background())
	defer over()
	var wait sync.WaitGroup
	const shards = 4
	var open sync.WaitGroup
	for shard := range shards {
		open.Add(1)
		wait.Go(func() { disturbed(t, faulty, program(faulty), shard, shards, &kills, &starts); open.Done() })
	}
	wait.Go(func() { fillDisk(ctx, faulty.Dir(), &full) })
	for i := range 2 {
		wait.Go(func() {
			for ctx.Err() == nil {
				out := filepath.Join(t.TempDir(), fmt.Sprintf("now-%d.parquet", i))
				summary, err := faulty.Collect(context.Background(), CollectConfig{Out: out})
				if err != nil || summary.Done+summary.Failed+summary.Missing != tasks {
					t.Errorf("collector: %v, %+v", err, summary)
				}
				collections.Add(1)
				time.Sleep(time.Second)
			}
		})
	}
	started = time.Now()
	open.Wait()
	over()
	wait.Wait()
	fmt.Printf("with faults: %.0f s; %d processes started, %d killed; disk full %d times; %d collections\n",
		time.Since(started).Seconds(), starts.Load(), kills.Load(), full.Load(), collections.Load())
	wantSummary, want := collect(t, quiet)
	gotSummary, got := collect(t, faulty)
	a, err := os.ReadFile(want)
	require.NoError(t, err)
	b, err := os.ReadFile(got)
	require.NoError(t, err)
	require.Equal(t, 0, gotSummary.Missing, "lost")
	require.Equal(t, wantSummary.Done, gotSummary.Done)
	require.Equal(t, 1, gotSummary.Failed, "the table that cannot be read")
	require.True(t, string(a) == string(b), "the same bytes")
	require.Equal(t, tree(t, quiet), tree(t, faulty), "no task is there twice, and all records are the same")
	fmt.Println("lost 0, doubled 0, failed 1 (the table that cannot be read)")
}

// disturbed runs the tasks of a shard until all are done, in processes that are killed after random
// times.
func disturbed(t *testing.T, p *Plan, program string, shard, shards int, kills, starts *atomic.Int64) {
	random := rand.New(rand.NewPCG(uint64(shard), 1))
	for {
		worker := exec.Command(os.Args[0])
		worker.Env = append(os.Environ(), fmt.Sprintf("%s=%d/%d %s %s", workerVariable, shard, shards, p.Path(), program))
		if err := worker.Start(); err != nil {
			t.Error(err)
			return
		}
		starts.Add(1)
		killer := time.AfterFunc(time.Duration(500+random.IntN(15_000))*time.Millisecond, func() { _ = worker.Process.Signal(syscall.SIGKILL) })
		err := worker.Wait()
		killer.Stop()
		if err == nil {
			return
		}
		if status, ok := worker.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			kills.Add(1)
		}
	}
}

// fillDisk repeatedly fills the file system for a moment, until ctx is cancelled.
func fillDisk(ctx context.Context, dir string, full *atomic.Int64) {
	path := filepath.Join(dir, "filler")
	defer os.Remove(path)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(8 * time.Second):
		}
		file, err := os.Create(path)
		if err != nil {
			continue
		}
		block := make([]byte, 1<<20)
		for err == nil {
			_, err = file.Write(block)
		}
		file.Close()
		full.Add(1)
		time.Sleep(time.Second)
		os.Remove(path)
	}
}
