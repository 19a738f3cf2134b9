package study

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/transdim/vti/table"
)

// columnTables are made of one large table: for each response a table of it and its predictors.
// Small tables let thousands of tasks run without each of them reading the large one.
type columnTables struct {
	name       string // of the file, as the study names it
	large      func() (*table.Table, error)
	responses  []string
	predictors map[string][]string // of each response
}

// newColumns reads the names of the columns, and the pairs of responses and predictors.
func newColumns(dir, file string, t *Tables) (source, error) {
	c := &columnTables{name: relative(dir, file), large: sync.OnceValues(func() (*table.Table, error) { return table.ReadFile(file) })}
	large, err := c.large()
	if err != nil {
		return nil, err
	}
	names := large.Names()
	isResponse := map[string]bool{}
	for _, pattern := range t.Responses {
		matched := false
		for _, name := range names {
			ok, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("tables: responses: %q: %w", pattern, err)
			}
			if ok && !isResponse[name] {
				c.responses, isResponse[name] = append(c.responses, name), true
			}
			matched = matched || ok
		}
		if !matched {
			return nil, fmt.Errorf("tables: responses: no column of %s matches %q", file, pattern)
		}
	}
	if t.Pairs != "" {
		c.predictors, err = readPairs(absolute(dir, t.Pairs), names, isResponse)
	} else {
		c.predictors = map[string][]string{}
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return isResponse[name] })
		for _, name := range c.responses {
			c.predictors[name] = others
		}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range c.responses {
		if len(c.predictors[name]) == 0 {
			return nil, fmt.Errorf("tables: response %s has no predictors", name)
		}
	}
	return c, nil
}

// readPairs reads a CSV file with the columns response and predictor.
func readPairs(path string, names []string, isResponse map[string]bool) (map[string][]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows := csv.NewReader(file)
	header, err := rows.Read()
	if err != nil || !slices.Equal(header, []string{"response", "predictor"}) {
		return nil, fmt.Errorf("%s: line 1: got %q, want response,predictor", path, header)
	}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	predictors := map[string][]string{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return predictors, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		response, predictor := row[0], row[1]
		switch {
		case !isResponse[response]:
			return nil, fmt.Errorf("%s: line %d: %q is no response of the plan", path, line, response)
		case !known[predictor]:
			return nil, fmt.Errorf("%s: line %d: no column %q in the table; the nearest are %q", path, line, predictor, table.Nearest(predictor, names))
		case isResponse[predictor]:
			return nil, fmt.Errorf("%s: line %d: predictor %q is a response", path, line, predictor)
		}
		predictors[response] = append(predictors[response], predictor)
	}
}

func (c *columnTables) count() int { return len(c.responses) }

func (c *columnTables) item(i int) []Setting {
	return []Setting{{"table", c.name}, {"response", c.responses[i]}}
}

func (c *columnTables) content(i int) any { return c.predictors[c.responses[i]] }

func (c *columnTables) prepare(_ context.Context, i int, dir string, _ launch) (prepared, error) {
	large, err := c.large()
	if err != nil {
		return prepared{}, err
	}
	names := append([]string{c.responses[i]}, c.predictors[c.responses[i]]...)
	out := prepared{path: filepath.Join(dir, "table.parquet"), flags: []string{"--target=" + c.responses[i]}}
	err = writeRows(out.path, func(w *rowWriter) error { return writeColumns(w, large, names) })
	return out, err
}

// writeColumns writes some columns of a table.
func writeColumns(w *rowWriter, t *table.Table, names []string) error {
	columns := make([]*table.Column, len(names))
	for i, name := range names {
		var err error
		if columns[i], err = t.Lookup(name); err != nil {
			return err
		}
	}
	for row := range t.Rows() {
		cells := make([]cell, 0, len(columns))
		for i, column := range columns {
			switch {
			case column.IsMissing(row):
			case column.Kind == table.Factor:
				cells = append(cells, cell{names[i], column.Text(row)})
			default:
				cells = append(cells, cell{names[i], column.Values[row]})
			}
		}
		if err := w.add(cells); err != nil {
			return err
		}
	}
	return nil
}
