package table

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parquetFile writes three rows of the supported types, and one unsupported column.
func parquetFile(t testing.TB, inf bool) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int32},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "g", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32},
		{Name: "m", Type: &arrow.Decimal128Type{Precision: 20, Scale: 3}, Nullable: true},
		{Name: "h", Type: arrow.FixedWidthTypes.Float16},
	}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	x := 2.5
	if inf {
		x = math.Inf(1)
	}
	builder.Field(0).(*array.Float64Builder).AppendValues([]float64{1, x, 0}, []bool{true, true, false})
	builder.Field(1).(*array.Int32Builder).AppendValues([]int32{7, -8, 9}, nil)
	builder.Field(2).(*array.BooleanBuilder).AppendValues([]bool{true, false, true}, nil)
	builder.Field(3).(*array.StringBuilder).AppendValues([]string{"u", "", "t"}, []bool{true, false, true})
	builder.Field(4).(*array.Date32Builder).AppendValues([]arrow.Date32{1, 2, 3}, nil)
	for i, price := range []string{"0.1", "-12345678901234567.891", "(null)"} {
		_ = builder.Field(5).AppendValueFromString(price)
		_ = builder.Field(6).AppendValueFromString([]string{"1.5", "-2", "0"}[i])
	}
	record := builder.NewRecordBatch()
	defer record.Release()
	data := array.NewTableFromRecords(schema, []arrow.RecordBatch{record, record})
	defer data.Release()
	var out bytes.Buffer
	require.NoError(t, pqarrow.WriteTable(data, &out, 2, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps()))
	return out.Bytes()
}

func TestParseParquet(t *testing.T) {
	table, err := Parse("data.parquet", parquetFile(t, false))
	require.NoError(t, err)
	assert.Equal(t, 6, table.Rows())
	assert.Equal(t, []string{"x", "n", "b", "g", "d", "m", "h"}, table.Names())
	x := lookup(t, table, "x")
	assert.Equal(t, []float64{1, 2.5}, x.Values[3:5])
	assert.Equal(t, 2, x.Missing)
	assert.Equal(t, []float64{7, -8, 9, 7, -8, 9}, lookup(t, table, "n").Values)
	assert.Equal(t, []float64{1, 0, 1, 1, 0, 1}, lookup(t, table, "b").Values)
	g := lookup(t, table, "g")
	assert.Equal(t, []string{"t", "u"}, g.Levels)
	assert.Equal(t, []int{1, -1, 0, 1, -1, 0}, g.Codes)
	assert.Equal(t, "row 2", table.Place(1))
	m := lookup(t, table, "m")
	assert.Equal(t, []float64{0.1, -12345678901234567.891}, m.Values[:2])
	assert.Equal(t, 2, m.Missing)
	assert.Equal(t, []float64{1.5, -2, 0}, lookup(t, table, "h").Values[:3])
	_, err = table.Lookup("d")
	require.ErrorContains(t, err, `data.parquet: column "d": got the Parquet type date32, want numbers, booleans or text`)

	infinite, err := Parse("data.parquet", parquetFile(t, true))
	require.NoError(t, err)
	_, err = infinite.Lookup("x")
	require.ErrorContains(t, err, `row 2, column "x": got +Inf, want a finite number or null`)
}

// TestParseParquetDamaged: every prefix and every one-byte change is an error or a table, never a
// panic.
func TestParseParquetDamaged(t *testing.T) {
	good := parquetFile(t, false)
	for n := 0; n < len(good); n += 37 {
		_, err := Parse("data.parquet", good[:n])
		require.Error(t, err)
	}
	for i := 0; i < len(good); i += 7 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		_, err := Parse("data.parquet", bad)
		if err != nil {
			assert.Contains(t, err.Error(), "data.parquet: ")
		}
	}
}
