package study

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
)

// cell is a value in a column of a row: a bool, int64, uint64, float64 or string.
type cell struct {
	column string
	value  any
}

func kindOf(value any) columnar.Kind {
	switch value.(type) {
	case bool:
		return columnar.Bool
	case int64:
		return columnar.Int64
	case uint64:
		return columnar.Uint64
	case float64:
		return columnar.Double
	case string:
		return columnar.Text
	}
	panic(fmt.Sprintf("study.kindOf: a value of type %T", value))
}

// unknown is the kind of a declared column that has no values yet.
const unknown = columnar.Other

// join returns the kind of a column that holds values of the kinds a and b.
func join(a, b columnar.Kind) columnar.Kind {
	number := func(k columnar.Kind) bool { return k == columnar.Int64 || k == columnar.Uint64 || k == columnar.Double }
	switch {
	case a == b || b == unknown:
		return a
	case a == unknown:
		return b
	case number(a) && number(b):
		return columnar.Double
	}
	return columnar.Text
}

// spool collects the rows of one Parquet file. It keeps them in a temporary file, with constant
// memory, until all columns are known. Answers are then read only once. A second reading could find
// new answers of other processes.
type spool struct {
	path    string
	file    *atomicfile.File
	buffer  *bufio.Writer
	columns []columnar.Column // in the order of appearance
	ids     map[string]int
	rows    int
	scratch []byte
}

func newSpool(path string) (*spool, error) {
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &spool{path: path, file: file, buffer: bufio.NewWriterSize(file, 1<<16), ids: map[string]int{}}, nil
}

// close removes the temporary file.
func (s *spool) close() { s.file.Abort() }

// declare makes a column of the given kind, which may be unknown. The file has the column even if
// no row has a value in it.
func (s *spool) declare(name string, k columnar.Kind) int {
	id, known := s.ids[name]
	if !known {
		id = len(s.columns)
		s.ids[name] = id
		s.columns = append(s.columns, columnar.Column{Name: name, Optional: true})
	}
	s.columns[id].Kind = join(s.columns[id].Kind, k)
	return id
}

// add appends a row. Missing columns are null. Of several cells in one column the last counts.
func (s *spool) add(row []cell) error {
	b := binary.AppendUvarint(s.scratch[:0], uint64(len(row)))
	for _, c := range row {
		k := kindOf(c.value)
		b = binary.AppendUvarint(b, uint64(s.declare(c.column, k)))
		bits, text := uint64(0), ""
		switch v := c.value.(type) {
		case bool:
			if v {
				bits = 1
			}
		case int64:
			bits = uint64(v)
		case uint64:
			bits = v
		case float64:
			bits = math.Float64bits(v)
		case string:
			bits, text = uint64(len(v)), v
		}
		b = append(binary.LittleEndian.AppendUint64(append(b, byte(k)), bits), text...)
	}
	s.scratch = b
	s.rows++
	_, err := s.buffer.Write(b)
	return err
}

// each calls row with the values of every row, in the order of columns. A missing value is nil. The
// slice is reused for the next row.
func (s *spool) each(row func(values []any) error) error {
	if err := s.buffer.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.file, 1<<16)
	values := make([]any, len(s.columns))
	for range s.rows {
		clear(values)
		cells, err := binary.ReadUvarint(in)
		if err != nil {
			return err
		}
		for range cells {
			id, err := binary.ReadUvarint(in)
			if err != nil {
				return err
			}
			if values[id], err = readValue(in); err != nil {
				return err
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return nil
}

// readValue reads the part of a cell that add writes after the column number.
func readValue(in *bufio.Reader) (any, error) {
	head, err := in.Peek(9) // the kind, and eight bytes of a number, or of the length of a text
	if err != nil {
		return nil, err
	}
	kind, bits := columnar.Kind(head[0]), binary.LittleEndian.Uint64(head[1:])
	_, _ = in.Discard(len(head)) // the bytes are in the buffer
	switch kind {
	case columnar.Bool:
		return bits == 1, nil
	case columnar.Int64:
		return int64(bits), nil
	case columnar.Uint64:
		return bits, nil
	case columnar.Double:
		return math.Float64frombits(bits), nil
	case columnar.Text:
		text := make([]byte, bits)
		_, err := io.ReadFull(in, text)
		return string(text), err
	}
	return nil, fmt.Errorf("spool: kind %d", kind)
}

// commit writes the rows to the Parquet file. Columns without values become columns of text.
func (s *spool) commit() error {
	return atomicfile.Write(s.path, func(out io.Writer) error {
		for i := range s.columns {
			if s.columns[i].Kind == unknown {
				s.columns[i].Kind = columnar.Text
			}
		}
		file, err := columnar.NewWriter(out, s.columns, nil)
		if err != nil {
			return err
		}
		err = s.each(func(values []any) error {
			for i, value := range values {
				writeValue(file, s.columns[i].Kind, value)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return file.Close()
	})
}

// writeValue writes a value to a column of a kind that can hold the value.
func writeValue(file *columnar.Writer, kind columnar.Kind, value any) {
	if value == nil {
		file.Null()
		return
	}
	switch kind {
	case columnar.Bool:
		file.Bool(value.(bool))
	case columnar.Int64:
		file.Int64(value.(int64))
	case columnar.Uint64:
		file.Uint64(value.(uint64))
	case columnar.Double:
		file.Double(asFloat(value))
	default:
		file.Text(asText(value))
	}
}

func asFloat(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return value.(float64)
}

func asText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}
