package report

import "encoding/json"

// Leaves are the numbers, texts and lists of a JSON object, by their paths with dots.
func Leaves(object map[string]any) (map[string]string, error) {
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
	return found, walk("", object)
}
