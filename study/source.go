package study

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
)

// source provides the tables of a study.
type source interface {
	// count returns the number of tables.
	count() int
	// item returns the settings that distinguish table i from other tables.
	item(i int) []Setting
	// content returns the inputs, in addition to settings, that determine table i. They enter the
	// hashes that are the names of its tasks.
	content(i int) any
	// prepare makes table i available. It writes new files to dir.
	prepare(ctx context.Context, i int, dir string, run launch) (prepared, error)
}

// launch runs vti with some arguments and returns its standard output.
type launch func(ctx context.Context, args ...string) ([]byte, error)

// prepared is a table for a task to run on.
type prepared struct {
	path  string
	flags []string // flags of the command that this table needs
	// truth is the description of a simulated table that vti simulate prints.
	truth any
}

// newTables finds the tables in the files of a plan. The argument dir is the folder of the plan.
func newTables(dir string, t *Tables) (source, error) {
	if len(t.Files) == 0 {
		return nil, errors.New("tables: no files")
	}
	var files []string
	for _, pattern := range t.Files {
		found, err := filepath.Glob(absolute(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("tables: files: %q: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("tables: files: nothing matches %q", pattern)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	switch {
	case len(t.Responses) > 0 && len(files) > 1:
		return nil, fmt.Errorf("tables: responses: want one file, got %d", len(files))
	case len(t.Responses) > 0:
		return newColumns(dir, files[0], t)
	case t.Pairs != "":
		return nil, errors.New("tables: pairs: want responses beside them")
	}
	return &fileTables{dir, files}, nil
}

// absolute resolves a path in a plan whose folder is dir.
func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// fileTables are tables that are read from files without changes.
type fileTables struct {
	dir   string // the folder of the plan
	paths []string
}

func (f *fileTables) count() int { return len(f.paths) }

func (f *fileTables) item(i int) (settings []Setting) {
	return append([]Setting{{"table", relative(f.dir, f.paths[i])}}, partition(relative(f.dir, f.paths[i]))...)
}

func (f *fileTables) content(int) any { return nil }

func (f *fileTables) prepare(_ context.Context, i int, _ string, _ launch) (prepared, error) {
	return prepared{path: f.paths[i]}, nil
}

// relative returns the path of a table relative to the plan, so that a folder that holds the plan
// and the tables can be moved.
func relative(dir, table string) string {
	if rel, err := filepath.Rel(dir, table); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(table)
}

// partition returns the settings that folders named key=value on a path express, as Hive writes
// them.
func partition(table string) (settings []Setting) {
	for folder := range strings.SplitSeq(path.Dir(table), "/") {
		if key, value, found := strings.Cut(folder, "="); found && key != "" {
			settings = append(settings, Setting{key, value})
		}
	}
	return settings
}

// simulated describes tables made by vti simulate, in the directories of their tasks.
type simulated struct {
	problem string
	seeds   int
	flags   []Setting
	grid    grid
}

func newSimulated(s *Simulation) (source, error) {
	if err := checkFlags(s.Flags, s.Grid); err != nil {
		return nil, err
	}
	switch {
	case s.Problem != "varsel" && s.Problem != "dag":
		return nil, fmt.Errorf("simulate: problem: got %q, want varsel or dag", s.Problem)
	case s.Seeds < 1:
		return nil, fmt.Errorf("simulate: seeds: got %d, want at least 1", s.Seeds)
	}
	return &simulated{s.Problem, s.Seeds, fixed(s.Flags), newGrid(s.Grid)}, nil
}

func (s *simulated) count() int { return s.seeds * s.grid.count() }

// item returns the settings of the design and the seed of table i. The seed changes fastest.
func (s *simulated) item(i int) []Setting {
	settings := apply.To(s.grid.at(i/s.seeds), func(of Setting) Setting { return Setting{"simulate." + of.Name, of.Value} })
	return append(settings, Setting{"data_seed", int64(i % s.seeds)})
}

func (s *simulated) content(int) any { return []any{s.problem, named(s.flags)} }

func (s *simulated) prepare(ctx context.Context, i int, dir string, run launch) (prepared, error) {
	made := prepared{path: filepath.Join(dir, "table.csv")}
	args := []string{"simulate", s.problem, "--json", "--out=" + made.path, fmt.Sprintf("--seed=%d", i%s.seeds)}
	if s.problem == "dag" {
		truth := "--truth=" + filepath.Join(dir, "truth.csv")
		args, made.flags = append(args, truth), []string{truth}
	}
	args = append(args, arguments(append(s.grid.at(i/s.seeds), s.flags...))...)
	output, err := run(ctx, args...)
	if err != nil {
		return prepared{}, err
	}
	said, err := stripped(output, "data", "truth") // paths in the directory of the task, which is removed
	if err != nil {
		return prepared{}, fmt.Errorf("vti simulate %s: %w", s.problem, err)
	}
	made.truth = said
	return made, nil
}

// seedOf returns the seed of a task. Each attempt after a crash uses a separate stream.
func seedOf(root uint64, name string, attempt int) uint64 {
	if attempt > 0 {
		name = fmt.Sprintf("%s/retry-%d", name, attempt)
	}
	return stream.Seed(root, name)
}
