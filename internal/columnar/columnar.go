// Package columnar writes Parquet files whose bytes depend on nothing but their rows and on how
// these come in batches.
package columnar

import (
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// GroupRows are the rows of a row group, which bounds what a writer or a reader has in memory.
// Chosen by hand.
const GroupRows = 1 << 16

// NewWriter starts a Parquet file. Closing it ends the file and leaves w open.
//
// Columns have dictionaries of any size. Where a writer gives up the dictionary of a column in the
// middle of a group, pages of the column have two encodings, and the library lists these in the
// order of a Go map: files of the same rows then differ from run to run.
func NewWriter(w io.Writer, schema *arrow.Schema) (*pqarrow.FileWriter, error) {
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(GroupRows),
		parquet.WithDictionaryPageSizeLimit(math.MaxInt32))
	return pqarrow.NewFileWriter(schema, struct{ io.Writer }{w}, properties, pqarrow.DefaultWriterProps()) // the wrapper hides Close
}
