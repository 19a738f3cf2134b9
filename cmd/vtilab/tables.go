package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/timing"
)

// tablesFlags holds the flags of commands that run vti on a list of tables and measure its times or
// compare its answers.
type tablesFlags struct {
	vti         measured
	data, only  []string
	repetitions int
	seed        uint64
	json, quiet bool
}

// register registers the flags. The argument repetitions is the name of the flag for the number of
// seeds.
func (f *tablesFlags) register(cmd *cobra.Command, repetitions string) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.data, "data", []string{"testdata"}, "`folders` with tables, each there or in a folder in it")
	flags.StringSliceVar(&f.only, "only", nil, "`tables` to answer, by the beginnings of their names (default all)")
	flags.Var(cli.Count(&f.repetitions, 1), repetitions, "number of seeds for each table")
	flags.Uint64Var(&f.seed, "seed", 1, "the first of them")
	f.vti.register(cmd)
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
}

// measurement returns the measurement that the flags select. The caller must call done at the end.
func (f *tablesFlags) measurement(a *shell.App) (m timing.Measurement, done func(), err error) {
	program, err := f.vti.program()
	if err != nil {
		return m, nil, err
	}
	scratch, err := os.MkdirTemp("", "vtilab-")
	if err != nil {
		return m, nil, shell.Failed(err)
	}
	shown := progress(a, f.quiet)
	m = timing.Measurement{
		Program: program, Repetitions: f.repetitions, Seed: f.seed, Folders: f.data, Scratch: scratch,
		Progress: func(text string) { shown.Line(text, false) },
	}
	return m, func() {
		shown.End()
		os.RemoveAll(scratch)
	}, nil
}

// chosen returns the tables whose names begin with one of the texts of the flag, or all tables if
// the flag was not given.
func chosen[T any](f *tablesFlags, all []T, name func(T) string) (tables []T, err error) {
	var names []string
	for _, t := range all {
		names = append(names, name(t))
		if len(f.only) == 0 || slices.ContainsFunc(f.only, func(start string) bool { return strings.HasPrefix(name(t), start) }) {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("--only: no table begins with %q; there are %s", f.only, strings.Join(names, ", "))
	}
	return tables, nil
}

// progress returns a display of progress on standard error, which shows nothing if quiet is set.
func progress(a *shell.App, quiet bool) *console.Progress {
	return console.NewProgress(a.Stderr, quiet)
}
