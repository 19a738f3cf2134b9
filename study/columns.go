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

// columnTables are small tables made from one large table: for each response, a table of the
// response and its predictors. Tasks then do not read the large table.
type columnTables struct {
	name       string // path of the large file in the study
	large      func() (*table.Table, error)
	responses  []string
	predictors map[string][]string // predictors of each response
}

// newColumns reads the names of the columns, and the pairs of responses and predictors if a file
// lists them.
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

func readPairs(path string, names []string, isResponse map[string]bool) (map[string][]string, error) {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	predictors := map[string][]string{}
	return predictors, eachPair(path, func(response, predictor string) error {
		switch {
		case !isResponse[response]:
			return fmt.Errorf("%q is no response of the plan", response)
		case !known[predictor]:
			return fmt.Errorf("no column %q in the table; the nearest are %q", predictor, table.Nearest(predictor, names))
		case isResponse[predictor]:
			return fmt.Errorf("predictor %q is a response", predictor)
		}
		predictors[response] = append(predictors[response], predictor)
		return nil
	})
}

// eachPair calls the function each for every pair in a CSV file that has the columns response and
// predictor, and perhaps others. Errors name the line.
func eachPair(path string, each func(response, predictor string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	rows := csv.NewReader(file)
	header, err := rows.Read()
	if err != nil || len(header) < 2 || !slices.Equal(header[:2], []string{"response", "predictor"}) {
		return fmt.Errorf("%s: line 1: got %q, want columns that begin with response,predictor", path, header)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := each(row[0], row[1]); err != nil {
			line, _ := rows.FieldPos(0)
			return fmt.Errorf("%s: line %d: %w", path, line, err)
		}
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
	return out, large.WriteParquet(out.path, names, nil)
}
