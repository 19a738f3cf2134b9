package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// grid prints rows in columns. The first column is flush left, and so are those that begin with "<"
// in the header; the others are flush right.
type grid struct{ rows [][]string }

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) print(w io.Writer) {
	if len(g.rows) == 0 {
		return
	}
	left := make([]bool, len(g.rows[0]))
	for j, name := range g.rows[0] {
		g.rows[0][j] = strings.TrimPrefix(name, "<")
		left[j] = j == 0 || g.rows[0][j] != name
	}
	widths := make([]int, len(left))
	for _, row := range g.rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g.rows {
		var line strings.Builder
		for j, cell := range row {
			padding := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if line.WriteString("  "); left[j] {
				line.WriteString(cell + padding)
			} else {
				line.WriteString(padding + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
