package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
)

// Kind is the type of a column.
type Kind int

const (
	// Numeric columns hold finite numbers.
	Numeric Kind = iota
	// Factor columns hold texts, as indices into a sorted list of levels.
	Factor
)

var kinds = enum.New[Kind]("type", "numeric", "factor")

// String returns "numeric" or "factor".
func (k Kind) String() string { return kinds.String(k) }

// Column is one typed column. Its slices belong to the table and must not be changed. [Numbers] and
// [Texts] make columns in memory.
type Column struct {
	Name string
	// Kind determines which of Values and Codes is set.
	Kind Kind
	// Values holds one number per row of a Numeric column, NaN where missing.
	Values []float64
	// Codes holds one index into Levels per row of a Factor column, -1 where missing.
	Codes []int
	// Levels holds the distinct texts of a Factor column in increasing order.
	Levels []string
	// Missing is the number of missing cells.
	Missing int
	// Genotype is true if the cells are numbers of copies of an allele, read from a file of
	// genotypes.
	Genotype bool

	// defect is the reason why the column cannot be used, which Lookup returns as an error. If the
	// defect is a mixture of numbers and texts, the field labels is the column with all cells as
	// labels.
	defect error
	labels *Column
}

// IsMissing reports whether the cell of a row is missing.
func (c *Column) IsMissing(row int) bool {
	if c.Kind == Factor {
		return c.Codes[row] < 0
	}
	return c.Values[row] != c.Values[row]
}

// Text returns the cell of a row as text, or "NA" if it is missing.
func (c *Column) Text(row int) string {
	switch {
	case c.IsMissing(row):
		return "NA"
	case c.Kind == Factor:
		return c.Levels[c.Codes[row]]
	}
	return formatNumber(c.Values[row])
}

// AsFactor returns the column as a Factor. The levels of a Numeric column are its numbers, in
// numerical order.
func (c *Column) AsFactor() *Column {
	if c.Kind == Factor {
		return c
	}
	distinct := slices.Clone(c.Values)
	distinct = slices.DeleteFunc(distinct, func(v float64) bool { return v != v })
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	out := &Column{Name: c.Name, Kind: Factor, Codes: make([]int, len(c.Values)), Levels: apply.To(distinct, formatNumber), Missing: c.Missing, defect: c.defect}
	for row, v := range c.Values {
		out.Codes[row] = -1
		if v == v {
			out.Codes[row], _ = slices.BinarySearch(distinct, v)
		}
	}
	return out
}

