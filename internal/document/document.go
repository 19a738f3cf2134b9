package document

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/picture"
)

// Document describes a run, or several runs together.
type Document struct {
	ID, Title, Subtitle string
	// Answer holds the sentences of the answer. A terminal shows only the first.
	Answer []string
	// Marks holds the verdicts on the computation and on the model. Next recommends the next step.
	Marks []Mark
	Next  []string
	// Sections lists the parts of the document. A section without content is not shown.
	Sections []*Section
	// Folded makes a page show only the heading of the document until a reader clicks on it.
	Folded bool
}

// Mark is a verdict: its word, its meaning, and the reasons for it.
type Mark struct {
	Kind    string // good, fair or bad
	Name    string
	Word    string
	Text    string
	Reasons []string
	// Lines are the lines that a terminal shows for the mark.
	Lines []string
}

// Section is a part of a document.
type Section struct {
	ID, Title string
	Tables    []*Table
	// Said holds sentences that are shown below the tables.
	Said []string

	// Only pages show the fields below. Lead is a paragraph below the title, Code a command, and
	// Notes are paragraphs below the pictures. Wide pictures take the whole width of the page;
	// other pictures share rows.
	Lead           string
	Code           string
	Graph          *Graph
	Wide, Pictures []*picture.Picture
	Notes          []string
	// Draw, if not nil, adds content that is slow to make, such as pictures of draws.
	Draw func(ctx context.Context, s *Section)
}

// Graph is a picture of a graph. A slider sets the smallest probability of edges shown.
type Graph struct {
	// Picture has the edges that are shown at first. All also has the edges of smaller probability,
	// and replaces Picture when a reader moves the slider below Shown.
	Picture, All *picture.Picture
	// Lowest is the smallest probability of an edge in All. Shown is the slider's initial position.
	Lowest, Shown float64
	Legend        []string
}

// Place adds a picture. A picture wider than a column gets a row of its own; other pictures share
// rows.
func (s *Section) Place(p *picture.Picture) {
	switch {
	case p == nil:
	case p.Width > picture.Column:
		s.Wide = append(s.Wide, p)
	default:
		s.Pictures = append(s.Pictures, p)
	}
}

// Draw makes the content that only a page shows, unless ctx is cancelled. The identifiers of HTML
// elements begin with id.
func (d *Document) Draw(ctx context.Context, id string) error {
	d.ID = id
	for _, s := range d.Sections {
		s.ID = Identifier(id, s.ID)
		if s.Draw != nil {
			s.Draw(ctx, s)
		}
		s.Tables = slices.DeleteFunc(s.Tables, func(t *Table) bool { return len(t.Rows) < 2 })
		for k, t := range s.Tables {
			t.ID = Identifier(s.ID, fmt.Sprint(k))
		}
	}
	d.Sections = slices.DeleteFunc(d.Sections, func(s *Section) bool {
		return len(s.Tables)+len(s.Said)+len(s.Notes)+len(s.Wide)+len(s.Pictures) == 0 && s.Graph == nil
	})
	return ctx.Err()
}

// Pictures returns all pictures of a document that have been drawn.
func (d *Document) Pictures() (list []*picture.Picture) {
	for _, s := range d.Sections {
		if s.Graph != nil {
			list = append(list, s.Graph.Picture)
		}
		list = append(append(list, s.Pictures...), s.Wide...)
	}
	return list
}

// Identifier joins parts to a valid id of an HTML element.
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
