package document

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// TextWidth is the largest width, in characters, of printed lines.
const TextWidth = 100

// Grid holds rows of cells. The first row names the columns. Marks at the beginning of a column's
// name set its layout:
//
// "<": the column holds text and is flush left. Other columns hold numbers and are flush right. On
// a terminal the first column is always flush left.
//
// "|": if a terminal is too narrow for all columns, a block of columns may be printed below the
// others. If some names have this mark, such a block may begin only at their columns.
//
// "^": a terminal leaves out the column.
//
// "~": a terminal leaves out the column's name, and cells that repeat the cell above.
type Grid struct{ Rows [][]string }

// Add adds a row of cells.
func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

// column is a column of a grid.
type column struct {
	Name                 string
	Numeric              bool
	breaks, bare, onPage bool
}

func (g *Grid) columns() (list []column) {
	for _, name := range g.Rows[0] {
		c := column{Numeric: true}
		for c.Name = name; c.Name != ""; c.Name = c.Name[1:] {
			switch c.Name[0] {
			case '<':
				c.Numeric = false
				continue
			case '|':
				c.breaks = true
				continue
			case '~':
				c.bare = true
				continue
			case '^':
				c.onPage = true
				continue
			}
			break
		}
		list = append(list, c)
	}
	return list
}

// printed returns the columns that a terminal shows, and their cells.
func (g *Grid) printed() (columns []column, rows [][]string) {
	all := g.columns()
	rows = make([][]string, len(g.Rows))
	for j, c := range all {
		if c.onPage {
			continue
		}
		name := c.Name
		if c.bare {
			name = ""
		}
		columns, rows[0] = append(columns, c), append(rows[0], name)
		above := ""
		for i, row := range g.Rows[1:] {
			if j >= len(row) {
				continue
			}
			cell := row[j]
			if c.bare && cell == above {
				cell = ""
			}
			above = row[j]
			rows[i+1] = append(rows[i+1], cell)
		}
	}
	if len(columns) > 0 {
		columns[0].Numeric = false
	}
	if !slices.ContainsFunc(columns, func(c column) bool { return c.breaks }) {
		for j := range columns {
			columns[j].breaks = true
		}
	}
	return columns, rows
}

// Print prints rows in columns. Columns that do not fit on a line are printed below the others.
func (g *Grid) Print(w io.Writer) {
	if len(g.Rows) == 0 {
		return
	}
	columns, rows := g.printed()
	widths := make([]int, len(columns))
	for _, row := range rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	for i, block := range blocks(widths, columns) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for _, row := range rows {
			var line strings.Builder
			for _, j := range block {
				if j >= len(row) {
					break
				}
				padding := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(row[j]))
				if line.WriteString("  "); columns[j].Numeric {
					line.WriteString(padding + row[j])
				} else {
					line.WriteString(row[j] + padding)
				}
			}
			fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
		}
	}
}

// proseWidth is the smallest width, in characters, at which a last column counts as text that may
// be broken into lines.
const proseWidth = 40

// blocks divides columns into blocks of at most TextWidth characters. Each begins with the first
// column.
func blocks(widths []int, columns []column) (list [][]int) {
	last := len(widths) - 1
	block, width := []int{0}, 2+widths[0]
	for j := 1; j <= last; {
		end, size := j, 0 // index after the columns that stay together, and their width
		for ; end == j || end <= last && !columns[end].breaks; end++ {
			if prose := end == last && !columns[end].Numeric && widths[end] > proseWidth; !prose {
				size += 2 + widths[end]
			}
		}
		if width+size > TextWidth && len(block) > 1 {
			list = append(list, block)
			block, width = []int{0}, 2+widths[0]
		}
		for ; j < end; j++ {
			block = append(block, j)
		}
		width += size
	}
	return append(list, block)
}
