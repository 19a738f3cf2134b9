package graphs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/rundir"
)

// settingsFile is the name of the file in the directory of a study that holds the study's settings.
const settingsFile = "benchmark.json"

// Check returns an error if dir holds anything other than a study with the settings of b. A missing
// or empty directory is allowed. The number of data sets in b may be larger, and sizes and
// structures may differ: existing runs are kept, and the study grows.
func (b Study) Check(dir string) error {
	_, err := b.grown(dir)
	return err
}

// grown returns b with the sizes and structures of the study in dir added.
func (b Study) grown(dir string) (Study, error) {
	found, err := readSettings(dir)
	if found == nil || err != nil {
		return b, err
	}
	differs := func(setting string, there, asked any) (Study, error) {
		return b, fmt.Errorf("%s is a benchmark with other settings: %s is %v there, %v was asked for", dir, setting, there, asked)
	}
	there, asked := found.Simulation.WithDefaults(), b.Simulation.WithDefaults()
	switch {
	case found.DataSets > b.DataSets:
		return differs("--data-sets", found.DataSets, b.DataSets)
	case there.Nodes != asked.Nodes:
		return differs("--nodes", there.Nodes, asked.Nodes)
	case there.Mechanism != asked.Mechanism:
		return differs("--sem", there.Mechanism, asked.Mechanism)
	case found.Steps != b.Steps:
		return differs("--steps", found.Steps, b.Steps)
	case found.DType != b.DType:
		return differs("--dtype", found.DType, b.DType)
	case found.Seed != b.Seed:
		return differs("--seed", found.Seed, b.Seed)
	}
	// ignored, since the file does not contain these fields
	there.Graph, there.Names, asked.Graph, asked.Names = nil, nil, nil, nil
	if !reflect.DeepEqual(there, asked) {
		return differs("the simulation", there, asked)
	}
	b.Sizes = union(found.Sizes, b.Sizes)
	b.Structures = union(found.structures(), b.structures())
	return b, nil
}

// union returns the elements of both lists, sorted and without duplicates.
func union[T cmp.Ordered](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// readSettings returns the settings in a directory, or nil if the directory is empty or missing.
func readSettings(dir string) (*Study, error) {
	path := filepath.Join(dir, settingsFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) // temporary files of another process
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case len(entries) > 0:
			return nil, fmt.Errorf("%s holds %s and is no benchmark: want a new or an empty directory", dir, entries[0].Name())
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &Study{}
	if err := json.Unmarshal(content, found); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	return found, nil
}

// claim creates the directory, or checks that it holds a study with the same settings, and writes
// the settings. The returned study includes the sizes and structures of the directory.
func (b Study) claim(dir string) (Study, error) {
	b, err := b.grown(dir)
	if err != nil {
		return b, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, err
	}
	return b, rundir.WriteJSON(filepath.Join(dir, settingsFile), b)
}
