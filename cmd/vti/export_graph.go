package main

import (
	"fmt"
	"io"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/atomicfile"
)

// exportGraph writes the graph of a run for other programs: to standard output if no file is named.
func exportGraph(a *shell.App, dir, name, out string, least float64, asJSON bool) error {
	format, err := dag.ParseGraphFormat(name)
	if err != nil {
		return fmt.Errorf("--format: %w, or arviz", err)
	}
	header, about, err := readHeader(dir)
	if err != nil {
		return err
	}
	if about != aboutGraphs {
		return fmt.Errorf("%s is a run of vti %s, about %s: --format %s is for graphs", dir, header.Command, about, name)
	}
	if asJSON && out == "" {
		return fmt.Errorf("--json needs --out FILE, as the graph would be printed too")
	}
	run, err := dag.OpenRun(dir)
	if err != nil {
		return err
	}
	text, err := run.Export(format, least)
	if err != nil {
		return err
	}
	if out == "" {
		_, err := io.WriteString(a.Stdout, text)
		return err
	}
	if err := atomicfile.Write(out, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}); err != nil {
		return shell.Failed(err)
	}
	if asJSON {
		return a.PrintJSON(exported{Schema: shell.SchemaOf("export"), RunDir: dir, Format: name, File: out})
	}
	fmt.Fprintf(a.Text, "%s holds the graph of %s\n", out, dir)
	return nil
}
