package table

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/columnar"
)

// parquetFile returns a file in two row groups, written by the library arrow-go.
func parquetFile(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "arrow-go.parquet"))
	require.NoError(t, err)
	return content
}

// TestParseParquet reads one table from the files of five writers, which differ in encoding and
// compression, and checks its values.
func TestParseParquet(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, path := range files {
		table, err := ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, 6, table.Rows())
		assert.Equal(t, []string{"x", "n", "b", "g", "d", "m", "h"}, table.Names())
		x := lookup(t, table, "x")
		assert.Equal(t, []float64{1, 2.5}, x.Values[3:5], path)
		assert.Equal(t, 2, x.Missing)
		assert.Equal(t, []float64{7, -8, 9, 7, -8, 9}, lookup(t, table, "n").Values, path)
		assert.Equal(t, []float64{1, 0, 1, 1, 0, 1}, lookup(t, table, "b").Values, path)
		g := lookup(t, table, "g")
		assert.Equal(t, []string{"t", "u"}, g.Levels)
		assert.Equal(t, []int{1, -1, 0, 1, -1, 0}, g.Codes, path)
		assert.Equal(t, 2, g.Missing)
		assert.Equal(t, "row 2", table.Place(1))
		m := lookup(t, table, "m")
		assert.Equal(t, []float64{0.1, -12345678901234567.891}, m.Values[:2], path)
		assert.Equal(t, 2, m.Missing)
		assert.Equal(t, []float64{1.5, -2, 0}, lookup(t, table, "h").Values[:3], path)
		_, err = table.Lookup("d")
		require.ErrorContains(t, err, path+`: column "d": got the Parquet type DATE, want numbers, booleans or text`)
	}
}

func TestParseParquetRefuses(t *testing.T) {
	var content bytes.Buffer
	w, err := columnar.NewWriter(&content, []columnar.Column{{Name: "x", Kind: columnar.Double}}, nil)
	require.NoError(t, err)
	w.Double(1)
	w.Double(math.Inf(1))
	require.NoError(t, w.Close())
	infinite, err := Parse("data.parquet", content.Bytes())
	require.NoError(t, err)
	_, err = infinite.Lookup("x")
	require.ErrorContains(t, err, `row 2, column "x": got +Inf, want a finite number or null`)
}

// TestParseParquetDamaged checks that prefixes of a file, and changes of one byte, give an error or
// a table, and never a panic.
func TestParseParquetDamaged(t *testing.T) {
	good := parquetFile(t)
	for n := 0; n < len(good); n += 37 {
		_, err := Parse("data.parquet", good[:n])
		require.Error(t, err)
	}
	for i := 0; i < len(good); i += 7 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		_, err := Parse("data.parquet", bad)
		if err != nil {
			assert.Contains(t, err.Error(), "data.parquet: ")
		}
	}
}

// TestWriteParquet checks that leaving out rows changes no column. Labels stay labels where only
// numbers are left, numbers stay numbers where no number is left, and every digit is kept.
func TestWriteParquet(t *testing.T) {
	from, err := Parse("x.csv", []byte("a,b,c\n0.1,\"1\",NA\n3,\"x\",2\nNA,NA,1e300\n"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "part.parquet")
	require.NoError(t, from.WriteParquet(path, []string{"c", "b", "a"}, func(row int) bool { return row != 1 }))
	read, err := ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, []string{"c", "b", "a"}, read.Names())
	for name, want := range map[string][]string{"a": {"0.1", "NA"}, "b": {"1", "NA"}, "c": {"NA", "1e+300"}} {
		before, err := from.Lookup(name)
		require.NoError(t, err)
		c, err := read.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, before.Kind, c.Kind, name)
		require.Equal(t, want, []string{c.Text(0), c.Text(1)})
	}
	require.NoError(t, from.WriteParquet(path, []string{"c"}, func(row int) bool { return row == 0 }))
	read, err = ReadFile(path)
	require.NoError(t, err)
	c, err := read.Lookup("c")
	require.NoError(t, err)
	require.Equal(t, Numeric, c.Kind)
	require.ErrorContains(t, from.WriteParquet(path, []string{"d"}, nil), `no column "d"`)
}
