package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// parquetMagic begins every Parquet file.
var parquetMagic = []byte("PAR1")

// maxParquetRows bounds what a damaged header can make the reader allocate.
const maxParquetRows = 1 << 28

// parseParquet fills the table from the bytes of a Parquet file.
func (t *Table) parseParquet(content []byte) (err error) {
	defer func() {
		if p := recover(); p != nil { // the reader panics on some damaged files
			err = fmt.Errorf("damaged Parquet file: %v", p)
		}
	}()
	source, err := file.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("damaged Parquet file: %w", err)
	}
	defer source.Close()
	if n := source.NumRows(); n < 0 || n > maxParquetRows {
		return fmt.Errorf("damaged Parquet file: it claims %d rows; at most %d can be read", n, maxParquetRows)
	}
	reader, err := pqarrow.NewFileReader(source, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return fmt.Errorf("damaged Parquet file: %w", err)
	}
	data, err := reader.ReadTable(context.Background())
	if err != nil {
		return fmt.Errorf("damaged Parquet file: %w", err)
	}
	defer data.Release()
	if data.NumCols() == 0 || data.NumRows() == 0 {
		return errors.New("the Parquet file holds no rows")
	}
	t.unit = "row"
	t.places = make([]int, data.NumRows())
	for row := range t.places {
		t.places[row] = row + 1
	}
	var names []string
	for j := range int(data.NumCols()) {
		column := arrowColumn(data.Column(j), t.Rows())
		column.Name = oneLine(column.Name)
		names = append(names, column.Name)
		t.columns = append(t.columns, column)
	}
	return checkNames(names, "")
}

// arrowColumn converts one column, whatever its chunks.
func arrowColumn(source *arrow.Column, rows int) *Column {
	name := source.Name()
	values := make([]float64, 0, rows)
	texts := make([]string, 0, rows)
	missing := make([]bool, 0, rows)
	for _, chunk := range source.Data().Chunks() {
		number, text := cellReaders(chunk)
		if number == nil && text == nil {
			return &Column{Name: name, defect: fmt.Errorf("column %q: got the Parquet type %s, want numbers, booleans or text", name, chunk.DataType())}
		}
		for i := range chunk.Len() {
			absent := chunk.IsNull(i)
			missing = append(missing, absent)
			if text != nil {
				cell := ""
				if !absent {
					cell = text(i)
				}
				texts = append(texts, cell)
				continue
			}
			v := math.NaN()
			if !absent {
				v = number(i)
			}
			if math.IsInf(v, 0) {
				return &Column{Name: name, defect: fmt.Errorf("row %d, column %q: got %v, want a finite number or null", len(values)+1, name, v)}
			}
			values = append(values, v)
		}
	}
	if len(missing) != rows {
		return &Column{Name: name, defect: fmt.Errorf("column %q: got %d rows, want %d", name, len(missing), rows)}
	}
	if len(texts) > 0 {
		return newFactor(name, texts, missing)
	}
	c := &Column{Name: name, Kind: Numeric, Values: values}
	for row := range values {
		if c.IsMissing(row) {
			c.Missing++
		}
	}
	return c
}

// cellReaders returns how to read a cell of the array as a number or as text; both nil for other
// types.
func cellReaders(chunk arrow.Array) (number func(int) float64, text func(int) string) {
	switch a := chunk.(type) {
	case *array.Float64:
		return a.Value, nil
	case *array.Float32:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Int64:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Int32:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Int16:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Int8:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Uint64:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Uint32:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Uint16:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Uint8:
		return func(i int) float64 { return float64(a.Value(i)) }, nil
	case *array.Float16:
		return func(i int) float64 { return float64(a.Value(i).Float32()) }, nil
	case *array.Decimal128:
		return decimals(a), nil
	case *array.Decimal256:
		return decimals(a), nil
	case *array.Boolean:
		return func(i int) float64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}, nil
	case *array.String:
		return nil, a.Value
	case *array.LargeString:
		return nil, a.Value
	case *array.Dictionary:
		_, text := cellReaders(a.Dictionary())
		if text == nil {
			return nil, nil
		}
		return nil, func(i int) string { return text(a.GetValueIndex(i)) }
	}
	return nil, nil
}

// decimals reads decimal numbers, which are rounded to the nearest float64.
func decimals(a interface{ ValueStr(i int) string }) func(int) float64 {
	return func(i int) float64 {
		v, err := strconv.ParseFloat(a.ValueStr(i), 64)
		if err != nil {
			return math.NaN() // null
		}
		return v
	}
}
