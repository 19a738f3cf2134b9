package vti_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/shard"
)

// everything returns a certificate as text, each number with all its digits.
func everything(c *vti.Certificate) string {
	return fmt.Sprintln(c.Verdict, c.Reasons, c.Basis, c.Confirmed, c.KHat, c.ESS, c.RHat, c.Draws, c.LogEvidence, c.LogEvidenceSE, c.NonFinite,
		c.Models, c.Sample.Codes, c.Sample.Theta.RawMatrix().Data, c.Sample.LogP, c.Sample.LogQ, c.Sample.Weight, c.Sample.Group, c.Proposed)
}

// TestSharedCertificatesAreThatOfOne checks, for every method of certification, that processes that
// share a certificate end with the same certificate, to the bit, as a process that works alone.
// This must also hold for a process that only reads the results of other processes.
func TestSharedCertificatesAreThatOfOne(t *testing.T) {
	testkit.Slow(t)
	open := func(target vti.Target) (p [2]*vti.Posterior) { // a Posterior is not safe for concurrent use
		for i := range p {
			var err error
			p[i], err = vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, smallConfig())
			require.NoError(t, err)
		}
		return p
	}
	for name, c := range map[string]struct {
		target vti.Target
		cfg    vti.CertifyConfig
	}{
		"each model":  {newConjugate(40, 4), vti.CertifyConfig{Draws: 1 << 13}},
		"joint":       {newConjugate(40, 4), vti.CertifyConfig{MaxModels: 1, Draws: 1 << 13}},
		"chains":      {newConjugate(40, 4), vti.CertifyConfig{Draws: 1 << 10, Confirm: true, ChainGroups: 2}},
		"exact sum":   {exactConjugate{newConjugate(12, 14), false}, vti.CertifyConfig{}},
		"many models": {exactConjugate{newConjugate(12, 14), false}, vti.CertifyConfig{MaxModels: 1, Draws: 1 << 12}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "each model" && name != "joint" {
				testkit.Long(t)
			}
			pair := open(c.target)
			alone, err := pair[0].Certify(t.Context(), c.cfg)
			require.NoError(t, err)
			want := everything(alone)
			dir := t.TempDir()
			certify := func(posterior *vti.Posterior, index, count int) *shard.Shard {
				part := &shard.Shard{Dir: dir, Index: index, Count: count}
				cfg := c.cfg
				cfg.Shard = part
				got, err := posterior.Certify(t.Context(), cfg)
				require.NoError(t, err)
				require.Equal(t, want, everything(got))
				return part
			}
			if name == "exact sum" || name == "many models" { // the posterior has stored the evidences that it computed before
				pair = open(c.target)
			}
			var first, second *shard.Shard
			var both sync.WaitGroup
			both.Go(func() { first = certify(pair[0], 0, 2) })
			both.Go(func() { second = certify(pair[1], 1, 2) })
			both.Wait()
			require.Positive(t, first.Computed()+second.Computed())
			require.Equal(t, second.Computed()+second.Read(), first.Computed()+first.Read())
			require.Zero(t, certify(pair[0], 0, 1).Computed())
		})
	}
}

// A posterior that Fit or Solve has trained and stored gets its original certificate again.
func TestRecertify(t *testing.T) {
	target := newConjugate(40, 4)
	device := openDevice(t, gpu.CPU)
	cfg := smallConfig()
	cfg.Checkpoint = filepath.Join(t.TempDir(), "posterior.vti")
	trained, err := vti.Fit(t.Context(), device, target, cfg)
	require.NoError(t, err)
	want, err := trained.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 13})
	require.NoError(t, err)
	posterior, got, err := vti.Recertify(t.Context(), device, target, vti.SolveConfig{Fit: cfg, Certify: vti.CertifyConfig{Draws: 1 << 13}})
	require.NoError(t, err)
	require.Equal(t, trained.Steps(), posterior.Steps())
	require.Equal(t, everything(want), everything(got))

	solve := vti.SolveConfig{Fit: vti.Config{Flow: cfg.Flow, Seed: 3, Batch: cfg.Batch, Checkpoint: filepath.Join(t.TempDir(), "posterior.vti")}.InRounds()}
	solution, err := vti.Solve(t.Context(), device, target, solve)
	require.NoError(t, err)
	_, got, err = vti.Recertify(t.Context(), device, target, solve)
	require.NoError(t, err)
	require.InDelta(t, solution.Certificate.LogEvidence, got.LogEvidence, 5*(solution.Certificate.LogEvidenceSE+got.LogEvidenceSE)+1e-9)
	_, _, err = vti.Recertify(t.Context(), device, target, vti.SolveConfig{Fit: vti.Config{Checkpoint: "none"}})
	require.ErrorIs(t, err, os.ErrNotExist)
}
