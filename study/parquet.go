package study

import (
	"fmt"
	"io"
	"strconv"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
)

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
