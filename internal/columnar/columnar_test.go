package columnar

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"
)

// The same rows are the same bytes, also where the texts of a column are long and all different, so
// that its dictionary has several megabytes. Of files with two orders of a list ten would be equal
// by chance once in 500.
func TestSameRowsAreTheSameBytes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}, {Name: "number", Type: arrow.PrimitiveTypes.Float64}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	const rows = 5000
	for i := range rows {
		builder.Field(0).(*array.StringBuilder).Append(strings.Repeat(" ", 600) + fmt.Sprint(i))
		builder.Field(1).(*array.Float64Builder).Append(float64(i))
	}
	batch := builder.NewRecordBatch()
	defer batch.Release()
	var sums []string
	for range 10 {
		var content bytes.Buffer
		out, err := NewWriter(&content, schema)
		require.NoError(t, err)
		require.NoError(t, out.WriteBuffered(batch))
		require.NoError(t, out.Close())
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(content.Bytes())))
		require.Equal(t, sums[0], sums[len(sums)-1])

		written, err := file.NewParquetReader(bytes.NewReader(content.Bytes()))
		require.NoError(t, err)
		require.EqualValues(t, rows, written.NumRows())
		require.NoError(t, written.Close())
	}
}
