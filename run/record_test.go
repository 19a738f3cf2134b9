package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reading a table for the first time records its fingerprint. Reading it again fails if the
// fingerprint has changed.
func TestHeaderInsistsOnItsTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.csv")
	require.NoError(t, os.WriteFile(path, []byte("x,y\n1,2\n3,4\n"), 0o644))
	header := Header{Data: path}
	read, err := header.Table()
	require.NoError(t, err)
	require.Len(t, header.Fingerprint, 64)
	require.Equal(t, read.Fingerprint, header.Fingerprint)
	_, err = header.Table()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("x,y\n1,2\n3,5\n"), 0o644))
	before := header.Fingerprint
	_, err = header.Table()
	require.ErrorContains(t, err, "data.csv has changed since the run started: its SHA-256 is ")
	require.Equal(t, before, header.Fingerprint)
}
