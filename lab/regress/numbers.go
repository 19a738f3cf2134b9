package regress

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Number is a number of an answer with its standard error; 0 for an exact one.
type Number struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se,omitempty"`
}

// shared are the fields whose standard error is the field "se" of the same object.
var shared = []string{"certified", "prob", "probability", "jumps", "partitions"}

// exact are the fields that count as exact where an answer states no error.
var exact = []string{"log_evidence", "log_bayes_factor", "probability", "expected_changes", "certified"}

// labels are the fields that tell elements of a list apart.
var labels = []string{"name", "code", "from", "to", "group", "level", "term", "state", "column", "order", "changes", "components"}

// numbersOf collects the numbers of a JSON answer that have standard errors or are exact, by their
// paths. Elements of lists without a label are left out: their places may differ between answers
// that agree.
func numbersOf(answer any) map[string]Number {
	found := map[string]Number{}
	collect(answer, "", found)
	return found
}

func collect(value any, path string, found map[string]Number) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if number, ok := value[key].(float64); ok {
				if se, ok := errorOf(value, key); ok {
					found[path+"/"+key] = Number{number, se}
				}
				continue
			}
			collect(value[key], path+"/"+key, found)
		}
	case []any:
		for _, element := range value {
			if label := labelOf(element); label != "" {
				collect(element, path+"["+label+"]", found)
			}
		}
	}
}

// errorOf is the standard error of a field of an object, if it has one or is exact.
func errorOf(object map[string]any, key string) (se float64, ok bool) {
	stated, has := object[key+"_se"]
	if !has && slices.Contains(shared, key) {
		stated, has = object["se"]
	}
	if has {
		se, ok = stated.(float64) // null: not resolved
		return se, ok
	}
	return 0, slices.Contains(exact, key)
}

// labelOf is what tells an element of a list from the others; "" if nothing does.
func labelOf(element any) string {
	object, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	var parts []string
	for _, key := range labels {
		switch value := object[key].(type) {
		case string:
			parts = append(parts, value)
		case float64:
			parts = append(parts, fmt.Sprint(value))
		}
	}
	return strings.Join(parts, ",")
}

// verdictOf is the verdict of an answer; "" if it has none.
func verdictOf(answer map[string]any) string {
	for _, key := range []string{"certificate", "diagnostics"} {
		if part, ok := answer[key].(map[string]any); ok {
			if verdict, ok := part["verdict"].(string); ok {
				return verdict
			}
		}
	}
	verdict, _ := answer["verdict"].(string)
	return verdict
}

// parse reads one JSON object; what comes before it is skipped.
func parse(output []byte) (map[string]any, error) {
	start := strings.IndexByte(string(output), '{')
	if start < 0 {
		return nil, fmt.Errorf("got %d bytes without an object, want JSON", len(output))
	}
	var answer map[string]any
	return answer, json.Unmarshal(output[start:], &answer)
}
