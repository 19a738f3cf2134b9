package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// SchemaOf returns the name of the schema, with its version, of the JSON that a command prints. The
// schemas are in docs/schema.
func SchemaOf(name string) string { return "vti/" + name + "/1" }

// Described is an object that is written as JSON with the name of its schema as the first field.
type Described struct {
	Schema string
	Object any
}

// MarshalJSON implements json.Marshaler.
func (d Described) MarshalJSON() ([]byte, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d.Object); err != nil {
		return nil, err
	}
	rest, isObject := bytes.CutPrefix(content.Bytes(), []byte("{"))
	if !isObject {
		return nil, fmt.Errorf("%s: %T is no object", d.Schema, d.Object)
	}
	start := fmt.Sprintf(`{"schema":%q`, SchemaOf(d.Schema))
	if !bytes.HasPrefix(rest, []byte("}")) {
		start += ","
	}
	return append([]byte(start), rest...), nil
}

// PrintJSON prints an object that contains the name of its schema.
func (a *App) PrintJSON(object any) error { return PrintJSON(a.Stdout, object) }

// Answer prints an object as JSON if asJSON is true, and otherwise calls text to print it.
func (a *App) Answer(asJSON bool, object any, text func()) error {
	if asJSON {
		return a.PrintJSON(object)
	}
	text()
	return nil
}

func PrintJSON(w io.Writer, object any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return Failed(encoder.Encode(object))
}
