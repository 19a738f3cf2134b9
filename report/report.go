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
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// File is the name of the page in a run directory, and FiguresDir the name of the folder of its
// pictures.
const (
	File       = "report.html"
	FiguresDir = "figures"
)

// A Page makes the pages of the finished runs of one application, for example of all selections of
// variables.
type Page struct {
	show func(*source) (*document.Document, error)
	// Predictor opens a finished run to predict its response. It is nil if the runs of the
	// application do not predict a response.
	Predictor func(dir string) (Predictor, error)
	// ownDraws reports whether the runs store their posterior draws in a special format, which
	// pages do not read.
	ownDraws bool
}

// Predictor is a finished run that predicts the responses of rows. The argument fresh is the table
// of the rows; nil stands for the table to which the run was fitted.
type Predictor interface {
	Rows(fresh *table.Table) (*predict.Rows, error)
}

func pageOf[R any](show func(*source, *R) *document.Document) func(*source) (*document.Document, error) {
	return func(s *source) (*document.Document, error) {
		result := new(R)
		if err := rundir.ReadResult(s.dir, result); err != nil {
			return nil, err
		}
		return show(s, result), nil
	}
}

// Print writes the answer of a finished run for a terminal: the document of the page of the run,
// without pictures.
func (p Page) Print(w io.Writer, dir string) error {
	_, d, err := p.read(dir)
	if err == nil {
		d.Print(w)
	}
	return err
}

// read makes the document of a finished run, without the content that only a page shows, such as
// pictures.
func (p Page) read(dir string) (*source, *document.Document, error) {
	s, err := open(dir, p)
	if err != nil {
		return nil, nil, err
	}
	d, err := p.show(s)
	return s, d, err
}

// Write writes one page about the runs in dirs to the file at path. For a single run it is the page
// of this run. Several runs must answer the same question about the same table. They are shown side
// by side, and the function compare compares the first run with each other run. Write returns an
// error if a run cannot be read, if the runs cannot be compared, or if the file cannot be written.
func (p Page) Write(ctx context.Context, path string, compare Comparer, dirs ...string) error {
	page, err := p.build(ctx, compare, dirs)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, page.Write)
}

// Finish writes the files of a finished run that are meant for readers: its page as [File], and the
// pictures of the page as SVG and PNG files in the folder [FiguresDir].
func (p Page) Finish(ctx context.Context, dir string) error {
	page, err := p.build(ctx, nil, []string{dir})
	if err != nil {
		return err
	}
	figures := filepath.Join(dir, FiguresDir)
	if err := os.MkdirAll(figures, 0o755); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, one := range page.Documents[0].Pictures() {
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
	return atomicfile.Write(filepath.Join(dir, File), page.Write)
}

func (p Page) build(ctx context.Context, compare Comparer, dirs []string) (*document.Page, error) {
	if len(dirs) == 0 {
		return nil, errors.New("report: got no run directory, want at least one")
	}
	var sources []*source
	var documents []*document.Document
	for k, dir := range dirs {
		s, d, err := p.read(dir)
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
	page := &document.Page{Version: vti.Version, Title: documents[0].Title, Subtitle: documents[0].Subtitle, Documents: documents}
	if len(dirs) == 1 {
		return page, nil
	}
	both, err := sideBySide(ctx, compare, sources, documents)
	if err != nil {
		return nil, err
	}
	for k, d := range documents {
		d.Folded, d.Title = true, fmt.Sprintf("%s: %s", letter(k), filepath.Base(dirs[k]))
	}
	page.Subtitle, page.Documents = both.Subtitle, append([]*document.Document{both}, documents...)
	return page, nil
}

// answer completes a document that has only a title and an answer. It adds the verdicts on the
// computation and on the model, the recommended next steps, and two last sections: how the verdict
// was earned, and how to repeat the run. The argument otherwise is the advice that concerns neither
// the computation nor the model.
func (s *source) answer(d *document.Document, c *computation, check *modelcheck.Report, otherwise string) *document.Document {
	d.Marks = []document.Mark{c.mark(), model(check)}
	d.Next = c.next(check, otherwise)
	if c.failed() && len(d.Answer) > 0 { // the first sentence must say so, because some readers stop there
		d.Answer[0] = "The computation failed, and what follows is not to be used. " + d.Answer[0]
	}
	d.Sections = append(d.Sections, s.earned(c), s.provenance())
	return d
}
