package papers

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/atomicfile"
)

// titles holds the headings of the pages, by paper.
var titles = map[string]string{
	"vti":          "Amortized variational transdimensional inference (Davies et al. 2025)",
	"exchangeable": "Exploring exchangeable dataset amortization (Mittal et al. 2023)",
	"pavi":         "PAVI: plate-amortized variational inference (Rouillard et al. 2023)",
	"adavi":        "ADAVI: automatic dual amortized variational inference (Rouillard and Wassermann 2022)",
	"branch":       "Amortized variational inference for simple hierarchical models (Agrawal and Domke 2021)",
}

const introduction = "Numbers of the paper beside ours. `vtilab paper PAPER FIGURE` measures the cells that are not here yet, and " +
	"`vtilab paper all` writes this page from their CSV files, which have processor seconds and standard errors too. A cell that was not measured is *not run*."

// WritePages writes a page for each paper into dir, with pictures, from the measured rows.
func WritePages(dir string) error {
	for _, paper := range Papers {
		var page strings.Builder
		fmt.Fprintf(&page, "# %s\n\n%s\n", titles[paper], wrap(strings.ReplaceAll(introduction, "PAPER", paper)))
		for _, s := range Of(paper) {
			if err := s.section(&page, dir); err != nil {
				return err
			}
		}
		if err := atomicfile.Write(filepath.Join(dir, paper+".md"), func(w io.Writer) error {
			_, err := io.WriteString(w, page.String())
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// section writes the part of a page about one study.
func (s *Study) section(page *strings.Builder, dir string) error {
	fmt.Fprintf(page, "\n## %s: %s\n", s.Name, s.Title)
	if s.Missing != "" {
		fmt.Fprintf(page, "\nNot run: %s.\n", s.Missing)
		return nil
	}
	rows, err := s.Read(dir)
	if err != nil {
		return err
	}
	if s.Note != "" {
		fmt.Fprintf(page, "\n%s\n", wrap(s.Note))
	}
	cells, err := s.Cells(&Lab{})
	if err != nil {
		return err
	}
	fmt.Fprintf(page, "\nCells measured, with any number of steps: %d of %d.\n", s.measured(cells, rows), len(cells))
	writeTable(page, s.header, s.lines(rows))
	if len(rows) == 0 || s.pictures == nil {
		return nil
	}
	for _, p := range s.pictures(rows) {
		if err := p.Write(dir); err != nil {
			return err
		}
		fmt.Fprintf(page, "\n![%s](%s.svg)\n", p.Text, p.Name)
	}
	return nil
}

// measured returns the number of cells that have a row; the row's numbers of steps, batch and width
// do not matter.
func (s *Study) measured(cells []Cell, rows []Row) (count int) {
	name := func(key []string) string {
		var parts []string
		for i, column := range s.Keys {
			if !slices.Contains([]string{"steps", "batch", "width"}, column) {
				parts = append(parts, key[i])
			}
		}
		return strings.Join(parts, " ")
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[name(s.key(row))] = true
	}
	for _, cell := range cells {
		if there[name(cell.Key)] {
			count++
		}
	}
	return count
}

// longestCell is the number of characters from which on Summary leaves out a value.
const longestCell = 40

// Summary writes the rows of a study for a terminal, and its claims.
func (s *Study) Summary(w io.Writer, rows []Row) {
	for _, row := range rows {
		line := strings.Join(s.key(row), " ") + ":"
		for _, column := range append(slices.Clone(s.Values), cpuColumn) {
			if value := row[column]; value != "" && value != "NaN" && len(value) < longestCell {
				line += " " + column + " " + value
			}
		}
		fmt.Fprintln(w, line)
	}
	for _, c := range s.Claims(rows) {
		said := "shown"
		if !c.Holds() {
			said = "NOT SHOWN"
		}
		fmt.Fprintf(w, "%s: %s (%.1f standard errors)\n", said, c.Text, c.Z)
	}
}

// writeTable writes a table in Markdown.
func writeTable(page *strings.Builder, header []string, lines [][]string) {
	fmt.Fprintf(page, "\n| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, line := range lines {
		fmt.Fprintf(page, "| %s |\n", strings.Join(line, " | "))
	}
}

// wrap breaks a text into lines of at most 104 bytes.
func wrap(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > 104 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}
