package vti

import (
	"encoding/csv"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/models"
)

// The files that Save writes can be read back, and Save does not replace other files.
func TestSave(t *testing.T) {
	target := newNormals(t, 2)
	posterior := &Posterior{evaluator: newEvaluatorOf(t, target, 256)}
	certificate, err := posterior.Certify(t.Context(), CertifyConfig{Draws: 1 << 12})
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "new", "run")
	cfg := SaveConfig{Coordinates: []string{"a", "b"}, Draws: 500, Seed: 3}
	require.NoError(t, certificate.Save(dir, cfg))

	sample := certificate.Sample.Resample(500, 3)
	require.FileExists(t, filepath.Join(dir, models.DrawsCSV))
	read, err := draws.Read(filepath.Join(dir, models.DrawsParquet))
	require.NoError(t, err)
	require.Equal(t, 500, read.Len())
	require.Equal(t, []string{"site.1", "site.2"}, read.Sites)
	require.Equal(t, []string{"a", "b"}, read.Coordinates)
	for i := range 500 {
		require.Equal(t, sample.Codes[i], read.Code(i))
		require.InDeltaSlice(t, sample.Theta.RawRowView(i), read.Values(i), 1e-12)
		require.InDelta(t, sample.LogP[i], read.LogP[i], 1e-12)
	}
	file, err := os.Open(filepath.Join(dir, models.ModelsCSV))
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 5)
	require.Equal(t, []string{"code", "q", "certified"}, rows[0][:3])
	require.Equal(t, "1 1", rows[1][0], "the most probable model comes first")

	err = certificate.Save(dir, cfg)
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, models.DrawsParquet)
	cfg.Replace, cfg.Draws = true, 100
	require.NoError(t, certificate.Save(dir, cfg))
	read, err = draws.Read(filepath.Join(dir, models.DrawsParquet))
	require.NoError(t, err)
	require.Equal(t, 100, read.Len())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "no temporary file is left")

	require.ErrorContains(t, certificate.Save(dir, SaveConfig{Sites: []string{"one"}}), "got names of 1 site and 2 coordinates, want 2 and 2")
	require.ErrorContains(t, (&Certificate{}).Save(dir, cfg), "does not come from Certify")
}
