package effects

import (
	"maps"
	"math"
	"slices"

	"github.com/transdim/vti/internal/weighted"
)

// drawsOfFamily holds draws of a value given one family (a node with a set of parents), and the
// group of each draw, numbered from 0. Only draws of different groups are independent.
type drawsOfFamily struct {
	values   []float64
	groups   []int
	byIsland map[int]int // group by number of the island; not for island 0 (independent draws)
	count    int         // number of groups
}

// meanErrors collects draws of a value by family (a node with its parents), for the standard error
// of their mean.
type meanErrors map[int]*drawsOfFamily

// add adds a draw of a value given a family (a node with its parents). The island is the number of
// the independent group of particles from which a [score.ParameterSource] took the draw.
func (m meanErrors) add(family, island int, value float64) {
	d := m[family]
	if d == nil {
		d = &drawsOfFamily{byIsland: map[int]int{}}
		m[family] = d
	}
	group, known := d.byIsland[island]
	if !known {
		group = d.count
		d.count++
		if island > 0 {
			d.byIsland[island] = group
		}
	}
	d.values, d.groups = append(d.values, value), append(d.groups, group)
}

// se returns the standard error of the mean over all draws. It adds the variances from the
// independent groups of draws of each family (a node with its parents), from the random choice of
// families, and from the errors of log evidences. The argument evidence holds the standard errors
// of the families' log evidences, or is nil. Draws of one group count as a single draw if their
// family has no other group.
func (m meanErrors) se(mean float64, evidence []float64) float64 {
	variance, total := 0.0, 0.0
	for _, f := range slices.Sorted(maps.Keys(m)) {
		d := m[f]
		count := float64(len(d.values))
		moments := weighted.Plain(slices.Repeat([]float64{1}, len(d.values)), d.values, d.groups)
		within := moments.MeanSE
		if d.count == 1 {
			within = moments.SD
		}
		distance := moments.Mean - mean
		variance += math.Pow(count*within, 2) + count*distance*distance
		if evidence != nil {
			variance += math.Pow(count*evidence[f]*distance, 2)
		}
		total += count
	}
	return math.Sqrt(variance) / total
}
