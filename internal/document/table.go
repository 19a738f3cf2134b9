package document

import (
	"fmt"
	"io"
	"slices"
)

// None is the value of Table.Printed for which a terminal shows no rows.
const None = -1

// Table is a table with a caption. A page shows all rows and lets readers sort them, and search
// them if they are many.
type Table struct {
	ID, Caption string
	// Under holds lines between the caption and the rows.
	Under []string
	Grid
	// Open reports whether a page shows the table at once. Otherwise readers click on its caption.
	Open bool
	// OnPage reports whether only a page shows the table.
	OnPage bool
	// Printed is the largest number of rows that a terminal shows. 0 stands for all rows and [None]
	// for no row. The rows shown are the first ones, or if Ends is true the first and the last
	// ones. More holds lines that a terminal shows instead of the other rows.
	Printed int
	Ends    bool
	More    []string
}

// NewTable returns a table without rows. The names of the columns may have the marks of a [Grid].
func NewTable(caption string, names ...string) *Table {
	return &Table{Caption: caption, Grid: Grid{Rows: [][]string{names}}}
}

// Opened sets Open and returns the table.
func (t *Table) Opened() *Table {
	t.Open = true
	return t
}

// Len returns the number of rows.
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
