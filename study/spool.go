package study

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/transdim/vti/internal/atomicfile"
)

// cell is a value of a row: a bool, int64, uint64, float64 or string.
type cell struct {
	column string
	value  any
}

// kind is the type of a column.
type kind byte

const (
	boolKind kind = iota + 1
	intKind
	uintKind
	floatKind
	textKind
)

func kindOf(value any) kind {
	switch value.(type) {
	case bool:
		return boolKind
	case int64:
		return intKind
	case uint64:
		return uintKind
	case float64:
		return floatKind
	case string:
		return textKind
	}
	panic(fmt.Sprintf("study.kindOf: a value of type %T", value))
}

// join is the kind of a column that holds values of both.
func join(a, b kind) kind {
	number := func(k kind) bool { return k == intKind || k == uintKind || k == floatKind }
	switch {
	case a == b || b == 0:
		return a
	case a == 0:
		return b
	case number(a) && number(b):
		return floatKind
	}
	return textKind
}

// column is what is known of a column so far.
type column struct {
	name string
	kind kind
}

// spool keeps rows in a temporary file while it is not known yet which columns there are. That
// takes constant memory, and the answers of tasks are read once: while others write, a second look
// could see more of them.
type spool struct {
	file    *atomicfile.File
	buffer  *bufio.Writer
	columns []column // in the order of appearance
	ids     map[string]int
	rows    int
	scratch []byte
}

// newSpool makes a spool for the file that is going to be at path.
func newSpool(path string) (*spool, error) {
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &spool{file: file, buffer: bufio.NewWriterSize(file, 1<<16), ids: map[string]int{}}, nil
}

// close removes the file.
func (s *spool) close() { s.file.Abort() }

// declare makes a column of a kind, 0 if that is unknown, even if no row has it.
func (s *spool) declare(name string, k kind) int {
	id, known := s.ids[name]
	if !known {
		id = len(s.columns)
		s.ids[name] = id
		s.columns = append(s.columns, column{name: name})
	}
	s.columns[id].kind = join(s.columns[id].kind, k)
	return id
}

// add appends a row; columns that it lacks are null. Of cells of one column the last counts.
func (s *spool) add(row []cell) error {
	b := binary.AppendUvarint(s.scratch[:0], uint64(len(row)))
	for _, c := range row {
		k := kindOf(c.value)
		b = binary.AppendUvarint(b, uint64(s.declare(c.column, k)))
		b = append(b, byte(k))
		switch v := c.value.(type) {
		case bool:
			if v {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		case int64:
			b = binary.AppendVarint(b, v)
		case uint64:
			b = binary.AppendUvarint(b, v)
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case string:
			b = binary.AppendUvarint(b, uint64(len(v)))
			b = append(b, v...)
		}
	}
	s.scratch = b
	s.rows++
	_, err := s.buffer.Write(b)
	return err
}

// each calls row with the values of every row, by column; nil where it has none. The slice is that
// of the call before, overwritten.
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

// readValue reads what add wrote of one cell after the number of its column.
func readValue(in *bufio.Reader) (any, error) {
	k, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	switch kind(k) {
	case boolKind:
		b, err := in.ReadByte()
		return b == 1, err
	case intKind:
		return binary.ReadVarint(in)
	case uintKind:
		return binary.ReadUvarint(in)
	case floatKind:
		var b [8]byte
		_, err := io.ReadFull(in, b[:])
		return math.Float64frombits(binary.LittleEndian.Uint64(b[:])), err
	case textKind:
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, err
		}
		text := make([]byte, n)
		_, err = io.ReadFull(in, text)
		return string(text), err
	}
	return nil, fmt.Errorf("spool: kind %d", k)
}
