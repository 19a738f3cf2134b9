// Package checkpoint reads and writes the files that hold the state of a run. A file is complete or
// absent, has a version, and is protected by a checksum. The callers define the state: package
// rjmcmc stores chains, and variables.go stores the trained variables of every other kind of run.
//
// A file holds, in this order: the magic bytes of its format, the length of the header (uint32),
// the header (JSON with a number "version"), the payload, and the SHA-256 of all bytes before the
// checksum. Numbers are little endian.
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/atomicfile"
)

// Format is a kind of checkpoint file.
type Format struct {
	// Name is the name of the format in errors, such as "vti checkpoint".
	Name  string
	Magic string
	// Version is the only version that Read accepts. Headers for Write must have it as "version".
	Version int
}

// Write stores a header and a payload in the file at path. The header must encode as a JSON object;
// the function payload writes the payload.
func (f Format) Write(path string, header any, payload func(w io.Writer) error) error {
	encoded, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("checkpoint: encoding header: %w", err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		digest := sha256.New()
		both := io.MultiWriter(w, digest)
		preamble := binary.LittleEndian.AppendUint32([]byte(f.Magic), uint32(len(encoded)))
		for _, part := range [][]byte{preamble, encoded} {
			if _, err := both.Write(part); err != nil {
				return err
			}
		}
		if err := payload(both); err != nil {
			return err
		}
		_, err := w.Write(digest.Sum(nil))
		return err
	})
}

// Read verifies the file at path, decodes its header and returns its payload. If the file does not
// exist, the error wraps [io/fs.ErrNotExist].
func (f Format) Read(path string, header any) (payload []byte, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading checkpoint: %w", err)
	}
	preamble := len(f.Magic) + 4
	if len(content) < preamble+sha256.Size || string(content[:len(f.Magic)]) != f.Magic {
		return nil, fmt.Errorf("%s: not a %s: got %d bytes starting with %q, want a file that starts with %q",
			path, f.Name, len(content), content[:min(len(content), len(f.Magic))], f.Magic)
	}
	body, sum := content[:len(content)-sha256.Size], content[len(content)-sha256.Size:]
	if actual := sha256.Sum256(body); !bytes.Equal(actual[:], sum) {
		return nil, fmt.Errorf("%s: damaged checkpoint: its SHA-256 is %x…, want %x…", path, actual[:6], sum[:6])
	}
	length := int(binary.LittleEndian.Uint32(body[len(f.Magic):]))
	if length > len(body)-preamble {
		return nil, fmt.Errorf("%s: damaged checkpoint: header of %d bytes in a file of %d", path, length, len(content))
	}
	encoded := body[preamble : preamble+length]
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(encoded, &version); err != nil {
		return nil, fmt.Errorf("%s: damaged checkpoint header: %w", path, err)
	}
	if version.Version != f.Version {
		return nil, fmt.Errorf("%s: got checkpoint format version %d, want version %d", path, version.Version, f.Version)
	}
	if err := json.Unmarshal(encoded, header); err != nil {
		return nil, fmt.Errorf("%s: damaged checkpoint header: %w", path, err)
	}
	return body[preamble+length:], nil
}

// CheckSettings returns an error unless stored, the settings in the file at path, equal current,
// the settings of the run. Both are JSON objects. A checkpoint continues only the run that wrote
// it.
func CheckSettings(path string, stored, current json.RawMessage) error {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(stored, &a) != nil || json.Unmarshal(current, &b) != nil {
		return fmt.Errorf("%s was written by a different run: its settings cannot be read", path)
	}
	union := maps.Clone(a)
	maps.Copy(union, b)
	var differences []string
	for _, key := range slices.Sorted(maps.Keys(union)) {
		if !bytes.Equal(a[key], b[key]) {
			differences = append(differences, fmt.Sprintf("%s was %s and is now %s", key, orAbsent(a[key]), orAbsent(b[key])))
		}
	}
	if differences == nil {
		return nil
	}
	return fmt.Errorf("%s was written by a different run: %s", path, strings.Join(differences, "; "))
}

func orAbsent(value json.RawMessage) string {
	if value == nil {
		return "absent"
	}
	return string(value)
}
