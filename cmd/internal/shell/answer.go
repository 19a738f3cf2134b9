package shell

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
)

// PrintAnswer prints the answer of a run as text: a sentence with the answer, the basis of its
// verdict, and the paths of the files. asked, if not nil, prints the question.
func (a *App) PrintAnswer(dir string, page report.Page, asked func()) error {
	if err := page.Print(a.Text, dir); err != nil {
		return err
	}
	fmt.Fprintln(a.Text)
	if asked != nil {
		asked()
	}
	printFiles(a.Text, dir)
	return nil
}

func printFiles(w io.Writer, dir string) {
	fmt.Fprintf(w, "%s holds\n", dir)
	files := &document.Grid{}
	for _, file := range []struct{ name, pattern, description string }{
		{report.File, report.File, "all of this with pictures, for a browser"},
		{rundir.ResultFile, rundir.ResultFile, "the numbers, as --json prints them, and *.csv, the same as tables"},
		{"draws.parquet", "draws.parquet", "posterior draws"},
		{report.FiguresDir + "/", report.FiguresDir, "its pictures as SVG and PNG"},
	} {
		if found, err := filepath.Glob(filepath.Join(dir, file.pattern)); err == nil && len(found) > 0 {
			files.Add(file.name, file.description)
		}
	}
	if len(files.Rows) > 0 {
		files.Rows[0][1] = "<" + files.Rows[0][1]
	}
	files.Print(w)
}
