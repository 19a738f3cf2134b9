package draws

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ModelColumn is the Parquet column with the model in words. CmdStan files can hold numbers only.
const ModelColumn = "model"

// Numbered returns the names of the columns that hold numbers: log densities or chain, model, sites
// and coordinates.
func (h Header) Numbered() []string {
	names := append(h.densities(), "model__")
	for s := range h.Cards {
		names = append(names, h.siteColumn(s))
	}
	for j, name := range h.Coordinates {
		if h.Variables != nil {
			name = h.Variables[j]
		} else {
			name = "beta[" + name + "]"
		}
		names = append(names, name)
	}
	return distinct(names)
}

func (h Header) csvColumns() []string {
	names := h.Numbered()
	for i, name := range names {
		names[i] = plain(name)
	}
	return distinct(names)
}

// siteColumn returns the name of the column with the outcomes of site s: gamma[name of the site],
// or member[1], member[2], … if models are lists.
func (h Header) siteColumn(s int) string {
	switch {
	case h.Items != nil:
		return "member[" + strconv.Itoa(s+1) + "]"
	case h.Sites != nil:
		return "gamma[" + h.Sites[s] + "]"
	}
	return "gamma[" + strconv.Itoa(s+1) + "]"
}

// plain returns a name without the characters that readers of CmdStan files take for its end, for
// an index, or for a quoted cell.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ',':
			return ';'
		case r == '.':
			return '_'
		case r == '"':
			return '\''
		case r == '#' || unicode.IsControl(r):
			return ' '
		}
		return r
	}, name)
}

// distinct makes names unique by adding a number to each name that repeats an earlier one.
func distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		for k := 2; seen[names[i]]; k++ {
			names[i] = fmt.Sprintf("%s (%d)", name, k)
		}
		seen[names[i]] = true
	}
	return names
}

// ModelName returns a model in words, joined by plus signs. The argument code holds the outcome of
// each site. The words are the names of the sites with an outcome other than 0, with the outcome if
// the site has more than two, or the members of a list. The empty model is "(none)".
func (h Header) ModelName(code []int32) string {
	var members []string
	for s, outcome := range code {
		switch {
		case outcome == 0:
		case h.Items != nil && int(outcome) <= len(h.Items):
			members = append(members, h.Items[outcome-1])
		default:
			name := strconv.Itoa(s + 1)
			if h.Sites != nil {
				name = h.Sites[s]
			}
			if h.Cards[s] > 2 {
				name += "=" + strconv.Itoa(int(outcome))
			}
			members = append(members, name)
		}
	}
	if len(members) == 0 {
		return "(none)"
	}
	return strings.Join(members, " + ")
}
