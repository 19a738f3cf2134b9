package shell

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
)

// PrintAnswer prints the answer of a run for a reader: the answer in a sentence, what it rests on,
// what was asked, and where everything is.
func (a *App) PrintAnswer(dir string, answer func(w io.Writer), asked func()) {
	if sentences, err := report.Answer(dir); err == nil && len(sentences) > 0 {
		// pages forbid breaks with it
		fmt.Fprintf(a.Text, "%s\n\n", strings.ReplaceAll(sentences[0], "\u2060", ""))
	}
	answer(a.Text)
	if asked != nil {
		fmt.Fprintln(a.Text)
		asked()
	}
	printFiles(a.Text, dir)
}

// printFiles says where everything is.
func printFiles(w io.Writer, dir string) {
	fmt.Fprintf(w, "%s holds\n", dir)
	files := &console.Grid{}
	for _, file := range []struct{ name, pattern, what string }{
		{report.File, report.File, "all of this with pictures, for a browser"},
		{rundir.ResultFile, rundir.ResultFile, "the numbers, as --json prints them, and *.csv, the same as tables"},
		{"draws.parquet", "draws.parquet", "posterior draws"},
		{report.FiguresDir + "/", report.FiguresDir, "its pictures as SVG and PNG"},
	} {
		if found, err := filepath.Glob(filepath.Join(dir, file.pattern)); err == nil && len(found) > 0 {
			files.Add(file.name, file.what)
		}
	}
	if len(files.Rows) > 0 {
		files.Rows[0][1] = "<" + files.Rows[0][1]
	}
	files.Print(w)
}
