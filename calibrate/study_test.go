package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/shard"
)

// counted is a [Source] that notes the seed of each replicate that a study requests.
type counted struct {
	name  string
	seeds []uint64
	fail  int // the call of Replicate that fails, counted from 1; 0 if none fails
}

func (c *counted) Name() string { return c.name }

func (c *counted) Replicate(_ context.Context, seed uint64, _ string) (*Replicate, error) {
	c.seeds = append(c.seeds, seed)
	if len(c.seeds) == c.fail {
		return nil, errors.New("stopped")
	}
	return &Replicate{Verdict: trusted, Comparisons: []Comparison{{Inclusion, "x", Number(math.NaN()), 0, 0.5}}}, nil
}

// A study that was stopped, even in the middle of a line of results, continues with the first
// replicate that has no complete line. If the directory holds another study, Run returns an error.
func TestStudyGoesOn(t *testing.T) {
	whole := &counted{name: "a"}
	list, err := Run(t.Context(), whole, Config{Replicates: 5, Seed: 7, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, list, 5)

	dir := t.TempDir()
	first := &counted{name: "a", fail: 4}
	_, err = Run(t.Context(), first, Config{Replicates: 5, Seed: 7, Dir: dir})
	require.ErrorContains(t, err, "replicate 3: stopped")
	path := filepath.Join(dir, ResultsFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)-10], 0o600)) // the third line is cut off
	second := &counted{name: "a"}
	again, err := Run(t.Context(), second, Config{Replicates: 5, Seed: 7, Dir: dir})
	require.NoError(t, err)
	require.Equal(t, whole.seeds[2:], second.seeds)
	require.Len(t, again, 5)
	require.Equal(t, 4, again[4].Number)
	require.True(t, math.IsNaN(float64(again[0].Comparisons[0].Stated)), "what was not stated stays so")

	_, err = Run(t.Context(), &counted{name: "b"}, Config{Replicates: 5, Seed: 7, Dir: dir})
	require.ErrorContains(t, err, "another study")
}

// A number is wrong if its error is larger than both the tolerance for its quantity and four
// standard errors. Only a trusted answer lists its wrong numbers.
func TestWrong(t *testing.T) {
	for _, c := range []struct {
		comparison Comparison
		wrong      bool
	}{
		{Comparison{Inclusion, "", 0.52, 0.001, 0.5}, true},
		{Comparison{Inclusion, "", 0.52, 0.006, 0.5}, false},
		{Comparison{Inclusion, "", 0.509, 0, 0.5}, false},
		{Comparison{Inclusion, "", Number(math.NaN()), Number(math.NaN()), 0.5}, false},
		{Comparison{Inclusion, "", 0.9, Number(math.NaN()), 0.5}, true},
		{Comparison{Evidence, "", -90, 0.01, -90.06}, true},
		{Comparison{SD, "", Number(math.Log(1.2)), 0.01, 0}, true},
		{Comparison{SD, "", Number(math.Log(1.09)), 0.01, 0}, false},
	} {
		require.Equal(t, c.wrong, c.comparison.Wrong(), c.comparison.String())
	}
	doubtful := &Replicate{Verdict: "doubtful", Comparisons: []Comparison{{Inclusion, "", 0.9, 0, 0.5}}}
	require.Empty(t, doubtful.Wrong())
	doubtful.Verdict = trusted
	require.Len(t, doubtful.Wrong(), 1)
}

// Two processes that share a study draw the same replicates as one process alone. A third process
// that starts after all replicates are drawn draws none.
func TestSharedStudy(t *testing.T) {
	alone, err := Run(t.Context(), &counted{name: "a"}, Config{Replicates: 9, Seed: 2, Dir: t.TempDir()})
	require.NoError(t, err)
	dir := t.TempDir()
	pieces := filepath.Join(dir, "pieces")
	for i := range 2 {
		part := &shard.Shard{Dir: pieces, Index: i, Count: 2}
		_, err := Run(t.Context(), &counted{name: "a"}, Config{Replicates: 9, Seed: 2, Dir: dir, Shard: part})
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(dir, ResultsFile))
	}
	merge := &shard.Shard{Dir: pieces, Count: 1}
	got, err := Run(t.Context(), &counted{name: "a"}, Config{Replicates: 9, Seed: 2, Dir: dir, Shard: merge})
	require.NoError(t, err)
	require.Zero(t, merge.Computed())
	want, err := json.Marshal(alone)
	require.NoError(t, err)
	put, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(put))
	require.FileExists(t, filepath.Join(dir, ResultsFile))
}
