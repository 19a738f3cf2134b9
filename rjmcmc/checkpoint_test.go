package rjmcmc

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// stopping is a context that is cancelled after *left calls of Err, one for each move.
type stopping struct {
	context.Context
	left *int
}

func (s stopping) Err() error {
	if *s.left--; *s.left < 0 {
		return context.Canceled
	}
	return nil
}

// A run that is stopped again and again, after any moves of burn-in or later, ends with the draws
// of an uninterrupted run, bit by bit.
func TestResumedRunsAreTheSameRun(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	base := Config{Chains: 6, BurnIn: 60, Iterations: 60, Thin: 3, Seed: 5}
	tempered, jumping, early, longer := base, base, base, base
	tempered.Temperatures = 3
	jumping.Jumps = 2
	early.Enough = func(r *Result) bool { return r.Draws() >= 6*6 }
	longer.Further = func(r *Result) int { return max(12, 3*(40-r.Draws()/r.Chains)) * min(1, 40-r.Draws()/r.Chains) }
	for _, c := range []struct {
		name   string
		target Target
		cfg    Config
	}{
		{"longer than at first", correlatedLinear(t), longer},
		{"fitted quadratic", correlatedLinear(t), base},
		{"tempered", correlatedLinear(t), tempered},
		{"ended early", correlatedLinear(t), early},
		{"lists with an approximation", approximated{smallList(t)}, jumping},
		{"lists without", smallList(t), base},
	} {
		t.Run(c.name, func(t *testing.T) {
			backend := testkit.Backend(t)
			want, err := Run(context.Background(), backend, c.target, c.cfg)
			require.NoError(t, err)
			cfg := c.cfg
			cfg.Checkpoint = filepath.Join(t.TempDir(), "chains")
			stops := 0
			for {
				left := 1 + random.IntN(250)
				got, err := Run(stopping{context.Background(), &left}, backend, c.target, cfg)
				cfg.Resume = true
				if err == nil {
					assert.True(t, reflect.DeepEqual(want, got), "the resumed run differs")
					break
				}
				require.ErrorIs(t, err, context.Canceled)
				stops++
			}
			assert.Positive(t, stops)
			again, err := Run(context.Background(), backend, c.target, cfg)
			require.NoError(t, err)
			assert.True(t, reflect.DeepEqual(want, again), "a run that had ended differs")
		})
	}
}

func TestCheckpointsOfOtherRunsAreRefused(t *testing.T) {
	backend, l := testkit.Backend(t), correlatedLinear(t)
	cfg := Config{Chains: 4, BurnIn: 10, Iterations: 10, Checkpoint: filepath.Join(t.TempDir(), "chains")}
	_, err := Run(context.Background(), backend, l, cfg)
	require.NoError(t, err)
	content, err := os.ReadFile(cfg.Checkpoint)
	require.NoError(t, err)
	cfg.Resume = true
	resume := func(target Target, cfg Config) error {
		_, err := Run(context.Background(), backend, target, cfg)
		return err
	}
	other := cfg
	other.Seed, other.Chains = 3, 5
	assert.ErrorContains(t, resume(l, other), "written by a different run: chains was 4 and is now 5; seed was 0 and is now 3")
	data := l
	data.y = append([]float64{l.y[0] + 1}, l.y[1:]...)
	assert.ErrorContains(t, resume(data, cfg), "another target")
	absent := cfg
	absent.Checkpoint += ".not"
	assert.ErrorIs(t, resume(l, absent), os.ErrNotExist)
	for name, broken := range map[string][]byte{
		"damaged checkpoint":         append(append([]byte{}, content[:1000]...), append([]byte{content[1000] ^ 1}, content[1001:]...)...),
		"damaged checkpoint: its":    content[:len(content)-5],
		"not a checkpoint of chains": []byte("something else entirely, long enough to hold a checksum"),
	} {
		require.NoError(t, os.WriteFile(cfg.Checkpoint, broken, 0o644))
		assert.ErrorContains(t, resume(l, cfg), name)
	}
}
