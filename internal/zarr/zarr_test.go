package zarr

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inflate reads a chunk.
func inflate(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	z, err := zlib.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	return out
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.zarr")
	for range 2 { // the second store replaces the first
		w, err := Create(path)
		require.NoError(t, err)
		require.NoError(t, w.Group("posterior", map[string]any{"creation_library": "vti"}))
		shape := Shape{{"chain", 2}, {"draw", 3}}
		require.NoError(t, w.Floats("posterior", "sigma", shape, []float64{1, 2, 3, 4, 5, math.NaN()}))
		require.NoError(t, w.Integers("posterior", "chain", shape[:1], []int64{0, 1}))
		require.NoError(t, w.Texts("posterior", "name", "name", []string{"aβ", "b"}))
		require.NoError(t, w.Columns("posterior", "y", append(shape, Dim{"row", 2}), func(at int, values []float64) error {
			for i := range values {
				values[i] = float64(10*at + i)
			}
			return nil
		}))
		require.Error(t, w.Floats("posterior", "a/b", shape[:1], []float64{1, 2}))
		require.NoFileExists(t, filepath.Join(path, ".zmetadata.part"))
		require.NoError(t, w.Close())
		w.Abort()
	}
	content, err := os.ReadFile(filepath.Join(path, "posterior", "sigma", ".zarray"))
	require.NoError(t, err)
	var meta struct {
		Shape, Chunks []int
		DType         string
	}
	require.NoError(t, json.Unmarshal(content, &meta))
	assert.Equal(t, []int{2, 3}, meta.Shape)
	assert.Equal(t, "<f8", meta.DType)
	values := inflate(t, filepath.Join(path, "posterior", "sigma", "0.0"))
	assert.Equal(t, 4.0, math.Float64frombits(binary.LittleEndian.Uint64(values[24:])))
	texts := inflate(t, filepath.Join(path, "posterior", "name", "0"))
	assert.Equal(t, []byte{'a', 0, 0, 0, 0xb2, 3, 0, 0, 'b', 0, 0, 0, 0, 0, 0, 0}, texts)
	y := inflate(t, filepath.Join(path, "posterior", "y", "0.0.0"))
	assert.Equal(t, 11.0, math.Float64frombits(binary.LittleEndian.Uint64(y[3*8:])), "draw 1, row 1")
	all, err := os.ReadFile(filepath.Join(path, ".zmetadata"))
	require.NoError(t, err)
	assert.Contains(t, string(all), `"posterior/y/.zarray"`)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1)

	_, err = Create(filepath.Dir(path))
	require.ErrorContains(t, err, "no Zarr store: it is not replaced")
	w, err := Create(filepath.Join(t.TempDir(), "x.zarr"))
	require.NoError(t, err)
	assert.Panics(t, func() { _ = w.Floats("", "x", Shape{{"a", 2}}, []float64{1}) })
	w.Abort()
}
