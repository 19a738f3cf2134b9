package regress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Number is a number of an answer with its standard error, which is 0 for an exact number.
type Number struct{ Value, SE float64 }

// String returns the number in the form "0.25 ± 0.003", or "0.25" if it is exact.
func (n Number) String() string {
	text := strconv.FormatFloat(n.Value, 'g', 9, 64)
	if n.SE > 0 {
		text += " ± " + strconv.FormatFloat(n.SE, 'g', 3, 64)
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler].
func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *Number) UnmarshalText(text []byte) (err error) {
	value, se, inexact := strings.Cut(string(text), " ± ")
	if n.Value, err = strconv.ParseFloat(value, 64); err == nil && inexact {
		n.SE, err = strconv.ParseFloat(se, 64)
	}
	return err
}

var (
	// shared holds the fields whose standard error is the field "se" of the same object.
	shared = []string{"certified", "prob", "probability", "jumps", "partitions"}
	// exact holds the fields that count as exact if an answer states no standard error.
	exact = []string{"log_evidence", "log_bayes_factor", "probability", "expected_changes", "certified", "size", "done", "trusted"}
	// moments holds the fields that are moments over draws. Their standard error is taken as
	// sd/sqrtDraws, where sd is the standard deviation in the same object.
	moments = []string{"mean", "sd", "posterior_mean", "posterior_sd"}
	// labels holds the fields that identify the elements of a list.
	labels = []string{"name", "code", "from", "to", "group", "level", "term", "state", "column", "order", "changes", "components", "row", "value", "values", "node"}
)

const (
	// sqrtDraws is the square root of the number of independent draws from which moments are
	// assumed to be computed.
	sqrtDraws = 20
	// densityError is the assumed standard error of log predictive densities.
	densityError = 0.1
	// longest is the number of elements up to which a list is kept whole. From a longer list, the
	// first longest/2 elements and some evenly spaced later elements are kept.
	longest = 60
)

// numbersOf returns the numbers of a JSON answer that have standard errors or are exact, by their
// paths. It leaves out elements of lists that have no label, because the order of such elements may
// differ between answers.
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
		for i, element := range value {
			if i > longest/2 && i%(1+len(value)/longest) > 0 {
				continue
			}
			if label := labelOf(element); label != "" {
				collect(element, path+"["+label+"]", found)
			}
		}
	}
}

// errorOf returns the standard error of a field of an object. ok is false if the field has no
// standard error and is not exact.
func errorOf(object map[string]any, key string) (se float64, ok bool) {
	for _, name := range []string{key + "_se", "se_" + key, "se"} {
		if stated, has := object[name]; has && (name != "se" || slices.Contains(shared, key)) {
			se, ok = stated.(float64) // null if the standard error is not resolved
			return se, ok
		}
	}
	switch {
	case key == "elpd":
		return densityError, true
	case slices.Contains(exact, key):
		return 0, true
	case slices.Contains(moments, key):
		for _, name := range []string{"expected_sd", "posterior_sd", "sd"} {
			if sd, ok := object[name].(float64); ok {
				return sd / sqrtDraws, true
			}
		}
	}
	return 0, false
}

// labelOf returns a text that identifies an element of a list, or "" if it has no label.
func labelOf(element any) string {
	object, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	var parts []string
	for _, key := range labels {
		switch value := object[key].(type) {
		case nil, map[string]any:
		default:
			parts = append(parts, fmt.Sprint(value))
		}
	}
	return strings.Join(parts, ",")
}

// verdictOf returns the verdict of an answer, or "" if it has none.
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

// parse returns the first JSON object in output. It skips the text before and after the object.
func parse(output []byte) (map[string]any, error) {
	start := bytes.IndexByte(output, '{')
	if start < 0 {
		return nil, fmt.Errorf("got %d bytes without an object, want JSON", len(output))
	}
	var answer map[string]any
	return answer, json.NewDecoder(bytes.NewReader(output[start:])).Decode(&answer)
}
