package frame

import (
	"maps"
	"slices"
	"strings"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// cellKey holds the indices of a combination: of the labels that make a group, or of the groups of
// a row. Unused entries are −1.
type cellKey [4]int32

// labelSet numbers the labels of a column in order of appearance.
type labelSet struct {
	numbers map[float64]int32
	texts   map[string]int32
}

func (l *labelSet) codes(c *table.Column) []int32 {
	if c.Kind == table.Factor {
		numbers := apply.To(c.Levels, func(text string) int32 { return number(l.texts, text) })
		return apply.To(c.Codes, func(code int) int32 { return numbers[code] })
	}
	return apply.To(c.Values, func(value float64) int32 { return number(l.numbers, value) })
}

func number[K comparable](numbers map[K]int32, key K) int32 {
	code, ok := numbers[key]
	if !ok {
		code = int32(len(numbers))
		numbers[key] = code
	}
	return code
}

// ordered returns the labels in the order that a table in memory has, numbers by value, and the
// rank of each label.
func (l *labelSet) ordered() (labels []string, rank []int32) {
	rank = make([]int32, len(l.numbers)+len(l.texts))
	if len(l.texts) > 0 {
		labels = slices.Sorted(maps.Keys(l.texts))
		for k, text := range labels {
			rank[l.texts[text]] = int32(k)
		}
		return labels, rank
	}
	values := slices.Sorted(maps.Keys(l.numbers))
	column := table.Numbers("", values).AsFactor()
	for k, value := range values {
		rank[l.numbers[value]] = int32(k)
	}
	return column.Levels, rank
}

// slicedGrouping is a grouping of a table by slices. It holds its groups in order of appearance
// and, once all are known, the index of each key in the order of labels.
type slicedGrouping struct {
	group  formula.Term
	keys   []cellKey
	place  map[cellKey]int
	levels []string
}

// keys returns the key of the group of each row of a slice: the indices of its labels.
func (s *slicedTable) keys(t *table.Table, g *slicedGrouping) ([]cellKey, error) {
	keys := apply.UpTo(t.Rows(), func(int) cellKey { return cellKey{-1, -1, -1, -1} })
	for k, v := range g.group {
		column, err := t.Lookup(v.Column)
		if err != nil {
			return nil, err
		}
		for row, code := range s.labels[v.Column].codes(column) {
			keys[row][k] = code
		}
	}
	return keys, nil
}

// sort puts the groups in order; the labels of the first column vary slowest.
func (g *slicedGrouping) sort(sets map[string]*labelSet) {
	var names [][]string
	var ranks [][]int32
	for _, v := range g.group {
		sorted, rank := sets[v.Column].ordered()
		names, ranks = append(names, sorted), append(ranks, rank)
	}
	slices.SortFunc(g.keys, func(a, b cellKey) int {
		for k, rank := range ranks {
			if d := rank[a[k]] - rank[b[k]]; d != 0 {
				return int(d)
			}
		}
		return 0
	})
	for at, key := range g.keys {
		g.place[key] = at
		labels := apply.UpTo(len(ranks), func(k int) string { return names[k][ranks[k][key[k]]] })
		g.levels = append(g.levels, oneLine(strings.Join(labels, ":")))
	}
}
