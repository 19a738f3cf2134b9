package report

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"io"
	"regexp"

	"github.com/transdim/vti/internal/picture"
)

// page is an HTML page.
type page struct {
	Title    string
	Subtitle string
	Version  string
	Articles []article
}

// article is what a page says of a run, or of several together.
type article struct {
	ID, Title, Subtitle string
	// Answer is three sentences; Marks are the verdicts on computation and model, and Next what to
	// do next.
	Answer   []string
	Marks    []badge
	Next     []string
	Sections []section
	// Folded articles open on a click.
	Folded bool
	// rest makes the sections, which read draws: the answer alone needs none.
	rest func(ctx context.Context) ([]section, error)
}

// badge is a verdict: its word, what it means, and reasons for it.
type badge struct {
	Kind    string // good, fair or bad
	Name    string
	Word    string
	Text    string
	Reasons []string
}

// section is a part of an article.
type section struct {
	ID, Title string
	Lead      string
	Pictures  []*picture.Picture
	// Wide pictures take the whole width; the others share rows.
	Wide   []*picture.Picture
	Notes  []string
	Tables []table
	Code   string
	Graph  *graphView
}

// graphView is a picture of a graph whose edges a slider shows from a probability on.
type graphView struct {
	// Picture has the edges that are shown at first; All has those of less probability too, which
	// takes the place of Picture when the slider asks for them.
	Picture, All *picture.Picture
	// Lowest is the least probability of an edge in it, Shown where the slider begins.
	Lowest, Shown float64
	Legend        []string
}

// table is a table that can be sorted, and filtered if it is long.
type table struct {
	ID, Caption string
	Columns     []column
	Rows        [][]cell
	// Open tables are shown at once; the others open on a click.
	Open bool
}

// column is one of a table.
type column struct {
	Name string
	// Numeric columns are aligned at the right.
	Numeric bool
}

// cell is one of a table: what is shown, and by what it is sorted if it is a number.
type cell struct {
	Text string
	Sort string
}

// Filterable reports whether the table is long enough to search in.
func (t table) Filterable() bool { return len(t.Rows) > 12 }

// words is a cell of text.
func words(s string) cell { return cell{Text: s} }

// value is a cell with a number, as picture.Number writes it.
func value(x float64) cell { return cell{picture.Number(x), sortKey(x)} }

// share is a cell with a probability.
func share(p float64) cell { return cell{picture.Probability(p), sortKey(p)} }

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// flagName is a flag of a command line in escaped text.
var flagName = regexp.MustCompile(`--[a-z0-9-]*[a-z0-9]`)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg": func(p *picture.Picture) template.HTML { return template.HTML(p.Inline()) },
	"css": func() template.CSS { return template.CSS(pageCSS) },
	"js":  func() template.JS { return template.JS(pageJS) },
	// text keeps the names of flags, which a browser would break after their hyphens, on one line
	"text": func(s string) template.HTML {
		return template.HTML(flagName.ReplaceAllString(template.HTMLEscapeString(s), `<span class="flag">$0</span>`))
	},
}).Parse(pageHTML))

// write writes the page.
func (p *page) write(w io.Writer) error {
	var buffer bytes.Buffer
	if err := pageTemplate.Execute(&buffer, p); err != nil {
		return err
	}
	_, err := w.Write(buffer.Bytes())
	return err
}
