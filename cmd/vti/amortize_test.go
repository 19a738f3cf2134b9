package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
)

// TestAmortizeAndFrom trains a network on simulated tables. The test checks that its file is not
// overwritten, and that tables of unsuitable size are refused. A selection that starts from the
// network must have a certificate for its own table. An answer that is exact without the network
// must also be exact with it.
func TestAmortizeAndFrom(t *testing.T) {
	dir := t.TempDir()
	network := filepath.Join(dir, "network.vti")
	train := []string{"amortize", "varsel", "--predictors", "3:4", "--rows", "10:20", "--steps", "3", "--batch", "4", "--held-out", "2", "--out", network}
	got := vtiCommand(t, append(train, "--json")...)
	require.Zero(t, got.status, got.stderr)
	var trained struct {
		Steps int
		Share float64 `json:"effective_share"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &trained))
	require.Equal(t, 3, trained.Steps)
	require.Greater(t, trained.Share, 0.0)

	got = vtiCommand(t, train...)
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "there is such a file; --resume goes on")
	got = vtiCommand(t, "amortize", "varsel", "--resume", network, "--steps", "9")
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "leave out --steps")
	got = vtiCommand(t, "amortize", "varsel", "--resume", network, "-q", "--held-out", "0") // the training of the network is finished
	require.Zero(t, got.status, got.stderr)

	hald := testdata(t, "hald.csv")
	from := []string{"varsel", hald, "--target", "y", "--from", network, "--no-report", "--json"}
	got = vtiCommand(t, append(from, "--from-only", "--out", filepath.Join(dir, "run"))...)
	require.Zero(t, got.status, got.stderr)
	var result struct {
		Steps       int
		Certificate struct{ Verdict, Basis string }
		Inclusion   []struct{ Q, Certified float64 }
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
	require.Equal(t, "trusted", result.Certificate.Verdict)
	require.Len(t, result.Inclusion, 4)
	for _, one := range result.Inclusion {
		require.InDelta(t, one.Certified, one.Q, 0.1)
	}

	for _, c := range []struct {
		args []string
		want string
	}{
		{append(from, "--likelihood", "robust"), "is for the gaussian likelihood, not for robust"},
		{append(from, "--prior-sd", "3"), "slab 1.5"},
		{append(from, "--exclude", "x1,x2"), "for 3 to 4 predictors, and the table has 2"},
		{[]string{"varsel", hald, "--target", "y", "--from-only"}, "--from is not given"},
		{[]string{"varsel", hald, "--target", "y", "--from", hald}, "hald.csv"},
		{[]string{"amortize", "varsel", "--out", filepath.Join(dir, "no", "such")}, "no such file"},
		{[]string{"amortize", "varsel", "--predictors", "8:2", "--out", "x"}, "expected low:high"},
		{[]string{"amortize", "varsel", "--predictors", "2:99", "--out", "x"}, "at most 16"},
	} {
		got := vtiCommand(t, c.args...)
		require.NotZero(t, got.status, c.args)
		require.Contains(t, got.stderr, c.want)
	}
	release, err := rundir.LockFile(network) // like another process that trains the network
	require.NoError(t, err)
	got = vtiCommand(t, "amortize", "varsel", "--resume", network)
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "is in use")
	release()
	damaged, err := os.ReadFile(network)
	require.NoError(t, err)
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(network, damaged, 0o600))
	got = vtiCommand(t, from...)
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "damaged")
}
