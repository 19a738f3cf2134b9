// Package columnar reads and writes Parquet files whose columns are flat: numbers, booleans and
// texts, which may be missing. It holds one row group of a file in memory at a time.
//
//	x := columnar.Column{Name: "x", Kind: columnar.Double}
//	g := columnar.Column{Name: "g", Kind: columnar.Text}
//	w, err := columnar.NewWriter(out, []columnar.Column{x, g}, nil)
//	if err != nil {
//		return err
//	}
//	for i, x := range xs { // cell after cell, row after row
//		w.Double(x)
//		w.Text(names[i])
//	}
//	return w.Close()
package columnar

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Magic is the first four bytes of every Parquet file.
const Magic = "PAR1"

// GroupRows is the number of rows of a row group. It bounds the memory of writers and readers.
const GroupRows = 1 << 16

// MostColumns is the largest number of columns of a file.
const MostColumns = parquet.MaxColumnIndex

// Kind is the type of the values of a column.
type Kind int

// The kinds before Other can be written. Other stands for every type of a file that is read neither
// as numbers nor as text.
const (
	Other Kind = iota
	Double
	Int32
	Int64
	Uint64
	Bool
	Text
)

// Column is a column of a file.
type Column struct {
	Name string
	Kind Kind
	// Optional reports whether values may be missing.
	Optional bool
}

// node returns the column's node in the schema of a file. Texts and small integers have
// dictionaries.
func (c Column) node() (node parquet.Node) {
	switch c.Kind {
	case Double:
		node = parquet.Leaf(parquet.DoubleType)
	case Int32:
		node = parquet.Encoded(parquet.Int(32), &parquet.RLEDictionary)
	case Int64:
		node = parquet.Int(64)
	case Uint64:
		node = parquet.Uint(64)
	case Bool:
		node = parquet.Leaf(parquet.BooleanType)
	case Text:
		node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	default:
		panic(fmt.Sprintf("columnar.NewWriter: column %q: unknown kind %d", c.Name, c.Kind))
	}
	if c.Optional {
		return parquet.Optional(node)
	}
	return node
}

// table is a schema whose columns keep their order. A parquet.Group would sort columns by name.
type table struct {
	parquet.Group
	order []string
}

// Fields returns the columns in order.
func (t table) Fields() []parquet.Field {
	fields := t.Group.Fields()
	places := make(map[string]int, len(t.order))
	for i, name := range t.order {
		places[name] = i
	}
	slices.SortFunc(fields, func(a, b parquet.Field) int { return places[a.Name()] - places[b.Name()] })
	return fields
}

const (
	// pageBytes is the total size of the pages that a writer holds open for all columns.
	// mostPageBytes and leastPageBytes bound the size of a page of one column.
	pageBytes, mostPageBytes, leastPageBytes = 64 << 20, 256 << 10, 4 << 10
	// dictionaryBytes is the largest size of a dictionary. A column with a larger dictionary is
	// written without one.
	dictionaryBytes = 1 << 20
	// pendingValues is the number of values, and pendingRows the largest number of rows, that a
	// writer collects before it passes them to the library.
	pendingValues, pendingRows = 1 << 18, 256
)

// Writer writes a file cell by cell, in the order of the columns. The methods that add a cell panic
// if the column has another kind. The bytes of a file depend only on its rows.
type Writer struct {
	columns []Column
	file    *parquet.GenericWriter[any]
	pages   []*parquet.ColumnWriter
	pending [][]parquet.Value // values not yet written, by column
	column  int               // index of the column of the next cell
	rows    int               // number of rows in the row group so far
	batch   int               // largest number of pending rows
	err     error             // the first error
}

// NewWriter starts a file with the given columns and metadata. Closing the writer completes the
// file but does not close out.
func NewWriter(out io.Writer, columns []Column, metadata map[string]string) (*Writer, error) {
	if len(columns) == 0 || len(columns) > MostColumns {
		return nil, fmt.Errorf("got %d columns, want at least one column and at most %d", len(columns), MostColumns)
	}
	schema := table{Group: parquet.Group{}}
	for _, c := range columns {
		if schema.Group[c.Name] != nil {
			return nil, fmt.Errorf("two columns %q", c.Name)
		}
		schema.Group[c.Name] = c.node()
		schema.order = append(schema.order, c.Name)
	}
	options := []parquet.WriterOption{
		parquet.NewSchema("schema", schema), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1), parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.PageBufferSize(min(max(pageBytes/len(columns), leastPageBytes), mostPageBytes)), parquet.CreatedBy("vti", "", ""),
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		options = append(options, parquet.KeyValueMetadata(key, metadata[key]))
	}
	w := &Writer{columns: columns, file: parquet.NewGenericWriter[any](out, options...), pending: make([][]parquet.Value, len(columns))}
	w.batch = min(max(pendingValues/len(columns), 1), pendingRows)
	w.pages = w.file.ColumnWriters()
	return w, nil
}

// Double adds a float64 cell.
func (w *Writer) Double(v float64) { w.add(Double, parquet.DoubleValue(v)) }

// Int32 adds a 32-bit integer cell.
func (w *Writer) Int32(v int32) { w.add(Int32, parquet.Int32Value(v)) }

// Int64 adds a 64-bit integer cell.
func (w *Writer) Int64(v int64) { w.add(Int64, parquet.Int64Value(v)) }

// Uint64 adds an unsigned 64-bit integer cell.
func (w *Writer) Uint64(v uint64) { w.add(Uint64, parquet.Int64Value(int64(v))) }

// Bool adds a boolean cell.
func (w *Writer) Bool(v bool) { w.add(Bool, parquet.BooleanValue(v)) }

// Text adds a text cell.
func (w *Writer) Text(v string) { w.add(Text, parquet.ByteArrayValue([]byte(v))) }

// Null adds a missing value to an optional column.
func (w *Writer) Null() {
	if c := w.columns[w.column]; !c.Optional {
		panic(fmt.Sprintf("columnar.Writer: column %q: got a missing value, want one of kind %d", c.Name, c.Kind))
	}
	w.append(parquet.NullValue())
}

func (w *Writer) add(kind Kind, v parquet.Value) {
	c := &w.columns[w.column]
	if c.Kind != kind {
		panic(fmt.Sprintf("columnar.Writer: column %q: got a value of kind %d, want %d", c.Name, kind, c.Kind))
	}
	if c.Optional {
		v = v.Level(0, 1, w.column)
	}
	w.append(v)
}

func (w *Writer) append(v parquet.Value) {
	w.pending[w.column] = append(w.pending[w.column], v)
	if w.column++; w.column < len(w.columns) {
		return
	}
	w.column = 0
	if w.rows++; w.rows%w.batch == 0 {
		w.flush()
	}
	if w.rows == GroupRows {
		w.EndGroup()
	}
}

// EndGroup ends a row group. A row group also ends by itself after GroupRows rows.
func (w *Writer) EndGroup() {
	if w.flush(); w.err == nil {
		w.err = w.file.Flush()
	}
	w.rows = 0
}

func (w *Writer) flush() {
	for i, values := range w.pending {
		if w.err == nil && len(values) > 0 {
			_, w.err = w.pages[i].WriteRowValues(values)
		}
		w.pending[i] = values[:0]
	}
}

// Close completes the file. It returns the first error of all calls, and panics if the last row is
// incomplete.
func (w *Writer) Close() error {
	if w.column > 0 {
		panic(fmt.Sprintf("columnar.Writer.Close: got %d cells of the last row, want %d", w.column, len(w.columns)))
	}
	if w.flush(); w.err != nil {
		return w.err
	}
	return w.file.Close()
}
