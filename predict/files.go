package predict

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
)

// WriteCSV writes a row for each prediction.
func (r *Result) WriteCSV(path string) error {
	cells := [][]string{{"row", "mean", "expected_sd", "expected_low", "expected_high", "sd", "low", "high"}}
	for _, category := range r.Categories {
		cells[0] = append(cells[0], "p["+category+"]")
	}
	if r.Observed != nil {
		cells[0] = append(cells[0], "observed")
	}
	for _, p := range r.Predictions {
		line := []string{
			strconv.Itoa(p.Row), p.Mean.Text(), p.ExpectedSD.Text(), p.ExpectedLow.Text(), p.ExpectedHigh.Text(), p.SD.Text(), p.Low.Text(), p.High.Text(),
		}
		for _, probability := range p.Probabilities {
			line = append(line, probability.Text())
		}
		switch {
		case p.Observed != nil:
			line = append(line, p.Observed.Text())
		case r.Observed != nil:
			line = append(line, "") // a time of which only a lower bound is known
		}
		cells = append(cells, line)
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(cells) })
}

// drawsSchema are the columns of a file of draws: the number of the row in its table, that of the
// draw from 1, and the expected value and a new response under that draw.
var drawsSchema = arrow.NewSchema([]arrow.Field{
	{Name: "row", Type: arrow.PrimitiveTypes.Int32},
	{Name: "draw", Type: arrow.PrimitiveTypes.Int32},
	{Name: "expected", Type: arrow.PrimitiveTypes.Float64},
	{Name: "response", Type: arrow.PrimitiveTypes.Float64},
}, nil)

// WriteDraws writes every draw of every row as Parquet: the same new responses that Summarise
// summarises with this seed.
func WriteDraws(ctx context.Context, path string, rows *Rows, seed uint64) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		out, err := columnar.NewWriter(w, drawsSchema)
		if err != nil {
			return err
		}
		builder := array.NewRecordBuilder(memory.DefaultAllocator, drawsSchema)
		defer builder.Release()
		eta, expected, drawn := make([]float64, rows.Draws()*rows.Planes()), make([]float64, rows.Draws()), make([]float64, rows.Draws())
		for row, place := range rows.Places {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows.Predictor(row, eta)
			rows.draw(row, seed, eta, expected, drawn)
			for s := range drawn {
				builder.Field(0).(*array.Int32Builder).Append(int32(place))
				builder.Field(1).(*array.Int32Builder).Append(int32(s + 1))
			}
			builder.Field(2).(*array.Float64Builder).AppendValues(expected, nil)
			builder.Field(3).(*array.Float64Builder).AppendValues(drawn, nil)
			batch := builder.NewRecordBatch()
			err := out.WriteBuffered(batch)
			batch.Release()
			if err != nil {
				return err
			}
		}
		return out.Close()
	})
}
