package table

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endless is a device that never ends. It counts the bytes read from it.
type endless struct {
	value byte
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.value
	}
	e.read += len(p)
	return len(p), nil
}

func TestReadBounded(t *testing.T) {
	zeros := &endless{value: 0}
	_, err := readBounded("zeros", zeros, 1<<30)
	require.ErrorContains(t, err, "zeros: not a table: binary content (byte 0x00 in line 1)")
	assert.LessOrEqual(t, zeros.read, 2*headBytes, "refused by its head")

	letters := &endless{value: 'a'}
	_, err = readBounded("letters", letters, 1<<20)
	require.ErrorContains(t, err, "got more than 1048576 bytes")
	assert.LessOrEqual(t, letters.read, 4<<20)

	exact := bytes.Repeat([]byte("1\n"), 100)
	content, err := readBounded("exact", bytes.NewReader(exact), 200)
	require.NoError(t, err)
	assert.Equal(t, exact, content)
}

func TestReadFileTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.csv")
	require.NoError(t, os.WriteFile(path, []byte("x\n"), 0o600))
	require.NoError(t, os.Truncate(path, maxFileBytes+1<<30)) // the file is sparse and takes no disk space
	_, err := ReadFile(path)
	require.ErrorContains(t, err, "got 5.0 GiB, want at most 4 GiB")
}
