package draws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/transdim/vti/internal/columnar"
)

const (
	parquetMagic = "PAR1"
	headerKey    = "vti_draws"
)

// schema gives chain__ and the sites 32-bit integers, the spelled model texts, and everything else
// doubles.
func (h Header) schema() *arrow.Schema {
	first := len(h.densities()) + 1 // column of the first site
	var fields []arrow.Field
	for i, name := range h.columns(Parquet) {
		var kind arrow.DataType = arrow.PrimitiveTypes.Float64
		if name == "chain__" || i >= first && i < first+len(h.Cards) {
			kind = arrow.PrimitiveTypes.Int32
		} else if name == ModelColumn {
			kind = arrow.BinaryTypes.String
		}
		fields = append(fields, arrow.Field{Name: name, Type: kind})
	}
	return arrow.NewSchema(fields, nil)
}

type parquetEncoder struct {
	header  Header
	builder *array.RecordBuilder
	out     *pqarrow.FileWriter
}

func newParquetEncoder(w io.Writer, h Header) (*parquetEncoder, error) {
	text, err := h.marshal()
	if err != nil {
		return nil, err
	}
	out, err := columnar.NewWriter(w, h.schema())
	if err != nil {
		return nil, err
	}
	if err := out.AppendKeyValueMetadata(headerKey, text); err != nil {
		return nil, err
	}
	return &parquetEncoder{header: h, builder: array.NewRecordBuilder(memory.DefaultAllocator, h.schema()), out: out}, nil
}

func (e *parquetEncoder) write(b Batch) error {
	sites, dim := len(e.header.Cards), len(e.header.Coordinates)
	doubles := func(column int) *array.Float64Builder { return e.builder.Field(column).(*array.Float64Builder) }
	integers := func(column int) *array.Int32Builder { return e.builder.Field(column).(*array.Int32Builder) }

	doubles(0).AppendValues(b.LogP, nil)
	if e.header.Kind == Chains {
		integers(1).AppendValues(b.Chain, nil)
	} else {
		doubles(1).AppendValues(b.LogQ, nil)
	}
	for i := range b.Len() {
		code := b.Codes[i*sites : (i+1)*sites]
		doubles(2).Append(e.header.model(code))
		for s, outcome := range code {
			integers(3 + s).Append(outcome)
		}
		for j, v := range b.Theta[i*dim : (i+1)*dim] {
			doubles(3 + sites + j).Append(v)
		}
		e.builder.Field(3 + sites + dim).(*array.StringBuilder).Append(e.header.ModelName(code))
	}
	record := e.builder.NewRecordBatch()
	defer record.Release()
	return e.out.WriteBuffered(record)
}

func (e *parquetEncoder) close() error {
	e.builder.Release()
	return e.out.Close()
}

// readParquet reads what parquetEncoder wrote, one row group in memory beside the result. Errors
// name the row.
func readParquet(f *os.File) (d *Draws, err error) {
	defer func() {
		if p := recover(); p != nil { // the reader panics on some damaged files
			d, err = nil, fmt.Errorf("damaged Parquet file: %v", p)
		}
	}()
	source, err := file.NewParquetReader(struct {
		io.ReaderAt
		io.ReadSeeker
	}{f, f})
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	defer source.Close()
	text := source.MetaData().KeyValueMetadata().FindValue(headerKey)
	if text == nil {
		return nil, fmt.Errorf("not a file of draws: its metadata has no key %q", headerKey)
	}
	header, err := unmarshalHeader(*text)
	if err != nil {
		return nil, err
	}
	reader, err := pqarrow.NewFileReader(source, pqarrow.ArrowReadProperties{BatchSize: columnar.GroupRows}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	records, err := reader.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	defer records.Release()
	var names []string
	for _, field := range records.Schema().Fields() {
		names = append(names, field.Name)
	}
	if err := header.equalColumns(Parquet, names); err != nil {
		return nil, err
	}
	d = &Draws{Header: header}
	for records.Next() {
		if err := d.appendRecord(records.RecordBatch()); err != nil {
			return nil, err
		}
	}
	if err := records.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("damaged Parquet file: after row %d: %w", d.Len(), err)
	}
	if int64(d.Len()) != source.NumRows() {
		return nil, fmt.Errorf("damaged Parquet file: want %d rows, got %d", source.NumRows(), d.Len())
	}
	return d, nil
}

func (d *Draws) appendRecord(record arrow.RecordBatch) error {
	cell := make([]func(int) float64, record.NumCols()-1) // the spelled model comes last
	for i := range cell {
		name := record.ColumnName(i)
		if record.Column(i).NullN() > 0 {
			return fmt.Errorf("column %s: want a number in every row, got %d nulls", name, record.Column(i).NullN())
		}
		switch column := record.Column(i).(type) {
		case *array.Float64:
			cell[i] = column.Value
		case *array.Int32:
			cell[i] = func(row int) float64 { return float64(column.Value(row)) }
		default:
			return fmt.Errorf("column %s: want doubles or 32-bit integers, got %s", name, column.DataType())
		}
	}
	row := make([]float64, len(cell))
	for i := range int(record.NumRows()) {
		for j, value := range cell {
			row[j] = value(i)
		}
		if err := d.appendRow(row[0], row[1], row[2], row[3:]); err != nil {
			return fmt.Errorf("row %d: %w", d.Len(), err)
		}
	}
	return nil
}
