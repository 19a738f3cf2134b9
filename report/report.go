package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// File is the name of the page in a run directory, and FiguresDir that of the folder of pictures.
const (
	File       = "report.html"
	FiguresDir = "figures"
)

// Print writes the answer of a finished run for a terminal: the document that its page shows too,
// without pictures.
func Print(w io.Writer, dir string) error {
	d, err := read(dir)
	if err == nil {
		d.Print(w)
	}
	return err
}

// read makes the document of a finished run. What only a page shows is not there yet.
func read(dir string) (*document.Document, error) {
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	return s.document()
}

// Write writes the page of the runs in dirs to a file: of one run its own page, of several that
// answer the same question about the same table all side by side. Its errors are those of reading
// the runs, of runs that cannot be compared, and of writing.
func Write(ctx context.Context, path string, dirs ...string) error {
	p, err := build(ctx, dirs)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, p.Write)
}

// Finish writes what every finished run keeps for readers: its page as [File], and the pictures of
// the page as SVG and PNG in [FiguresDir].
func Finish(ctx context.Context, dir string) error {
	p, err := build(ctx, []string{dir})
	if err != nil {
		return err
	}
	figures := filepath.Join(dir, FiguresDir)
	if err := os.MkdirAll(figures, 0o755); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, one := range p.Documents[0].Pictures() {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return one.Write(figures)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, File), p.Write)
}

// build reads runs and makes their page.
func build(ctx context.Context, dirs []string) (*document.Page, error) {
	if len(dirs) == 0 {
		return nil, errors.New("report: got no run directory, want at least one")
	}
	var sources []*source
	var documents []*document.Document
	for k, dir := range dirs {
		s, err := open(dir)
		if err != nil {
			return nil, err
		}
		d, err := s.document()
		if err == nil {
			err = s.readDraws()
		}
		if err != nil {
			return nil, err
		}
		if err := d.Draw(ctx, fmt.Sprintf("run-%d", k+1)); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		sources, documents = append(sources, s), append(documents, d)
	}
	p := &document.Page{Version: vti.Version, Title: documents[0].Title, Subtitle: documents[0].Subtitle, Documents: documents}
	if len(dirs) == 1 {
		return p, nil
	}
	both, err := sideBySide(ctx, sources, documents)
	if err != nil {
		return nil, err
	}
	for k, d := range documents {
		d.Folded, d.Title = true, fmt.Sprintf("%s: %s", letter(k), filepath.Base(dirs[k]))
	}
	p.Subtitle, p.Documents = both.Subtitle, append([]*document.Document{both}, documents...)
	return p, nil
}

// kind is what a run is about.
type kind string

const (
	selectionKind  kind = "variable selection"
	graphKind      kind = "graphs"
	regressionKind kind = "hierarchical regressions"
	otherKind      kind = "something else"
)

// kind says what the run is about.
func (s *source) kind() kind {
	switch command := s.header.Command; {
	case isGraph(command):
		return graphKind
	case command == "hbm" || command == regression.InferCommand:
		return regressionKind
	case command == "varsel" || command == "exact" || command == "rjmcmc varsel":
		return selectionKind
	}
	return otherKind
}

// document makes the document of a run.
func (s *source) document() (*document.Document, error) {
	switch s.header.Command {
	case "mixture", "rjmcmc mixture":
		return readAnd(s, mixtureDocument)
	case "order":
		return readAnd(s, orderDocument)
	case "changepoints":
		return readAnd(s, changesDocument)
	}
	switch s.kind() {
	case graphKind:
		return readAnd(s, graphDocument)
	case regressionKind:
		return readAnd(s, regressionDocument)
	case selectionKind:
		return readAnd(s, selectionDocument)
	}
	return readAnd(s, plainDocument)
}

// plainDocument is that of a run of which nothing is known but what all results begin with.
func plainDocument(s *source, r *run.Head) *document.Document {
	title := fmt.Sprintf("What vti %s says of %s", s.header.Command, s.table())
	return &document.Document{Title: title, Answer: []string{r.Answer}, Sections: []*document.Section{s.provenance()}}
}

// readAnd reads the result of a run and makes its document.
func readAnd[R any](s *source, of func(*source, *R) *document.Document) (*document.Document, error) {
	result := new(R)
	if err := rundir.ReadResult(s.dir, result); err != nil {
		return nil, err
	}
	return of(s, result), nil
}

// answer completes the document of a run, whose title and answer are given: the verdicts, what to
// do next, and after the sections those on the model, on the computation, and on how to repeat it.
// otherwise is the advice that concerns neither the computation nor the model.
func (s *source) answer(d *document.Document, c *computation, check *modelcheck.Report, otherwise string) *document.Document {
	d.Marks = []document.Mark{c.mark(), model(check)}
	d.Next = c.next(check, otherwise)
	if c.failed() && len(d.Answer) > 0 { // the first sentence is also read alone
		d.Answer[0] = "The computation failed, and what follows is not to be used. " + d.Answer[0]
	}
	d.Sections = append(d.Sections, s.earned(c), s.provenance())
	return d
}
