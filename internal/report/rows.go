package report

import (
	"fmt"
	"reflect"
	"strings"
)

// Rows makes a table of text from a list of structs. The argument names lists the JSON names of
// fields. They are the first row, and each element of the list is a further row. Numbers are
// written by Text, nil pointers as empty cells, and other fields by fmt.Sprint. Rows panics if a
// name has no field.
func Rows[T any](list []T, names ...string) [][]string {
	goType := reflect.TypeFor[T]()
	fields := map[string][]int{}
	for _, field := range reflect.VisibleFields(goType) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Index
	}
	rows := make([][]string, 0, 1+len(list))
	rows = append(rows, names)
	for i := range list {
		row := make([]string, len(names))
		for k, name := range names {
			index, known := fields[name]
			if !known {
				panic(fmt.Sprintf("report.Rows: %v has no field %q", goType, name))
			}
			row[k] = cell(reflect.ValueOf(&list[i]).Elem().FieldByIndex(index))
		}
		rows = append(rows, row)
	}
	return rows
}

func cell(field reflect.Value) string {
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			return ""
		}
		field = field.Elem()
	}
	if number, ok := field.Interface().(Number); ok {
		return number.Text()
	}
	return fmt.Sprint(field.Interface())
}
