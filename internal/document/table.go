package document

import (
	"fmt"
	"io"
	"slices"
)

// Medium is where a table is shown.
type Medium int

// The media.
const (
	Everywhere Medium = iota
	Terminal
	OnPage
)

// None is the number of printed rows where a terminal shows none.
const None = -1

// Table is a table with a caption. A page shows all rows, to be sorted, and filtered if many.
type Table struct {
	ID, Caption string
	// Under are lines between the caption and the rows.
	Under []string
	Grid
	// Open tables are shown at once; the others open on a click.
	Open bool
	On   Medium
	// Printed is the most rows that a terminal shows, 0 for all and [None] for none: the first of
	// them, or with Ends the first and the last. More are lines that it shows instead of the rest.
	Printed int
	Ends    bool
	More    []string
}

// NewTable makes a table without rows, whose columns have names in the notation of a [Grid].
func NewTable(caption string, names ...string) *Table {
	return &Table{Caption: caption, Grid: Grid{Rows: [][]string{names}}}
}

// Opened is the table, open.
func (t *Table) Opened() *Table {
	t.Open = true
	return t
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.Rows) - 1 }

func (t *Table) print(w io.Writer) {
	fmt.Fprintln(w, t.Caption)
	for _, line := range t.Under {
		fmt.Fprintln(w, line)
	}
	g := t.Grid
	printed := max(t.Printed, 0)
	if left := t.Len() - printed; t.Printed != 0 && left > 0 {
		first := 1 + printed
		if t.Ends {
			first = 1 + printed/2
		}
		g.Rows = slices.Clone(g.Rows[:first])
		if t.Ends {
			g.Add(fmt.Sprintf("… %d more", left))
			g.Rows = append(g.Rows, t.Rows[first+left:]...)
		}
	}
	g.Print(w)
	for _, line := range t.More {
		fmt.Fprintln(w, "  "+line)
	}
	fmt.Fprintln(w)
}
