package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// schemaOf names the schema of the JSON of a command, with its version: docs/schema has the file.
func schemaOf(name string) string { return "vti/" + name + "/1" }

// described is an object that says first by which schema it is made.
type described struct {
	schema string
	object any
}

// MarshalJSON implements json.Marshaler.
func (d described) MarshalJSON() ([]byte, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d.object); err != nil {
		return nil, err
	}
	rest, isObject := bytes.CutPrefix(content.Bytes(), []byte("{"))
	if !isObject {
		return nil, fmt.Errorf("%s: %T is no object", d.schema, d.object)
	}
	start := fmt.Sprintf(`{"schema":%q`, schemaOf(d.schema))
	if !bytes.HasPrefix(rest, []byte("}")) {
		start += ","
	}
	return append([]byte(start), rest...), nil
}

// printJSON prints an object that names its schema.
func (a *app) printJSON(object any) error { return printJSON(a.stdout, object) }

// describe prints an object by a schema.
func (a *app) describe(schema string, object any) error {
	return printJSON(a.stdout, described{schema, object})
}

func printJSON(w io.Writer, object any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return failure{err}
	}
	return nil
}
