package study

import (
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
)

// batchRows are the rows of a record batch. Chosen by hand.
const batchRows = 1 << 12

// rowWriter collects rows for one Parquet file.
type rowWriter struct {
	*spool
	path string
}

func newRowWriter(path string) (*rowWriter, error) {
	s, err := newSpool(path)
	return &rowWriter{s, path}, err
}

// writeRows writes the rows that write adds to a Parquet file, whole or not at all. The columns are
// those of any row, in the order in which they appear.
func writeRows(path string, write func(w *rowWriter) error) error {
	w, err := newRowWriter(path)
	if err != nil {
		return err
	}
	defer w.close()
	if err := write(w); err != nil {
		return err
	}
	return w.commit()
}

// commit writes the file.
func (w *rowWriter) commit() error {
	return atomicfile.Write(w.path, func(out io.Writer) error {
		schema := w.schema()
		file, err := columnar.NewWriter(out, schema)
		if err != nil {
			return err
		}
		builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer builder.Release()
		rows := 0
		flush := func() error {
			batch := builder.NewRecordBatch()
			defer batch.Release()
			return file.WriteBuffered(batch)
		}
		err = w.each(func(values []any) error {
			for i, value := range values {
				appendValue(builder.Field(i), value)
			}
			if rows++; rows%batchRows == 0 {
				return flush()
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
		return file.Close()
	})
}

// schema has a nullable column for each column of the spool; one that was declared and never seen
// is of text.
func (w *rowWriter) schema() *arrow.Schema {
	types := map[kind]arrow.DataType{
		0: arrow.BinaryTypes.String, textKind: arrow.BinaryTypes.String, boolKind: arrow.FixedWidthTypes.Boolean,
		intKind: arrow.PrimitiveTypes.Int64, uintKind: arrow.PrimitiveTypes.Uint64, floatKind: arrow.PrimitiveTypes.Float64,
	}
	var fields []arrow.Field
	for _, c := range w.columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: types[c.kind], Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// appendValue adds a value to a column whose kind is that of all its values joined.
func appendValue(builder array.Builder, value any) {
	if value == nil {
		builder.AppendNull()
		return
	}
	switch b := builder.(type) {
	case *array.BooleanBuilder:
		b.Append(value.(bool))
	case *array.Int64Builder:
		b.Append(value.(int64))
	case *array.Uint64Builder:
		b.Append(value.(uint64))
	case *array.Float64Builder:
		b.Append(asFloat(value))
	case *array.StringBuilder:
		b.Append(asText(value))
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
