package study

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// flat is a JSON object as one row of scalars, and one table for each of its lists of objects.
// Names of nested objects are joined by points, as in "certificate.khat".
type flat struct {
	scalars []cell
	tables  map[string][][]cell
}

// walk adds a value that was decoded from JSON with numbers as json.Number. A null adds no cell.
func (f *flat) walk(name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.walk(strings.TrimPrefix(name+"."+key, "."), v[key])
		}
	case []any:
		f.list(name, v)
	default:
		if c, ok := scalar(name, v); ok {
			f.scalars = append(f.scalars, c)
		}
	}
}

// list makes a table of a list of objects. A list of texts that explains the answer, such as the
// reasons of a verdict, becomes one text. Other lists, such as names of columns, are left out.
func (f *flat) list(name string, elements []any) {
	var reasons []string
	for _, element := range elements {
		switch v := element.(type) {
		case map[string]any:
			row := &flat{}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				row.field(key, v[key])
			}
			if f.tables == nil {
				f.tables = map[string][][]cell{}
			}
			f.tables[name] = append(f.tables[name], row.scalars)
		case string:
			reasons = append(reasons, v)
		}
	}
	if len(reasons) > 0 && strings.HasSuffix(name, "reasons") {
		f.scalars = append(f.scalars, cell{name, strings.Join(reasons, "; ")})
	}
}

// field adds a field of a row. It keeps a list, such as the edges of a graph, as JSON text.
func (f *flat) field(name string, value any) {
	if list, ok := value.([]any); ok {
		if encoded, err := json.Marshal(list); err == nil { // an error is impossible, because the list was decoded from JSON
			f.scalars = append(f.scalars, cell{name, string(encoded)})
		}
		return
	}
	f.walk(name, value)
}

func scalar(name string, value any) (cell, bool) {
	switch v := value.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return cell{name, i}, true
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return cell{name, u}, true
		}
		x, err := v.Float64()
		return cell{name, x}, err == nil
	case bool, string:
		return cell{name, v}, true
	}
	return cell{}, false
}
