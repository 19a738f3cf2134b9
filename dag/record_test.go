package dag

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/run"
)

// A record that is written to a run directory and read again gives the same problem. It is an error
// if the table has changed since the run began.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.csv")
	require.NoError(t, os.WriteFile(path, []byte(dagtest.CSV([]string{"a", "b"}, [][]float64{{1, 2}, {2, 1}, {4, 4}})), 0o644))
	record := &Record{Header: run.Header{Command: "dag", Data: path}, Model: score.ModelOptions{PriorSD: 2}, Constraints: tables.Constraints{Forbid: []string{"a->b"}}}
	first, _, err := record.Problem()
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(filepath.Dir(path), record))
	read, err := run.ReadRecord[Record](filepath.Dir(path))
	require.NoError(t, err)
	second, _, err := read.Problem()
	require.NoError(t, err)
	require.Equal(t, first.Families, second.Families)
	require.NoError(t, os.WriteFile(path, []byte("a,b\n1,2\n2,1\n4,5\n"), 0o644))
	_, _, err = read.Problem()
	require.ErrorContains(t, err, "has changed since the run started")
}