// numbers returns the cells of a Factor whose levels are all finite numbers, NaN where missing. For
// other columns it returns nil.
func (c *Column) numbers() []float64 {
	if c.Kind != Factor || len(c.Levels) == 0 {
		return nil
	}
	levels := make([]float64, len(c.Levels))
	for k, text := range c.Levels {
		var ok bool
		if levels[k], ok = parseNumber(text); !ok || math.IsInf(levels[k], 0) || math.IsNaN(levels[k]) {
			return nil
		}
	}
	values := make([]float64, len(c.Codes))
	for row, code := range c.Codes {
		if values[row] = math.NaN(); code >= 0 {
			values[row] = levels[code]
		}
	}
	return values
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Table is a set of columns of equal length.
type Table struct {
	// Path is the file as the caller spelled it, or the name of a table made in memory.
	Path string
	// Fingerprint is the SHA-256 of the file's bytes, or of the columns in memory, in hexadecimal.
	// For genotypes it is the SHA-256 of the .fam file and of the markers read.
	Fingerprint string

	columns []*Column
	// places holds, for every row, the line in the file (CSV) or the row number from 1 (Parquet,
	// memory, .fam).
	places []int
	// unit is the unit of places: "line" or "row".
	unit string
}

// Parse reads a table from the bytes of a file. It uses path only to name the file in errors.
func Parse(path string, content []byte) (*Table, error) {
	sum := sha256.Sum256(content)
	t := &Table{Path: path, Fingerprint: hex.EncodeToString(sum[:]), unit: "line"}
	var err error
	if bytes.HasPrefix(content, []byte(columnar.Magic)) {
		err = t.parseParquet(content)
	} else {
		err = t.parseCSV(content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Rows returns the number of data rows.
func (t *Table) Rows() int { return len(t.places) }

// Names returns the column names in file order.
func (t *Table) Names() []string {
	return apply.To(t.columns, func(c *Column) string { return c.Name })
}

// Place returns the place of a row in the file: "line 12" for a CSV file, "row 12" for any other
// table.
func (t *Table) Place(row int) string { return fmt.Sprintf("%s %d", t.unit, t.places[row]) }

// Lookup returns the column called name. The error for an unknown name suggests similar names. If a
// cell does not fit the column's type, the error names the cell.
func (t *Table) Lookup(name string) (*Column, error) {
	at := slices.IndexFunc(t.columns, func(c *Column) bool { return c.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("%s: no column %q; %s", t.Path, name, suggest(name, t.Names()))
	}
	if c := t.columns[at]; c.defect != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, c.defect)
	}
	return t.columns[at], nil
}

// Finder returns a function like Lookup for callers that look up many columns: its time does not
// grow with the number of columns.
func (t *Table) Finder() func(name string) (*Column, error) {
	columns := make(map[string]*Column, len(t.columns))
	for _, c := range t.columns {
		columns[c.Name] = c
	}
	return func(name string) (*Column, error) {
		if c := columns[name]; c != nil && c.defect == nil {
			return c, nil
		}
		return t.Lookup(name) // for its error
	}
}

// TextFound describes the first text in a Factor column, for errors in which numbers are required:
// `text ("a" in line 2)`.
func (t *Table) TextFound(c *Column) string {
	row := max(0, slices.IndexFunc(c.Codes, func(code int) bool { return code >= 0 }))
	note := ""
	if c.numbers() != nil {
		note = "; numbers in quotes are text where other columns have none"
	}
	return fmt.Sprintf("text (%q in %s%s)", c.Text(row), t.Place(row), note)
}

// Places returns the number of each row in the file, and its unit: "line" or "row". The numbers
// belong to the table and must not be changed.
func (t *Table) Places() (numbers []int, unit string) { return t.places, t.unit }

// repeat returns the column with row i repeated times[i] times. It removes levels without a row.
func (c *Column) repeat(times []int) *Column {
	if c.defect != nil { // a column with a defect has no cells
		return c
	}
	out := &Column{Name: c.Name, Kind: c.Kind, Values: repeat(c.Values, times), Codes: repeat(c.Codes, times), Genotype: c.Genotype}
	used, numbers := make([]bool, len(c.Levels)), make([]int, len(c.Levels))
	for _, code := range out.Codes {
		if code >= 0 {
			used[code] = true
		}
	}
	for code, level := range c.Levels {
		if numbers[code] = len(out.Levels); used[code] {
			out.Levels = append(out.Levels, level)
		}
	}
	for row := range max(len(out.Values), len(out.Codes)) {
		if out.IsMissing(row) {
			out.Missing++
		} else if c.Kind == Factor {
			out.Codes[row] = numbers[out.Codes[row]]
		}
	}
	return out
}

func newFactor(name string, texts []string, missing []bool) *Column {
	codes := make([]int32, len(texts))
	var levels []string
	places := make(map[string]int32)
	for row, text := range texts {
		if missing[row] {
			codes[row] = -1
			continue
		}
		code, seen := places[text]
		if !seen {
			code = int32(len(levels))
			levels = append(levels, strings.Clone(text))
			places[text] = code
		}
		codes[row] = code
	}
	return codedFactor(name, levels, codes)
}

// codedFactor makes a Factor column from codes: indices into levels, or −1 for a missing cell.
func codedFactor(name string, levels []string, codes []int32) *Column {
	c := &Column{Name: name, Kind: Factor, Levels: slices.Sorted(slices.Values(levels)), Codes: make([]int, len(codes))}
	ranks := make([]int, len(levels))
	for i, level := range levels {
		ranks[i], _ = slices.BinarySearch(c.Levels, level)
	}
	for row, code := range codes {
		c.Codes[row] = -1
		if code < 0 {
			c.Missing++
		} else {
			c.Codes[row] = ranks[code]
		}
	}
	return c
}

// ErrMixed is wrapped by the error for a column that mixes numbers and texts, such as 1, 2 and 3+;
// see [Table.WithLabels].
var ErrMixed = errors.New("numbers mixed with text")

// mixedColumn is the error for a column of numbers mixed with texts. Its text is the text of the
// wrapped error.
type mixedColumn struct{ error }

func (mixedColumn) Is(target error) bool { return target == ErrMixed }

// TextAmongNumbers lists the texts in a column that has numbers too, each text with its first
// place: `"low" in line 7, "n/k" in line 19`. It returns "" for a column of one type.
func (t *Table) TextAmongNumbers(name string) string {
	at := slices.IndexFunc(t.columns, func(c *Column) bool { return c.Name == name })
	if at < 0 || t.columns[at].labels == nil {
		return ""
	}
	labels := t.columns[at].labels
	var parts []string
	for _, row := range labels.newLabels() {
		if v, number := parseNumber(labels.Text(row)); !number || math.IsInf(v, 0) || math.IsNaN(v) {
			parts = append(parts, fmt.Sprintf("%q in %s", labels.Text(row), t.Place(row)))
		}
	}
	return english.List(parts, 5)
}

// WithLabels returns the table in which named columns with numbers and texts hold labels.
func (t *Table) WithLabels(names ...string) *Table {
	out := *t
	out.columns = slices.Clone(t.columns)
	for i, c := range out.columns {
		if c.labels != nil && slices.Contains(names, c.Name) {
			out.columns[i] = c.labels
		}
	}
	return &out
}

// Repeat returns the table with row i repeated times[i] times, in the order of the rows.
func (t *Table) Repeat(times []int) *Table {
	columns := apply.To(t.columns, func(c *Column) *Column { return c.repeat(times) })
	return &Table{Path: t.Path, Fingerprint: t.Fingerprint, unit: t.unit, places: repeat(t.places, times), columns: columns}
}

func repeat[T any](values []T, times []int) (out []T) {
	for i, v := range values {
		for range times[i] {
			out = append(out, v)
		}
	}
	return out
}
