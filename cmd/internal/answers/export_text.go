package answers

import (
	"fmt"
	"io"
	"strings"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/atomicfile"
)

// exportText writes a run in a text format of its application. It writes to standard output if no
// file is named.
func exportText(a *shell.App, all application.Registry, dir, format, out string, least float64, asJSON bool) error {
	owner := all.Exporter(format)
	if owner == nil {
		return fmt.Errorf("--format: unknown format %q; want one of %s, or arviz", format, strings.Join(all.Formats(), ", "))
	}
	run, err := all.Read(dir)
	if err != nil {
		return err
	}
	if run.Application != owner {
		return fmt.Errorf("%s is a run of vti %s, about %s: --format %s is for %s", dir, run.Header.Command, run.About, format, owner.About)
	}
	if asJSON && out == "" {
		return fmt.Errorf("--json needs --out FILE, as the graph would be printed too")
	}
	text, err := owner.Export(dir, format, least)
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
	result := Exported{RunDir: dir, Format: format, File: out}
	return a.Answer(asJSON, shell.Described{Schema: "export", Object: result}, func() { fmt.Fprintf(a.Text, "%s holds the graph of %s\n", out, dir) })
}
