package predict

import (
	"context"
	"encoding/csv"
	"io"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/internal/report"
)

// WriteCSV writes a row for each prediction.
func (r *Result) WriteCSV(path string) error {
	cells := report.Rows(r.Predictions, "row", "mean", "expected_sd", "expected_low", "expected_high", "sd", "low", "high")
	for _, category := range r.Categories {
		cells[0] = append(cells[0], "p["+category+"]")
	}
	if r.Observed != nil {
		cells[0] = append(cells[0], "observed")
	}
	for i, p := range r.Predictions {
		line := &cells[i+1]
		for _, probability := range p.Probabilities {
			*line = append(*line, probability.Text())
		}
		switch {
		case p.Observed != nil:
			*line = append(*line, p.Observed.Text())
		case r.Observed != nil:
			*line = append(*line, "") // for a censored time only a lower bound is known
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(cells) })
}

// drawsColumns are the columns of a file of draws: the row number in the table, the draw number
// from 1, and the expected response and a new response under the draw.
var drawsColumns = []columnar.Column{
	{Name: "row", Kind: columnar.Int32}, {Name: "draw", Kind: columnar.Int32}, {Name: "expected", Kind: columnar.Double}, {Name: "response", Kind: columnar.Double},
}

// WriteDraws writes every draw of every row as Parquet. With the same seed, the new responses equal
// the responses that Summarise draws.
func WriteDraws(ctx context.Context, path string, rows *Rows, seed uint64) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		out, err := columnar.NewWriter(w, drawsColumns, nil)
		if err != nil {
			return err
		}
		eta, expected, drawn := make([]float64, rows.Draws()*rows.Planes()), make([]float64, rows.Draws()), make([]float64, rows.Draws())
		for row, place := range rows.Places {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows.Predictor(row, eta)
			rows.draw(row, seed, eta, expected, drawn)
			for s := range drawn {
				out.Int32(int32(place))
				out.Int32(int32(s + 1))
				out.Double(expected[s])
				out.Double(drawn[s])
			}
		}
		return out.Close()
	})
}
