package shard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/shard"
)

// squares returns a stage that counts the calls of Do.
func squares(calls *atomic.Int64) shard.Stage[int, []float64] {
	return shard.Stage[int, []float64]{
		Name: "squares",
		Key:  func(w io.Writer, i int) { shard.Numbers(w, []int{i}) },
		Do: func(_ context.Context, i int) ([]float64, error) {
			calls.Add(1)
			return []float64{float64(i * i), math.Inf(-1), math.NaN(), 1 / (float64(i) + 0.1)}, nil
		},
		Workers: 2,
	}
}

func inputs(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// requireSame requires that all numbers are the same to the bit.
func requireSame(t *testing.T, want, got [][]float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Len(t, got[i], len(want[i]))
		for k := range want[i] {
			require.Equal(t, math.Float64bits(want[i][k]), math.Float64bits(got[i][k]))
		}
	}
}

// Concurrent processes compute their own pieces, and each ends with all outputs.
func TestShardsMakeTheSame(t *testing.T) {
	var alone atomic.Int64
	want, err := shard.Map(t.Context(), nil, squares(&alone), inputs(30))
	require.NoError(t, err)
	dir := t.TempDir()
	const count = 4
	shards := make([]*shard.Shard, count)
	var calls atomic.Int64
	var wait sync.WaitGroup
	for k := range count {
		shards[k] = &shard.Shard{Dir: dir, Index: k, Count: count}
		wait.Go(func() {
			got, err := shard.Map(t.Context(), shards[k], squares(&calls), inputs(30))
			require.NoError(t, err)
			requireSame(t, want, got)
		})
	}
	wait.Wait()
	for _, s := range shards {
		require.Equal(t, 30, s.Computed()+s.Read())
	}
	require.EqualValues(t, 30, calls.Load(), "no piece was computed twice")
	merge := &shard.Shard{Dir: dir, Count: 1}
	got, err := shard.Map(t.Context(), merge, squares(&calls), inputs(30))
	require.NoError(t, err)
	requireSame(t, want, got)
	require.Equal(t, 0, merge.Computed())
}

// If the other processes never start, a process computes their pieces too.
func TestOneShardAloneEnds(t *testing.T) {
	var calls atomic.Int64
	s := &shard.Shard{Dir: t.TempDir(), Index: 1, Count: 3}
	got, err := shard.Map(t.Context(), s, squares(&calls), inputs(7))
	require.NoError(t, err)
	require.Equal(t, 36.0, got[6][0])
	require.EqualValues(t, 7, calls.Load())
}

// A stored piece is used only for its stage and input. A damaged piece is computed again.
func TestPiecesAreNotConfused(t *testing.T) {
	dir := t.TempDir()
	s := &shard.Shard{Dir: dir, Count: 1}
	var calls atomic.Int64
	stage := squares(&calls)
	first, err := shard.Map(t.Context(), s, stage, inputs(3))
	require.NoError(t, err)
	other := stage
	other.Name = "others"
	_, err = shard.Map(t.Context(), s, other, inputs(3))
	require.NoError(t, err)
	require.EqualValues(t, 6, calls.Load(), "another stage has pieces of its own")
	_, err = shard.Map(t.Context(), s, stage, []int{7, 1})
	require.NoError(t, err)
	require.EqualValues(t, 7, calls.Load(), "the piece of 1 is there wherever it stands")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.piece"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, path := range files {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		content[len(content)/2] ^= 1
		require.NoError(t, os.WriteFile(path, content, 0o644))
	}
	again, err := shard.Map(t.Context(), s, stage, inputs(3))
	require.NoError(t, err)
	requireSame(t, first, again)
	require.EqualValues(t, 10, calls.Load())
}

// A Map that fails or is stopped leaves its finished pieces, from which a later call continues.
func TestStoppedMapGoesOn(t *testing.T) {
	s := &shard.Shard{Dir: t.TempDir(), Count: 1}
	var calls atomic.Int64
	stage := squares(&calls)
	whole := stage.Do
	stage.Workers = 1
	stage.Do = func(ctx context.Context, i int) ([]float64, error) {
		if i == 3 {
			return nil, errors.New("no")
		}
		return whole(ctx, i)
	}
	_, err := shard.Map(t.Context(), s, stage, inputs(5))
	require.EqualError(t, err, "no")
	stage.Do = whole
	_, err = shard.Map(t.Context(), s, stage, inputs(5))
	require.NoError(t, err)
	require.EqualValues(t, 5, calls.Load())
}

// A process waits for a piece that another process computes, as long as the other process lives.
func TestShardWaitsForOneThatWorks(t *testing.T) {
	dir := t.TempDir()
	var calls atomic.Int64
	slow := squares(&calls)
	whole := slow.Do
	begun := make(chan struct{})
	slow.Do = func(ctx context.Context, i int) ([]float64, error) {
		close(begun)
		time.Sleep(300 * time.Millisecond)
		return whole(ctx, i)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := shard.Map(t.Context(), &shard.Shard{Dir: dir, Index: 0, Count: 2}, slow, inputs(1))
		require.NoError(t, err)
	})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var said string
	other := &shard.Shard{Dir: dir, Index: 1, Count: 2, Status: func(text string) { said = text }}
	_, err := shard.Map(ctx, other, squares(&calls), inputs(1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "squares: waiting for 1 of 1 piece", said)
	got, err := shard.Map(t.Context(), other, squares(&calls), inputs(1))
	require.NoError(t, err)
	require.Equal(t, 0.0, got[0][0])
	wait.Wait()
	require.EqualValues(t, 1, calls.Load())
	left, err := filepath.Glob(filepath.Join(dir, "*", "*.busy"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The claim of a killed process expires, because its file does not grow.
func TestDeadClaimsEnd(t *testing.T) {
	testkit.Long(t)
	dir := t.TempDir()
	var calls atomic.Int64
	s := &shard.Shard{Dir: dir, Count: 1}
	_, err := shard.Map(t.Context(), s, squares(&calls), inputs(1))
	require.NoError(t, err)
	pieces, err := filepath.Glob(filepath.Join(dir, "*", "*.piece"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(pieces[0], pieces[0]+".busy"))
	_, err = shard.Map(t.Context(), s, squares(&calls), inputs(1))
	require.NoError(t, err)
	require.EqualValues(t, 2, calls.Load())
}

func ExampleMap() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	part := &shard.Shard{Dir: dir, Index: 0, Count: 1}
	roots, err := shard.Map(context.Background(), part, shard.Stage[float64, float64]{
		Name: "roots",
		Key:  func(w io.Writer, x float64) { shard.Numbers(w, []float64{x}) },
		Do:   func(_ context.Context, x float64) (float64, error) { return math.Sqrt(x), nil },
	}, []float64{1, 4, 9})
	fmt.Println(roots, err)
	// Output: [1 2 3] <nil>
}
