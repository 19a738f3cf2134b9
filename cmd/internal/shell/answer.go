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
// verdict, and the paths of the files. The function asked, if not nil, prints a summary of the
// problem.
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
	for _, file := range [][]string{
		{report.File, "all of this with pictures, for a browser"},
		{rundir.ResultFile, "the numbers, as --json prints them, and *.csv, the same as tables"},
		{"draws.parquet", "posterior draws"},
		{report.FiguresDir + "/", "its pictures as SVG and PNG"},
	} {
		if rundir.Exists(filepath.Join(dir, file[0])) {
			files.Add(file...)
		}
	}
	if len(files.Rows) > 0 {
		files.Rows[0][1] = "<" + files.Rows[0][1]
	}
	files.Print(w)
}
