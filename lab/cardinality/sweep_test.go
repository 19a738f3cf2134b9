package cardinality

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/varsel/design"
)

// newSweep is a study whose commands answer at once: a run has the number of predictors as its
// effective draws, and made counts them.
func newSweep(t *testing.T, made *atomic.Int64) Sweep {
	t.Helper()
	return Sweep{
		Predictors: []int{9, 20}, Levels: []design.Misspecification{design.MediumMisspecification}, DataSets: 2, Flow: "affine", Iterations: 600, Dir: t.TempDir(),
		Command: func(ctx context.Context, args ...string) ([]byte, error) {
			after := func(flag string) string { return args[slices.Index(args, flag)+1] }
			switch args[0] {
			case "simulate":
				return nil, os.WriteFile(after("--out"), []byte(after("--predictors")), 0o644)
			case "compare":
				return fmt.Appendf(nil, `{"cross_entropy": {"mean": %d, "se": 0.5}, "inclusion": [{"difference": -0.25}, {"difference": 0.125}]}`, len(args[2])-len(args[1])), nil
			}
			made.Add(1)
			table, err := os.ReadFile(args[slices.IndexFunc(args, func(arg string) bool { return strings.HasSuffix(arg, ".csv") })])
			if err != nil {
				return nil, err
			}
			dir := after("--out")
			answer := fmt.Sprintf(`{"seconds": {"total": 1}, "certificate": {"verdict": "doubtful", "khat": null, "ess": %s}, "diagnostics": {"verdict": "trusted", "rhat": 1.5}}`, table)
			return nil, errors.Join(ctx.Err(), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "result.json"), []byte(answer), 0o644))
		},
	}
}

// Every table gets chains, and a fit by each sampler that can hold its models; runs that are there
// stay, and what a command was killed at is made again.
func TestSweep(t *testing.T) {
	var made atomic.Int64
	s := newSweep(t, &made)
	rows, err := s.Run(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, row := range rows {
		names = append(names, row.Table()+" "+row.Sampler)
	}
	require.Equal(t, []string{
		"medium-9-1 categorical", "medium-9-1 surrogate", "medium-9-1 autoregressive",
		"medium-9-2 categorical", "medium-9-2 surrogate", "medium-9-2 autoregressive",
		"medium-20-1 autoregressive", "medium-20-2 autoregressive",
	}, names)
	require.EqualValues(t, 4+8, made.Load())
	require.EqualValues(t, 9, rows[0].ESS)
	require.EqualValues(t, 0.1875, rows[0].MeanError)
	require.EqualValues(t, 0.25, rows[0].LargestError)
	require.Equal(t, "doubtful trusted", rows[0].Verdict+" "+rows[0].ChainVerdict)

	again, err := s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(rows), fmt.Sprint(again)) // an absent k-hat is NaN
	require.EqualValues(t, 4+8, made.Load())

	s.Only = Samplers[:1]
	rows, err = s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	s.Only = nil

	s.Iterations, s.Predictors = 1200, []int{20} // other chains
	_, err = s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 4+8+2, made.Load())

	require.NoError(t, WriteFigure(filepath.Join(s.Dir, "figure"), "medium", again))
	for _, name := range []string{"figure.svg", "figure.png"} {
		require.FileExists(t, filepath.Join(s.Dir, name))
	}
	left, err := filepath.Glob(filepath.Join(s.Dir, ".work-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Processes that share a study make every run once, and end with its rows; a run that fails is an
// error, and leaves nothing that counts.
func TestSharedSweep(t *testing.T) {
	var alone, made atomic.Int64
	want, err := newSweep(t, &alone).Run(t.Context(), nil)
	require.NoError(t, err)
	s := newSweep(t, &made)
	whole := s.Command
	s.Command = func(ctx context.Context, args ...string) ([]byte, error) {
		if args[0] == "varsel" {
			return nil, errors.New("no")
		}
		return whole(ctx, args...)
	}
	_, err = s.Run(t.Context(), &shard.Shard{Dir: filepath.Join(s.Dir, "pieces"), Index: 0, Count: 2})
	require.EqualError(t, err, "no")
	s.Command = whole
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			rows, err := s.Run(t.Context(), &shard.Shard{Dir: filepath.Join(s.Dir, "pieces"), Index: i, Count: 2})
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(rows))
		})
	}
	both.Wait()
	require.EqualValues(t, 4+8, made.Load())
}

// A point of the figure is the mean over the tables of a kind.
func TestMeans(t *testing.T) {
	rows := []Row{
		{Level: "high", Predictors: 9, Sampler: "surrogate", CrossEntropy: 1}, {Level: "high", Predictors: 9, Sampler: "categorical", CrossEntropy: 7},
		{Level: "high", Predictors: 9, Sampler: "surrogate", CrossEntropy: 2}, {Level: "medium", Predictors: 9, Sampler: "surrogate", CrossEntropy: 9},
		{Level: "high", Predictors: 12, Sampler: "surrogate", CrossEntropy: 4},
	}
	require.Equal(t, "[{9 1.5} {12 4}]", fmt.Sprint(means(rows, "high", "surrogate")))
}
