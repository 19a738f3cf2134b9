package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/rundir"
)

// File is the name of the page in a run directory, and FiguresDir that of the folder of pictures.
const (
	File       = "report.html"
	FiguresDir = "figures"
)

// Write writes the page of the runs in dirs to a file: of one run its own page, of several that
// answer the same question about the same table all side by side. Its errors are those of reading
// the runs, of runs that cannot be compared, and of writing.
func Write(ctx context.Context, path string, dirs ...string) error {
	p, _, err := build(ctx, dirs)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, p.write)
}

// Finish writes what every finished run keeps for readers: its page as [File], and the pictures of
// the page as SVG and PNG in [FiguresDir].
func Finish(ctx context.Context, dir string) error {
	p, pictures, err := build(ctx, []string{dir})
	if err != nil {
		return err
	}
	figures := filepath.Join(dir, FiguresDir)
	if err := os.MkdirAll(figures, 0o755); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, one := range pictures {
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
	return atomicfile.Write(filepath.Join(dir, File), p.write)
}

// build reads runs and makes their page, with the pictures of the first.
func build(ctx context.Context, dirs []string) (*page, []*picture.Picture, error) {
	if len(dirs) == 0 {
		return nil, nil, errors.New("report: got no run directory, want at least one")
	}
	var sources []*source
	var articles []article
	for k, dir := range dirs {
		s, err := open(dir)
		if err != nil {
			return nil, nil, err
		}
		s.id = fmt.Sprintf("run-%d", k+1)
		a, err := s.article(ctx)
		if err != nil {
			return nil, nil, err
		}
		sources, articles = append(sources, s), append(articles, *a)
	}
	p := &page{Version: vti.Version, Title: articles[0].Title, Subtitle: articles[0].Subtitle, Articles: articles}
	pictures := articles[0].pictures()
	if len(dirs) > 1 {
		both, err := comparisonArticle(ctx, sources, articles)
		if err != nil {
			return nil, nil, err
		}
		for k := range articles {
			articles[k].Folded = true
			articles[k].Title = fmt.Sprintf("%s: %s", letter(k), filepath.Base(dirs[k]))
		}
		p.Subtitle, p.Articles = both.Subtitle, append([]article{*both}, articles...)
	}
	return p, pictures, nil
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

// article makes the article of a run.
func (s *source) article(ctx context.Context) (*article, error) {
	a, err := s.head()
	if err != nil {
		return nil, err
	}
	if err := s.readDraws(); err != nil {
		return nil, err
	}
	if a.Sections, err = a.rest(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	a.ID = s.id
	for k := range a.Sections {
		a.Sections[k].ID = identifier(a.ID, a.Sections[k].ID)
		for j := range a.Sections[k].Tables {
			a.Sections[k].Tables[j].ID = identifier(a.Sections[k].ID, fmt.Sprint(j))
		}
	}
	return a, nil
}

// head is the article of a run without its sections.
func (s *source) head() (*article, error) {
	switch s.kind() {
	case graphKind:
		return readAnd(s, (*source).graphArticle)
	case regressionKind:
		return readAnd(s, (*source).regressionArticle)
	case selectionKind:
		return readAnd(s, (*source).selectionArticle)
	}
	switch s.header.Command {
	case "mixture", "rjmcmc mixture":
		return readAnd(s, (*source).mixtureArticle)
	case "order":
		return readAnd(s, (*source).orderArticle)
	case "changepoints":
		return readAnd(s, (*source).changesArticle)
	}
	return readAnd(s, (*source).commonArticle)
}

// readAnd reads the result of a run and begins its article.
func readAnd[R any](s *source, begin func(*source, *R) *article) (*article, error) {
	result := new(R)
	if err := rundir.ReadResult(s.dir, result); err != nil {
		return nil, err
	}
	a := begin(s, result)
	a.warn()
	return a, nil
}

// pictures are all pictures of an article, those that are drawn on.
func (a *article) pictures() (list []*picture.Picture) {
	for _, s := range a.Sections {
		if s.Graph != nil {
			list = append(list, s.Graph.Picture)
		}
		list = append(list, s.Pictures...)
		list = append(list, s.Wide...)
	}
	return list
}
