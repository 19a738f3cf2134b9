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

// Page is an HTML page that shows documents.
type Page struct {
	Title, Subtitle, Version string
	Documents                []*Document
}

// Filterable reports whether the table has enough rows for a search field.
func (t *Table) Filterable() bool { return t.Len() > 12 }

// Columns returns the columns of the table.
func (t *Table) Columns() []column { return t.columns() }

// cell is a cell of a table on a page: its text, and a sort key if the text is a number.
type cell struct {
	Text, Sort string
	Numeric    bool
}

var (
	// negative matches the hyphen of a negative number, at the start of a cell or within an
	// interval.
	negative = regexp.MustCompile(`(^|[ [(])-(\d)`)
	// leading matches the number at the beginning of a cell.
	leading = regexp.MustCompile(`^[<>+]?([-−]?\d[\d.]*(?:e[-+]?\d+)?)`)
)

// Cells returns the rows of the table, all of the same length.
func (t *Table) Cells() [][]cell {
	columns := t.columns()
	rows := make([][]cell, t.Len())
	for i, row := range t.Rows[1:] {
		rows[i] = make([]cell, len(columns))
		for j, text := range row {
			c := &rows[i][j]
			c.Text, c.Numeric = negative.ReplaceAllString(text, "$1−$2"), columns[j].Numeric
			if strings.HasPrefix(text, "[") { // an interval must not be broken over two lines
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

// flagName matches a flag of a command line in escaped text.
var flagName = regexp.MustCompile(`--[a-z0-9-]*[a-z0-9]`)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg": func(p *picture.Picture) template.HTML { return template.HTML(p.Inline()) },
	"css": func() template.CSS { return template.CSS(pageCSS) },
	"js":  func() template.JS { return template.JS(pageJS) },
	// text keeps the names of flags on one line; a browser would break them after their hyphens.
	"text": func(s string) template.HTML {
		return template.HTML(flagName.ReplaceAllString(template.HTMLEscapeString(s), `<span class="flag">$0</span>`))
	},
	"said": func(s string) string { return negative.ReplaceAllString(strings.TrimSpace(s), "$1−$2") },
}).Parse(pageHTML))

// Write writes the page as HTML.
func (p *Page) Write(w io.Writer) error {
	var buffer bytes.Buffer
	if err := pageTemplate.Execute(&buffer, p); err != nil {
		return err
	}
	_, err := w.Write(buffer.Bytes())
	return err
}

// Style returns the CSS of pages, for other pages with the same look.
func Style() string { return pageCSS }

// ScriptHash returns the hash of the script of pages, in the form of a Content-Security-Policy.
func ScriptHash() string {
	sum := sha256.Sum256([]byte(pageJS))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
