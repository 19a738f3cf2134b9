package checkpoint

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type header struct {
	Version int    `json:"version"`
	Note    string `json:"note"`
}

var format = Format{Name: "test file", Magic: "test.one", Version: 3}

func bytesOf(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, format.Write(path, header{3, "a note"}, bytesOf("payload")))
	var read header
	payload, err := format.Read(path, &read)
	require.NoError(t, err)
	assert.Equal(t, header{3, "a note"}, read)
	assert.Equal(t, "payload", string(payload))
}

// TestDamageIsRefused changes each byte of a file, cuts the file at each length, and reads files of
// another kind. Each reading must return an error.
func TestDamageIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, format.Write(path, header{3, "a note"}, bytesOf("payload")))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var read header
	for i := range content {
		broken := append([]byte{}, content...)
		broken[i] ^= 1
		require.NoError(t, os.WriteFile(path, broken, 0o644))
		_, err := format.Read(path, &read)
		require.Error(t, err, "byte %d", i)
		require.NoError(t, os.WriteFile(path, content[:i], 0o644))
		_, err = format.Read(path, &read)
		require.Error(t, err, "length %d", i)
	}
	require.NoError(t, os.WriteFile(path, content, 0o644))
	_, err = Format{Name: "other file", Magic: "test.two", Version: 3}.Read(path, &read)
	assert.ErrorContains(t, err, `not a other file: got`)
	_, err = Format{Name: "test file", Magic: "test.one", Version: 4}.Read(path, &read)
	assert.ErrorContains(t, err, "got checkpoint format version 3, want version 4")
}

// TestFailedWriteKeepsTheFile checks that an error while writing leaves an older file unchanged.
func TestFailedWriteKeepsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, format.Write(path, header{3, "kept"}, bytesOf("payload")))
	failed := errors.New("no more")
	require.ErrorIs(t, format.Write(path, header{3, "lost"}, func(io.Writer) error { return failed }), failed)
	var read header
	_, err := format.Read(path, &read)
	require.NoError(t, err)
	assert.Equal(t, "kept", read.Note)
}

func TestCheckSettings(t *testing.T) {
	assert.NoError(t, CheckSettings("file", json.RawMessage(`{"a":1,"b":[2]}`), json.RawMessage(`{"b":[2],"a":1}`)))
	err := CheckSettings("file", json.RawMessage(`{"a":1,"b":2}`), json.RawMessage(`{"a":3,"c":4}`))
	assert.EqualError(t, err, "file was written by a different run: a was 1 and is now 3; b was 2 and is now absent; c was absent and is now 4")
	assert.ErrorContains(t, CheckSettings("file", json.RawMessage(`[]`), json.RawMessage(`{}`)), "cannot be read")
}

// FuzzRead checks that reading any bytes gives either an error, or a header and a payload that are
// the same after writing and reading them again. The test repairs the checksum, because otherwise
// every damaged input would fail at the checksum.
func FuzzRead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "state")
	require.NoError(f, format.Write(path, header{3, "a note"}, bytesOf("payload")))
	content, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(content[:len(content)-sha256.Size])
	f.Fuzz(func(t *testing.T, content []byte) {
		sum := sha256.Sum256(content)
		require.NoError(t, os.WriteFile(path, append(content, sum[:]...), 0o644))
		var read, again header
		payload, err := format.Read(path, &read)
		if err != nil {
			return
		}
		require.NoError(t, format.Write(path, read, bytesOf(string(payload))))
		payloadAgain, err := format.Read(path, &again)
		require.NoError(t, err)
		require.Equal(t, read, again)
		require.Equal(t, payload, payloadAgain)
	})
}
