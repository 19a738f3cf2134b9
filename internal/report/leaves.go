package report

import (
	"bytes"
	"encoding/json"
)

// Leaves returns the numbers, texts and lists in a value that encodes as a JSON object. The key of
// each is its path, the names joined by dots. The top-level names in the argument without are left
// out.
func Leaves(value any, without ...string) (map[string]string, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber() // seeds of 64 bits do not fit into a float64
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	for _, name := range without {
		delete(root, name)
	}
	found := map[string]string{}
	var walk func(prefix string, value any) error
	walk = func(path string, value any) error {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				if path != "" {
					name = path + "." + name
				}
				if err := walk(name, inner); err != nil {
					return err
				}
			}
			return nil
		case string:
			found[path] = value
			return nil
		}
		text, err := json.Marshal(value)
		found[path] = string(text)
		return err
	}
	return found, walk("", root)
}
