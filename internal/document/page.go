package document

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/transdim/vti/internal/picture"
)

// Page is an HTML page of documents.
type Page struct {
	Title, Subtitle, Version string
	Documents                []*Document
}

// Filterable reports whether the table is long enough to search in.
func (t *Table) Filterable() bool { return t.Len() > 12 }

// Columns are the columns of the table.
func (t *Table) Columns() []column { return t.columns() }

// cell is a cell of a table on a page: its text, and its sort key if it is a number.
type cell struct {
	Text, Sort string
	Numeric    bool
}

var (
	// negative is the hyphen of a negative number at the beginning of a cell or within an interval.
	negative = regexp.MustCompile(`(^|[ [(])-(\d)`)
	// leading is the number that a cell begins with.
	leading = regexp.MustCompile(`^[<>+]?([-−]?\d[\d.]*(?:e[-+]?\d+)?)`)
)

// Cells are the rows of the table, all of the same length.
func (t *Table) Cells() [][]cell {
	columns := t.columns()
	rows := make([][]cell, t.Len())
	for i, row := range t.Rows[1:] {
		rows[i] = make([]cell, len(columns))
		for j, text := range row {
			c := &rows[i][j]
			c.Text, c.Numeric = negative.ReplaceAllString(text, "$1−$2"), columns[j].Numeric
			if strings.HasPrefix(text, "[") { // intervals stay on a line
				c.Text = strings.ReplaceAll(c.Text, " ", "\u00a0")
			}
			if number := leading.FindStringSubmatch(text); c.Numeric && number != nil {
				c.Sort = strings.Replace(number[1], "−", "-", 1)
			}
		}
	}
	return rows
}

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
	"said": func(s string) string { return negative.ReplaceAllString(strings.TrimSpace(s), "$1−$2") },
}).Parse(pageHTML))

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var buffer bytes.Buffer
	if err := pageTemplate.Execute(&buffer, p); err != nil {
		return err
	}
	_, err := w.Write(buffer.Bytes())
	return err
}

// Style is the style of pages, for other pages that look like them.
func Style() string { return pageCSS }

// ScriptHash is the hash of the script of pages, as a Content-Security-Policy names it.
func ScriptHash() string {
	sum := sha256.Sum256([]byte(pageJS))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
