package table

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// Numbers returns a Numeric column with a copy of values. NaN is a missing cell. [New] refuses
// infinite values.
func Numbers(name string, values []float64) *Column {
	return newNumeric(name, slices.Clone(values), "NaN for a missing one")
}

// newNumeric returns a Numeric column with the given values. An infinite value is a defect, whose
// error ends with the argument missing: what stands for a missing cell.
func newNumeric(name string, values []float64, missing string) *Column {
	c := &Column{Name: name, Kind: Numeric, Values: values, Missing: floats.Count(math.IsNaN, values)}
	if row := slices.IndexFunc(values, func(v float64) bool { return math.IsInf(v, 0) }); row >= 0 {
		c.defect = fmt.Errorf("row %d, column %q: got %v, want a finite number or %s", row+1, name, values[row], missing)
	}
	return c
}

// Texts returns a Factor column with one text for each row. Its levels are the distinct texts in
// byte order. As in a CSV file, "", "NA", "NaN", "nan", "null" and "." are missing cells.
func Texts(name string, values []string) *Column {
	missing := apply.To(values, func(text string) bool { return missingTokens[text] })
	return newFactor(name, values, missing)
}

// New returns a table of columns in memory, which [Numbers] and [Texts] make. In errors and
// results, the argument name takes the place of the path of a file. New returns an error if there
// are no columns or no rows, if columns differ in length, if a name is empty or occurs twice, or if
// a value is infinite.
func New(name string, columns ...*Column) (*Table, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("%s: got no columns, want at least one", name)
	}
	t := &Table{Path: name, unit: "row", columns: slices.Clone(columns)}
	rows := columns[0].length()
	for _, c := range columns {
		if n := c.length(); n != rows {
			return nil, fmt.Errorf("%s: got %s in column %q, want %d as in column %q", name, english.Count(n, "row"), c.Name, rows, columns[0].Name)
		}
		if c.defect != nil {
			return nil, fmt.Errorf("%s: %w", name, c.defect)
		}
	}
	if rows == 0 {
		return nil, fmt.Errorf("%s: got columns without rows, want at least one row", name)
	}
	if err := checkNames(t.Names(), name+": "); err != nil {
		return nil, err
	}
	t.places = apply.UpTo(rows, func(row int) int { return row + 1 })
	digest := sha256.New()
	for _, c := range columns {
		c.digest(digest)
	}
	t.Fingerprint = hex.EncodeToString(digest.Sum(nil))
	return t, nil
}

func (c *Column) length() int {
	if c.Kind == Factor {
		return len(c.Codes)
	}
	return len(c.Values)
}

// digest writes the column to a hash, so that tables with equal hashes have the same names and
// cells.
func (c *Column) digest(to hash.Hash) {
	text := func(s string) {
		binary.Write(to, binary.LittleEndian, int64(len(s)))
		to.Write([]byte(s))
	}
	text(c.Name)
	binary.Write(to, binary.LittleEndian, int64(c.Kind))
	for row := range c.length() {
		if c.Kind == Factor {
			text(c.Text(row))
			continue
		}
		bits := math.Float64bits(c.Values[row])
		if c.Values[row] != c.Values[row] {
			bits = math.Float64bits(math.NaN()) // the same bits for every NaN
		}
		binary.Write(to, binary.LittleEndian, bits)
	}
}
