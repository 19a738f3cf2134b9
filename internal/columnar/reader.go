package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// File is an open Parquet file. Its methods must not be called from several goroutines at once.
type File struct {
	// Columns lists the columns in order. All numbers have the kind Double.
	Columns []Column

	source *parquet.File
	cells  []cells
	closer io.Closer
}

// Values holds the values of a column, which are either numbers or texts.
type Values struct {
	// Numbers holds NaN for missing values, and 0 and 1 for booleans.
	Numbers []float64
	// Missing reports for each number whether it is missing. nil: none is missing.
	Missing []bool
	// Codes holds for each text its index in Texts, and −1 for a missing text.
	Codes []int32
	// Texts lists the distinct texts, in the order of their first occurrence.
	Texts []string
}

// Open opens a file without reading its rows.
func Open(path string) (*File, error) {
	source, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := source.Stat()
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	f, err := NewFile(source, info.Size())
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	f.closer = source
	return f, nil
}

// NewFile returns a File that reads the first size bytes of source. Closing it does not close
// source.
func NewFile(source io.ReaderAt, size int64) (f *File, err error) {
	defer recoverDamage(&err)
	// The library allocates the size of the metadata that the last bytes of the file claim. A
	// damaged size would exhaust memory.
	var length [4]byte
	if _, err := source.ReadAt(length[:], max(0, size-8)); err == nil && int64(binary.LittleEndian.Uint32(length[:])) > size {
		return nil, damaged(errors.New("it ends before its metadata do"))
	}
	opened, err := parquet.OpenFile(source, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, damaged(err)
	}
	f = &File{source: opened}
	element := 1 // the first element is the root
	for _, column := range opened.Root().Columns() {
		c := newCells(column, opened.Metadata().Schema[element])
		element += nodes(column)
		f.cells = append(f.cells, c)
		f.Columns = append(f.Columns, Column{Name: column.Name(), Kind: c.kind, Optional: column.Optional()})
	}
	return f, nil
}

func nodes(column *parquet.Column) int {
	count := 1
	for _, child := range column.Columns() {
		count += nodes(child)
	}
	return count
}

func damaged(err error) error { return fmt.Errorf("damaged Parquet file: %w", err) }

// recoverDamage turns a panic into an error: the library panics on some damaged files.
func recoverDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged Parquet file: %v", p)
	}
}

// Close closes a file that Open opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.source.RowGroups()) }

// Rows returns the number of rows of a row group.
func (f *File) Rows(group int) int { return int(f.source.RowGroups()[group].NumRows()) }

// Metadata returns the value of a key in the metadata of the file.
func (f *File) Metadata(key string) (value string, ok bool) { return f.source.Lookup(key) }

// TypeName returns the name of a column's type as the Parquet format spells it.
func (f *File) TypeName(column int) string { return f.cells[column].typeName() }

const (
	// readValues is the number of values that are read at once.
	readValues = 1024
	// reservedRows is the largest number of rows for which memory is allocated in advance, since
	// the number of rows in a damaged file may be wrong.
	reservedRows = 1 << 20
)

// Read returns the values of a column in some row groups, one group after the other.
func (f *File) Read(column int, groups ...int) (values *Values, err error) {
	defer recoverDamage(&err)
	d := &decoder{cells: f.cells[column], codes: map[string]int32{}}
	if d.kind == Other {
		return nil, fmt.Errorf("column %q: got the Parquet type %s, want numbers, booleans or text", d.column.Name(), d.typeName())
	}
	rows := 0
	for _, group := range groups {
		rows += f.Rows(group)
	}
	if reserved := min(rows, reservedRows); d.kind == Text {
		d.Codes = make([]int32, 0, reserved)
	} else {
		d.Numbers = make([]float64, 0, reserved)
	}
	for _, group := range groups {
		d.rows += f.Rows(group)
		if f.source.Metadata().RowGroups[group].Columns[d.column.Index()].MetaData.Codec == format.Lz4Raw {
			return nil, fmt.Errorf("column %q: compressed with LZ4, whose decoder takes all memory for damaged data: write the file with zstd, snappy or gzip", d.column.Name())
		}
		chunk := f.source.RowGroups()[group].ColumnChunks()[d.column.Index()]
		if err := d.readPages(chunk.Pages()); err != nil {
			return nil, damaged(fmt.Errorf("row group %d: column %q: %w", group+1, d.column.Name(), err))
		}
	}
	return &d.Values, nil
}

// decoder collects the values of a column.
type decoder struct {
	Values
	cells
	rows       int              // number of rows up to the end of the row group
	codes      map[string]int32 // index in Texts of each text
	dictionary parquet.Dictionary
	entries    []int32 // index in Texts of each dictionary entry; −1 before its first use
}

func (d *decoder) len() int { return len(d.Numbers) + len(d.Codes) }

func (d *decoder) readPages(pages parquet.Pages) error {
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if page.NumValues() > int64(d.rows-d.len()) {
			return errors.New("more values than rows")
		}
		dictionary, data := page.Dictionary(), page.Data()
		switch {
		case dictionary != nil && d.kind == Text:
			d.readPlaces(page, dictionary)
		case dictionary == nil && data.Kind() == encoding.Double && page.NumNulls() == 0 && d.Missing == nil:
			d.Numbers = append(d.Numbers, data.Double()...) // readValues for all values at once
		default:
			err = d.readValues(page.Values())
		}
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	if n := d.len(); n != d.rows {
		return fmt.Errorf("%d values are missing", d.rows-n)
	}
	return nil
}

func (d *decoder) readPlaces(page parquet.Page, dictionary parquet.Dictionary) {
	if dictionary != d.dictionary {
		d.dictionary, d.entries = dictionary, slices.Repeat([]int32{-1}, dictionary.Len())
	}
	data, levels := page.Data(), page.DefinitionLevels()
	places := data.Int32()
	for i := range int(page.NumValues()) {
		if levels != nil && int(levels[i]) < d.column.MaxDefinitionLevel() {
			d.Codes = append(d.Codes, -1)
			continue
		}
		place := places[0]
		places = places[1:]
		if d.entries[place] < 0 {
			d.entries[place] = d.code(dictionary.Index(place).ByteArray())
		}
		d.Codes = append(d.Codes, d.entries[place])
	}
}

func (d *decoder) code(text []byte) int32 {
	code, known := d.codes[string(text)]
	if !known {
		code = int32(len(d.Texts))
		d.Texts = append(d.Texts, string(text))
		d.codes[d.Texts[code]] = code
	}
	return code
}

func (d *decoder) readValues(values parquet.ValueReader) error {
	var read [readValues]parquet.Value
	for {
		n, err := values.ReadValues(read[:])
		for _, v := range read[:n] {
			d.add(v)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d *decoder) add(v parquet.Value) {
	missing := v.IsNull()
	switch {
	case d.kind == Text && missing:
		d.Codes = append(d.Codes, -1)
		return
	case d.kind == Text:
		d.Codes = append(d.Codes, d.code(v.ByteArray()))
		return
	case missing && d.Missing == nil:
		d.Missing = make([]bool, len(d.Numbers), cap(d.Numbers))
	}
	if d.Missing != nil {
		d.Missing = append(d.Missing, missing)
	}
	number := math.NaN()
	if !missing {
		number = d.number(v)
	}
	d.Numbers = append(d.Numbers, number)
}
