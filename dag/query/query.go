package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/dag/score"
)

// Query asks for the distribution of a node given observations of other nodes and interventions on
// other nodes. [ParseQuery] reads it from a text such as P(sick=yes | region=1, do(drug=yes)).
type Query struct {
	// Expectation asks for the mean of the node instead of probabilities.
	Expectation bool
	// Target is the node whose distribution is asked for. Sign and Value, if not empty, select some
	// of its values. Sign is = for categories, and < or > for numbers.
	Target, Sign, Value string
	// Given holds the values of observed nodes, and Do the values to which nodes are set from
	// outside.
	Given, Do []Assignment
}

// Assignment is the name of a node with a value, both as text.
type Assignment struct{ Node, Value string }

// ParseQuery reads P(NODE | …), P(NODE=value | …), P(NODE<number | …), P(NODE>number | …) or E(NODE
// | …). The conditions are NODE=value and do(NODE=value), separated by commas. Names and values
// that contain punctuation must be in double or single quotes.
func ParseQuery(text string) (q Query, err error) {
	const want = `want P(NODE | CONDITIONS), P(NODE=VALUE | CONDITIONS) or E(NODE | CONDITIONS), with conditions NODE=VALUE or do(NODE=VALUE)`
	trimmed := strings.TrimSpace(text)
	inner, ok := strings.CutSuffix(trimmed, ")")
	kind, inner, found := strings.Cut(inner, "(")
	kind = strings.TrimSpace(kind)
	if !ok || !found || kind != "P" && kind != "E" {
		return q, fmt.Errorf("query %q: %s", text, want)
	}
	q.Expectation = kind == "E"
	parts, err := splitOutside(inner, "|")
	if err != nil || len(parts) > 2 {
		return q, fmt.Errorf("query %q: quotes or brackets do not match, or there are two bars; %s", text, want)
	}
	if q.Target, q.Sign, q.Value, err = comparison(parts[0]); err != nil {
		return q, fmt.Errorf("query %q: %w; %s", text, err, want)
	}
	if q.Expectation && q.Sign != "" {
		return q, fmt.Errorf("query %q: expected one node in E(…), found %q; %s", text, strings.TrimSpace(parts[0]), want)
	}
	if len(parts) == 1 {
		return q, nil
	}
	conditions, err := splitOutside(parts[1], ",")
	if err != nil {
		return q, fmt.Errorf("query %q: %w; %s", text, err, want)
	}
	for _, condition := range conditions {
		list := &q.Given
		trimmed := strings.TrimSpace(condition)
		inside, isDo := strings.CutPrefix(trimmed, "do(")
		if isDo {
			trimmed, list = strings.TrimSuffix(inside, ")"), &q.Do
		}
		all, err := splitOutside(trimmed, ",")
		if err != nil {
			return q, fmt.Errorf("query %q: %w; %s", text, err, want)
		}
		for _, one := range all {
			node, sign, value, err := comparison(one)
			if err != nil {
				return q, fmt.Errorf("query %q: %w; %s", text, err, want)
			}
			if sign != "=" {
				return q, fmt.Errorf("query %q: condition %q has no value; %s", text, strings.TrimSpace(one), want)
			}
			*list = append(*list, Assignment{node, value})
		}
	}
	return q, nil
}

// splitOutside cuts a text at each character of marks that is outside quotes and brackets.
func splitOutside(text, marks string) (parts []string, err error) {
	depth, start, quote := 0, 0, rune(0)
	for at, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.ContainsRune(marks, c):
			parts, start = append(parts, text[start:at]), at+1
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 || quote != 0 {
		return nil, fmt.Errorf("quotes or brackets in %q do not match", strings.TrimSpace(text))
	}
	return append(parts, text[start:]), nil
}

// comparison reads NODE, or NODE followed by a sign and a value.
func comparison(text string) (node, sign, value string, err error) {
	parts, err := splitOutside(text, "=<>")
	if err != nil {
		return "", "", "", err
	}
	node = parts[0]
	if at := len(node); at < len(text) {
		sign, value = text[at:at+1], unquote(text[at+1:])
		if value == "" {
			return "", "", "", fmt.Errorf("%q has no value", strings.TrimSpace(text))
		}
	}
	if node = unquote(node); node == "" {
		return "", "", "", fmt.Errorf("%q names no node", strings.TrimSpace(text))
	}
	return node, sign, value, nil
}

// unquote removes surrounding spaces and then a pair of quotes.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// resolvedQuery is a query in which nodes are indices of columns. Values of numbers are in units of
// the table, and values of categories are indices of levels.
type resolvedQuery struct {
	target   int
	sign     string
	value    float64
	observed map[int]float64
	do       map[int]float64
}

// fixed returns the values of the nodes that are observed or set.
func (q *resolvedQuery) fixed() map[int]float64 {
	values := maps.Clone(q.observed)
	maps.Copy(values, q.do)
	return values
}

func resolve(p *score.Problem, q Query) (r resolvedQuery, err error) {
	if r.target, err = p.Data.Node(q.Target); err != nil {
		return r, err
	}
	r.observed, r.do, r.sign = map[int]float64{}, map[int]float64{}, q.Sign
	for _, list := range []struct {
		from []Assignment
		to   map[int]float64
	}{{q.Given, r.observed}, {q.Do, r.do}} {
		for _, one := range list.from {
			j, err := p.Data.Node(one.Node)
			if err != nil {
				return r, err
			}
			_, seen := r.observed[j]
			if _, set := r.do[j]; seen || set || j == r.target {
				return r, fmt.Errorf("node %q is there twice in the query: it can be asked about, observed, or set", one.Node)
			}
			if list.to[j], err = value(p, j, one.Value); err != nil {
				return r, err
			}
		}
	}
	switch {
	case p.Data.Category(r.target) && q.Expectation:
		return r, fmt.Errorf("node %q is a category with the values %q: ask for probabilities, P(%s | …)", q.Target, p.Data.Levels[r.target], q.Target)
	case p.Data.Category(r.target) && (q.Sign == "<" || q.Sign == ">"):
		return r, fmt.Errorf("node %q is a category with the values %q: ask for one of them with =", q.Target, p.Data.Levels[r.target])
	case !p.Data.Category(r.target) && q.Sign == "=":
		return r, fmt.Errorf("node %q is a number: ask for P(%s > %s | …), P(%s < %s | …) or E(%s | …)", q.Target, q.Target, q.Value, q.Target, q.Value, q.Target)
	case q.Sign != "":
		r.value, err = value(p, r.target, q.Value)
	}
	return r, err
}

// value reads a value of node j: a number, or the index of a level.
func value(p *score.Problem, j int, text string) (float64, error) {
	if p.Data.Category(j) {
		at := slices.Index(p.Data.Levels[j], text)
		if at < 0 {
			return 0, fmt.Errorf("node %q has no value %q; it has %q", p.Data.Names[j], text, p.Data.Levels[j])
		}
		return float64(at), nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x-x != 0 {
		return 0, fmt.Errorf("node %q: got %q, want a number", p.Data.Names[j], text)
	}
	return x, nil
}
