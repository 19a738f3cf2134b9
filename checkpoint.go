package vti

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/atomicfile"
)

// A checkpoint file holds, in this order: the magic bytes, the length of the header (uint32), the
// header (JSON), the values of the variables in the header's order, and the SHA-256 of all before
// it. Numbers are little endian. The step number and every random state are variables or header
// fields, so a run that starts from a checkpoint takes exactly the steps that the interrupted one
// would have taken.
const (
	checkpointMagic   = "vti.post"
	checkpointVersion = 1
)

// checkpointHeader describes the content of a checkpoint file.
type checkpointHeader struct {
	Version   int                  `json:"version"`
	Step      int                  `json:"step"`
	Settings  json.RawMessage      `json:"settings"`
	Variables []checkpointVariable `json:"variables"`
}

type checkpointVariable struct {
	Scope     string `json:"scope"`
	Name      string `json:"name"`
	DType     string `json:"dtype"`
	Dims      []int  `json:"dims"`
	Trainable bool   `json:"trainable"`
}

// CheckpointInfo is what a checkpoint file says of itself.
type CheckpointInfo struct {
	// Step is the number of training steps taken.
	Step int
	// Settings are the settings of the run that wrote the file, as JSON.
	Settings json.RawMessage
}

// ReadCheckpointInfo reads and verifies the file at path and returns its description.
func ReadCheckpointInfo(path string) (CheckpointInfo, error) {
	header, _, err := readCheckpoint(path)
	if err != nil {
		return CheckpointInfo{}, err
	}
	return CheckpointInfo{Step: header.Step, Settings: header.Settings}, nil
}

// WriteCheckpoint stores every variable of ctx that has a value in the file at path, with the
// number of steps taken and the settings of the run, a JSON object.
func WriteCheckpoint(path string, ctx *context.Context, step int, settings json.RawMessage) error {
	header := checkpointHeader{Version: checkpointVersion, Step: step, Settings: settings}
	var payload bytes.Buffer
	for variable := range ctx.IterVariables() {
		if !variable.HasValue() {
			continue
		}
		value, err := variable.Value()
		if err != nil {
			return fmt.Errorf("checkpoint: reading variable %s: %w", variable.ScopeAndName(), err)
		}
		header.Variables = append(header.Variables, checkpointVariable{
			Scope: variable.Scope(), Name: variable.Name(), DType: variable.DType().String(),
			Dims: variable.Shape().Dimensions, Trainable: variable.Trainable,
		})
		if err := value.ConstBytes(func(data []byte) { payload.Write(data) }); err != nil {
			return fmt.Errorf("checkpoint: reading variable %s: %w", variable.ScopeAndName(), err)
		}
	}
	encoded, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("checkpoint: encoding header: %w", err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		digest := sha256.New()
		both := io.MultiWriter(w, digest)
		length := binary.LittleEndian.AppendUint32(nil, uint32(len(encoded)))
		for _, part := range [][]byte{[]byte(checkpointMagic), length, encoded, payload.Bytes()} {
			if _, err := both.Write(part); err != nil {
				return err
			}
		}
		_, err := w.Write(digest.Sum(nil))
		return err
	})
}

// readCheckpoint returns the header and the bytes of the variables, after verifying the checksum.
func readCheckpoint(path string) (*checkpointHeader, []byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading checkpoint: %w", err)
	}
	preamble := len(checkpointMagic) + 4
	if len(content) < preamble+sha256.Size || string(content[:len(checkpointMagic)]) != checkpointMagic {
		return nil, nil, fmt.Errorf("%s: not a vti checkpoint: expected a file that starts with %q, found %d bytes starting with %q",
			path, checkpointMagic, len(content), content[:min(len(content), len(checkpointMagic))])
	}
	body, sum := content[:len(content)-sha256.Size], content[len(content)-sha256.Size:]
	if actual := sha256.Sum256(body); !bytes.Equal(actual[:], sum) {
		return nil, nil, fmt.Errorf("%s: damaged checkpoint: its SHA-256 is %x…, expected %x…", path, actual[:6], sum[:6])
	}
	headerLength := int(binary.LittleEndian.Uint32(body[len(checkpointMagic):]))
	if headerLength > len(body)-preamble {
		return nil, nil, fmt.Errorf("%s: damaged checkpoint: header of %d bytes in a file of %d", path, headerLength, len(content))
	}
	var header checkpointHeader
	if err := json.Unmarshal(body[preamble:preamble+headerLength], &header); err != nil {
		return nil, nil, fmt.Errorf("%s: damaged checkpoint header: %w", path, err)
	}
	if header.Version != checkpointVersion {
		return nil, nil, fmt.Errorf("%s: checkpoint format version %d, this program reads version %d", path, header.Version, checkpointVersion)
	}
	return &header, body[preamble+headerLength:], nil
}

// RestoreCheckpoint creates the variables of the file in ctx, which must be empty, and returns the
// step. The settings of the file must equal those given: a checkpoint continues only the run that
// it was written by.
func RestoreCheckpoint(path string, ctx *context.Context, settings json.RawMessage) (step int, err error) {
	header, payload, err := readCheckpoint(path)
	if err != nil {
		return 0, err
	}
	if difference := settingsDifference(header.Settings, settings); difference != "" {
		return 0, fmt.Errorf("%s was written by a different run: %s", path, difference)
	}
	for _, variable := range header.Variables {
		dtype, err := dtypes.DTypeString(variable.DType)
		if err != nil {
			return 0, fmt.Errorf("%s: variable %s%s: %w", path, variable.Scope, variable.Name, err)
		}
		shape := shapes.Make(dtype, variable.Dims...)
		size := int(shape.Memory())
		if size > len(payload) {
			return 0, fmt.Errorf("%s: damaged checkpoint: variable %s/%s needs %d bytes, %d are left", path, variable.Scope, variable.Name, size, len(payload))
		}
		value := tensors.FromShape(shape)
		if err := value.MutableBytes(func(data []byte) { copy(data, payload[:size]) }); err != nil {
			return 0, fmt.Errorf("%s: variable %s/%s: %w", path, variable.Scope, variable.Name, err)
		}
		payload = payload[size:]
		ctx.InAbsPath(variable.Scope).Checked(false).VariableWithValue(variable.Name, value).SetTrainable(variable.Trainable)
	}
	if len(payload) != 0 {
		return 0, fmt.Errorf("%s: damaged checkpoint: %d bytes left over", path, len(payload))
	}
	return header.Step, nil
}

// settingsDifference describes the first keys in which two JSON objects differ, or is empty.
func settingsDifference(stored, current json.RawMessage) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(stored, &a) != nil || json.Unmarshal(current, &b) != nil {
		return "its settings cannot be read"
	}
	var differences []string
	for _, key := range sortedKeys(a, b) {
		if !bytes.Equal(a[key], b[key]) {
			differences = append(differences, fmt.Sprintf("%s was %s and is now %s", key, orAbsent(a[key]), orAbsent(b[key])))
		}
	}
	return strings.Join(differences, "; ")
}

func orAbsent(value json.RawMessage) string {
	if value == nil {
		return "absent"
	}
	return string(value)
}
