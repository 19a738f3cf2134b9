package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

const maxSuggestions = 3

// suggest returns the end of an error about an unknown column: the nearest names, or the first
// names if none is near.
func suggest(name string, names []string) string {
	switch nearest := Nearest(name, names); len(nearest) {
	case 0:
		const show = 10
		if len(names) > show {
			return fmt.Sprintf("the %d columns are %s, …", len(names), quoteAll(names[:show]))
		}
		return "the columns are " + quoteAll(names)
	case 1:
		return "the nearest is " + quoteAll(nearest)
	default:
		return "the nearest are " + quoteAll(nearest)
	}
}

// Nearest returns up to three elements of names that resemble name, the best first. If elements
// equal the argument name except for case, it returns only these. Otherwise the edit distance is at
// most a third of the length of name, rounded to the nearest integer.
func Nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	lower := strings.ToLower(name)
	limit := (len([]rune(name)) + 1) / 3
	var found []candidate
	for _, other := range names {
		if d := editDistance(lower, strings.ToLower(other)); d <= limit {
			if d == 0 {
				limit = 0
			}
			found = append(found, candidate{other, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var nearest []string
	for _, c := range found[:min(len(found), maxSuggestions)] {
		if c.distance <= limit {
			nearest = append(nearest, c.name)
		}
	}
	return nearest
}

// editDistance returns the edit distance of two texts in characters. An exchange of two
// neighbouring characters counts once.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row, before := rank.UpTo(len(y)+1), make([]int, len(y)+1)
	for i, u := range x {
		next := make([]int, len(row))
		next[0] = i + 1
		for j, v := range y {
			substitute := row[j]
			if u != v {
				substitute++
			}
			next[j+1] = min(substitute, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && u == y[j-1] && x[i-1] == v {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}

func quoteAll(names []string) string {
	quoted := apply.To(names, func(name string) string { return fmt.Sprintf("%q", name) })
	return strings.Join(quoted, ", ")
}
