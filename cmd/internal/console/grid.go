package console

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Grid prints rows in columns, and columns that do not fit beside the others below them. The first
// column is flush left, and so are those that begin with "<" in the header; the others are flush
// right. Where headers begin with "|", before "<", only those columns may begin a block below.
type Grid struct{ Rows [][]string }

func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

func (g *Grid) Print(w io.Writer) {
	if len(g.Rows) == 0 {
		return
	}
	left, breaks := make([]bool, len(g.Rows[0])), make([]bool, len(g.Rows[0]))
	marked := false
	for j, name := range g.Rows[0] {
		if name, breaks[j] = strings.CutPrefix(name, "|"); breaks[j] {
			marked = true
		}
		g.Rows[0][j] = strings.TrimPrefix(name, "<")
		left[j] = j == 0 || g.Rows[0][j] != name
	}
	for j := range breaks {
		breaks[j] = breaks[j] || !marked
	}
	widths := make([]int, len(left))
	for _, row := range g.Rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	for i, block := range blocks(widths, left, breaks) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for _, row := range g.Rows {
			var line strings.Builder
			for _, j := range block {
				if j >= len(row) {
					break
				}
				padding := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(row[j]))
				if line.WriteString("  "); left[j] {
					line.WriteString(row[j] + padding)
				} else {
					line.WriteString(padding + row[j])
				}
			}
			fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
		}
	}
}

// proseWidth is the width from which on a last column is text that folds, not a number or interval.
const proseWidth = 40

// blocks divides the columns of a table into blocks that fit into textWidth, each of which begins
// with the first column. A new block may begin at the columns of breaks only.
func blocks(widths []int, left, breaks []bool) (list [][]int) {
	last := len(widths) - 1
	block, width := []int{0}, 2+widths[0]
	for j := 1; j <= last; {
		end, size := j, 0 // of the columns that stay together
		for ; end == j || end <= last && !breaks[end]; end++ {
			if prose := end == last && left[end] && widths[end] > proseWidth; !prose {
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
