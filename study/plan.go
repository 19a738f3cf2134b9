package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// Plan describes a study. Paths in the plan are relative to the folder of its file. An example:
//
//	command = "varsel"            # or exact, rjmcmc varsel, dag, exact dag, rjmcmc dag, hbm
//	seed = 1                      # root of all randomness
//	replicates = 2                # number of seeds for each task; 1 if absent
//	keep = ["draws.parquet"]      # files of a run that stay; none if absent
//
//	[tables]
//	files = ["tables/*.csv"]      # patterns: a task for each file
//	responses = ["gene*"]         # patterns: a task for each column of the one file
//	pairs = "nearby.csv"          # response,predictor: predictors of each; all others if absent
//
//	[simulate]                    # instead of [tables]: a task for each simulated table
//	problem = "varsel"            # vti simulate varsel
//	seeds = 100
//	flags = {predictors = 50}
//	grid = {rows = [100, 300]}
//
//	[flags]                       # of every task
//	target = "y"
//
//	[grid]                        # every combination of these
//	prior-sd = [0.5, 1.5]
//
// Folders named key=value on the path of a table, as in partitioned Parquet data, become settings
// of the table's tasks.
type Plan struct {
	Command    string           `toml:"command"`
	Seed       uint64           `toml:"seed"`
	Replicates int              `toml:"replicates"`
	Keep       []string         `toml:"keep"`
	Tables     *Tables          `toml:"tables"`
	Simulate   *Simulation      `toml:"simulate"`
	Flags      map[string]any   `toml:"flags"`
	Grid       map[string][]any `toml:"grid"`

	path   string // absolute path of the file
	source source
	flags  []Setting
	grid   grid
}

// Tables describes tables in files.
type Tables struct {
	Files     []string `toml:"files"`
	Responses []string `toml:"responses"`
	Pairs     string   `toml:"pairs"`
}

// Simulation describes tables made by vti simulate.
type Simulation struct {
	Problem string           `toml:"problem"`
	Seeds   int              `toml:"seeds"`
	Flags   map[string]any   `toml:"flags"`
	Grid    map[string][]any `toml:"grid"`
}

// Read reads a plan and lists its tables. Errors name the file. Syntax errors also name the line.
func Read(path string) (*Plan, error) {
	p := &Plan{}
	meta, err := toml.DecodeFile(path, p)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("%s: line %d: %s", path, syntax.Position.Line, syntax.Message)
	}
	var missing *os.PathError
	if errors.As(err, &missing) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file", path)
		}
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "toml: "))
	}
	for _, key := range meta.Undecoded() {
		return nil, fmt.Errorf("%s: unknown key %s: want command, seed, replicates, keep, tables, simulate, flags or grid", path, key)
	}
	if p.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := p.complete(meta.IsDefined("replicates")); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// complete checks the plan and finds its tables. The argument replicated says whether the plan file
// sets Replicates.
func (p *Plan) complete(replicated bool) (err error) {
	if !replicated {
		p.Replicates = 1
	}
	switch {
	case p.Command == "":
		return errors.New(`no command: want command = "varsel" or another`)
	case p.Replicates < 1:
		return fmt.Errorf("replicates: got %d, want at least 1", p.Replicates)
	case (p.Tables == nil) == (p.Simulate == nil):
		return errors.New("want either [tables] or [simulate]")
	}
	for _, pattern := range p.Keep {
		if _, err := filepath.Match(pattern, ""); err != nil || strings.ContainsRune(pattern, '/') {
			return fmt.Errorf("keep: got %q, want names or patterns of files in a run directory", pattern)
		}
	}
	if err := checkFlags(p.Flags, p.Grid); err != nil {
		return err
	}
	p.flags, p.grid = fixed(p.Flags), newGrid(p.Grid)
	if p.Simulate != nil {
		p.source, err = newSimulated(p.Simulate)
	} else {
		p.source, err = newTables(filepath.Dir(p.path), p.Tables)
	}
	return err
}

// checkFlags returns an error for invalid values, and for flags in both flags (one value) and
// varied (several values).
func checkFlags(flags map[string]any, varied map[string][]any) error {
	for name, value := range flags {
		if err := checkValue(value); err != nil {
			return fmt.Errorf("flag %s: %w", name, err)
		}
	}
	for name, values := range varied {
		if _, both := flags[name]; both {
			return fmt.Errorf("flag %s is in flags and in grid", name)
		}
		if len(values) == 0 {
			return fmt.Errorf("grid: flag %s has no values", name)
		}
		if err := checkValue(values); err != nil {
			return fmt.Errorf("grid: flag %s: %w", name, err)
		}
	}
	return nil
}

// Path returns the absolute path of the plan.
func (p *Plan) Path() string { return p.path }

// Name returns the name of the plan's file without its extension.
func (p *Plan) Name() string {
	base := filepath.Base(p.path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Dir returns the directory of the study, which is next to the plan.
func (p *Plan) Dir() string { return filepath.Join(filepath.Dir(p.path), p.Name()+".study") }

// Reserved lists the flags that a plan cannot set, because every task sets them.
var Reserved = []string{"out", "json", "quiet", "seed", "resume", "no-report"}

// EachFlag calls check with every value of a flag that the plan passes to its command or to vti
// simulate.
func (p *Plan) EachFlag(check func(command, flag, value string) error) error {
	each := func(command string, settings []Setting, g grid) error {
		for _, s := range append(settings, g.settings()...) {
			for _, text := range texts(s.Value) {
				if err := check(command, s.Name, text); err != nil {
					return fmt.Errorf("%s: %w", p.path, err)
				}
			}
		}
		return nil
	}
	if p.Simulate != nil {
		if err := each("simulate "+p.Simulate.Problem, fixed(p.Simulate.Flags), newGrid(p.Simulate.Grid)); err != nil {
			return err
		}
	}
	return each(p.Command, fixed(p.Flags), p.grid)
}
