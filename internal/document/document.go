package document

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/picture"
)

// Document describes a run, or several together.
type Document struct {
	ID, Title, Subtitle string
	// Answer is the answer in sentences, of which a terminal shows the first.
	Answer []string
	// Marks are the verdicts on computation and model, and Next recommends the next step.
	Marks []Mark
	Next  []string
	// Sections without anything to show are left out.
	Sections []*Section
	// Folded documents open on a click.
	Folded bool
}

// Mark is a verdict: its word, its meaning, and reasons for it.
type Mark struct {
	Kind    string // good, fair or bad
	Name    string
	Word    string
	Text    string
	Reasons []string
	// Lines are the mark on a terminal.
	Lines []string
}

// Section is a part of a document.
type Section struct {
	ID, Title string
	Tables    []*Table
	// Said are sentences below the tables.
	Said []string

	// The fields below are for pages alone. Wide pictures take the whole width; the others share
	// rows.
	Lead           string
	Code           string
	Graph          *Graph
	Wide, Pictures []*picture.Picture
	Notes          []string
	// Draw, if not nil, adds slow content, such as pictures of draws.
	Draw func(ctx context.Context, s *Section)
}

// Graph is a picture of a graph whose edges a slider shows from a probability on.
type Graph struct {
	// Picture has the edges that are shown at first; All, with the edges of less probability too,
	// replaces Picture when the slider asks for them.
	Picture, All *picture.Picture
	// Lowest is the least probability of an edge in it, Shown where the slider begins.
	Lowest, Shown float64
	Legend        []string
}

// Place adds a picture: where pictures share rows, or, if it is wider than a column, by itself.
func (s *Section) Place(p *picture.Picture) {
	switch {
	case p == nil:
	case p.Width > picture.Column:
		s.Wide = append(s.Wide, p)
	default:
		s.Pictures = append(s.Pictures, p)
	}
}

// Draw makes the content that only a page shows, unless ctx is cancelled. Elements get their names
// from id.
func (d *Document) Draw(ctx context.Context, id string) error {
	d.ID = id
	for _, s := range d.Sections {
		s.ID = Identifier(id, s.ID)
		if s.Draw != nil {
			s.Draw(ctx, s)
		}
		s.Tables = slices.DeleteFunc(s.Tables, func(t *Table) bool { return t.On == Terminal || len(t.Rows) < 2 })
		for k, t := range s.Tables {
			t.ID = Identifier(s.ID, fmt.Sprint(k))
		}
	}
	d.Sections = slices.DeleteFunc(d.Sections, func(s *Section) bool {
		return len(s.Tables)+len(s.Said)+len(s.Notes)+len(s.Wide)+len(s.Pictures) == 0 && s.Graph == nil
	})
	return ctx.Err()
}

// Pictures are all pictures of a document, already drawn.
func (d *Document) Pictures() (list []*picture.Picture) {
	for _, s := range d.Sections {
		if s.Graph != nil {
			list = append(list, s.Graph.Picture)
		}
		list = append(append(list, s.Pictures...), s.Wide...)
	}
	return list
}

// Identifier makes a name for the id of an element.
func Identifier(parts ...string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, strings.Join(parts, "-"))
}
