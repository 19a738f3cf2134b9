package calibrate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/table"
)

// The priors of mixed mechanisms, written down again here so that an error in the tested program is
// not repeated. A numeric node is the BGe regression on its numeric parents. Every level of a
// categorical parent adds an effect N(0, σ²/t), less the mean of these effects, where σ² is the
// noise variance and t a parameter of BGe. A categorical node has for level l the log probability
// a_l + Σ b_l x + Σ e_l,level + constant. The first sum is over numeric parents x less their means,
// the second over the effects of categorical parents. The intercepts a, weights b and effects e are
// normal with the variances below.
const (
	MixedInterceptVariance = 8.0
	MixedSlopeVariance     = 2.0
	MixedLevelVariance     = 1.0
)

// MixedColumn is the column of a node in a table of numbers and categories.
type MixedColumn struct {
	Levels int // the number of categories; 0 for a numeric column
	Values []float64
}

// Effects returns the columns that a node adds to the regression of its child. A numeric node adds
// itself. A categorical node adds, for each of its levels, the indicator of the level less one over
// the number of levels.
func (c MixedColumn) Effects() (columns [][]float64) {
	if c.Levels == 0 {
		return [][]float64{c.Values}
	}
	for level := range c.Levels {
		column := make([]float64, len(c.Values))
		for i, v := range c.Values {
			column[i] = -1 / float64(c.Levels)
			if int(v) == level {
				column[i]++
			}
		}
		columns = append(columns, column)
	}
	return columns
}

func (c *MixedColumn) draw(parents []MixedColumn, rows int, random *rand.Rand) {
	c.Values = make([]float64, rows)
	if c.Levels == 0 {
		numbers := 0
		var effects [][]float64
		for _, parent := range parents {
			if parent.Levels == 0 {
				numbers++
			}
			effects = append(effects, parent.Effects()...)
		}
		c.Values, _ = drawBGe(effects, numbers, rows, random)
		return
	}
	logits := apply.UpTo(rows, func(int) []float64 { return make([]float64, c.Levels) })
	add := func(column []float64, variance float64) {
		mean := stat.Mean(column, nil)
		for level := range c.Levels {
			coefficient := math.Sqrt(variance) * random.NormFloat64()
			for i, x := range column {
				logits[i][level] += coefficient * (x - mean)
			}
		}
	}
	for level := range c.Levels {
		a := math.Sqrt(MixedInterceptVariance) * random.NormFloat64()
		for i := range logits {
			logits[i][level] = a
		}
	}
	for _, parent := range parents {
		for _, effect := range parent.Effects() {
			add(effect, map[bool]float64{true: MixedSlopeVariance, false: MixedLevelVariance}[parent.Levels == 0])
		}
	}
	for i, rowLogits := range logits {
		c.Values[i] = float64(pick.Log(rowLogits, random.Float64()))
	}
}

// mixedLevels returns the number of levels of each node; every second node is categorical.
func mixedLevels(nodes int, random *rand.Rand) (levels []int) {
	for j := range nodes {
		count := 0
		if j%2 == 1 {
			if count = 2; random.Float64() < 0.2 {
				count = 3
			}
		}
		levels = append(levels, count)
	}
	return levels
}

// drawMixedTable draws a graph and a table from the prior. If some level of a categorical node
// occurs in no row, everything is drawn again, because the program takes the levels from the table.
// The posterior stays the same, because the condition that all levels occur depends only on the
// table.
func (d Dag) drawMixedTable(graphs [][]int, random *rand.Rand) (parents []int, columns []MixedColumn) {
	for {
		parents = graphs[pick.Log(GraphPrior(graphs, d.model()), random.Float64())]
		columns = make([]MixedColumn, d.Nodes)
		for j, levels := range mixedLevels(d.Nodes, random) {
			columns[j].Levels = levels
		}
		for _, j := range Topological(parents) {
			columns[j].draw(Members(columns, parents[j]), d.Rows, random)
		}
		if AllShown(columns) {
			return parents, columns
		}
	}
}

// AllShown reports whether every level of every categorical column occurs in some row.
func AllShown(columns []MixedColumn) bool {
	for _, c := range columns {
		for level := range c.Levels {
			if !slices.Contains(c.Values, float64(level)) {
				return false
			}
		}
	}
	return true
}

// MixedTable returns the columns of a table named v1, v2, …. Levels of categories are texts.
func MixedTable(columns []MixedColumn) (list []*table.Column) {
	for j, c := range columns {
		name := fmt.Sprintf("v%d", j+1)
		if c.Levels > 0 {
			list = append(list, Labelled(name, "l", WholeOf(c.Values)))
		} else {
			list = append(list, table.Numbers(name, c.Values))
		}
	}
	return list
}

// WholeOf returns codes of levels, stored as floats, as integers.
func WholeOf(values []float64) []int {
	return apply.To(values, func(v float64) int { return int(v) })
}
