package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	mlcontext "github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
)

// FuzzRestoreVariables checks that restoring any header and payload gives either an error, or
// variables that take no more memory than the payload.
func FuzzRestoreVariables(f *testing.F) {
	path := filepath.Join(f.TempDir(), "state.vti")
	variables := mlcontext.New()
	variables.In("a").VariableWithValue("x", []float32{1, 2, 3})
	variables.In("b").VariableWithValue("n", int64(4))
	settings := json.RawMessage(`{"seed":1}`)
	require.NoError(f, WriteVariables(path, variables, Info{Step: 7, Settings: settings}))
	content, err := os.ReadFile(path)
	require.NoError(f, err)
	const magic = 8 // length in bytes
	body := content[magic+4 : len(content)-sha256.Size]
	length := binary.LittleEndian.Uint32(content[magic:])
	f.Add(body[:length], body[length:])
	f.Fuzz(func(t *testing.T, header, payload []byte) {
		file := binary.LittleEndian.AppendUint32(content[:magic:magic], uint32(len(header)))
		file = append(append(file, header...), payload...)
		sum := sha256.Sum256(file)
		require.NoError(t, os.WriteFile(path, append(file, sum[:]...), 0o644))
		restored := mlcontext.New()
		if _, err := RestoreVariables(path, restored, settings); err != nil {
			return
		}
		require.LessOrEqual(t, int(restored.Memory()), len(payload))
	})
}
