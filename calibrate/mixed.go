package calibrate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/table"
)

// The priors of mixed mechanisms, written down again so that an error in the program is not
// repeated here. A number is the regression of BGe on numbers, with an effect of every level of its
// categories, N(0, σ²/t) about their mean. A category has log p(l | x) = a_l + Σ b_l x + Σ
// e_l,level + const over columns less their means, with variances of a, b and e.
const (
	mixedInterceptVariance = 8.0
	mixedSlopeVariance     = 2.0
	mixedLevelVariance     = 1.0
)

// mixedColumn is a node of a mixed table: a number, or a category with some levels.
type mixedColumn struct {
	levels int // 0: a number
	values []float64
}

// effects are the columns that a node adds to a regression: itself, or one for each of its levels,
// less their mean over levels.
func (c mixedColumn) effects() (columns [][]float64) {
	if c.levels == 0 {
		return [][]float64{c.values}
	}
	for level := range c.levels {
		column := make([]float64, len(c.values))
		for i, v := range c.values {
			column[i] = -1 / float64(c.levels)
			if int(v) == level {
				column[i]++
			}
		}
		columns = append(columns, column)
	}
	return columns
}

func (c *mixedColumn) draw(parents []mixedColumn, rows int, random *rand.Rand) {
	c.values = make([]float64, rows)
	if c.levels == 0 {
		numbers := 0
		for _, parent := range parents {
			if parent.levels == 0 {
				numbers++
			}
		}
		sigma := math.Sqrt(bgeScale / 2 / distuv.Gamma{Alpha: (bgeDegrees + float64(numbers) + 1) / 2, Beta: 1, Src: random}.Rand())
		level := sigma / math.Sqrt(bgeMean) * random.NormFloat64()
		for i := range c.values {
			c.values[i] = level + sigma*random.NormFloat64()
		}
		for _, parent := range parents {
			for _, effect := range parent.effects() {
				floats.AddScaled(c.values, sigma/math.Sqrt(bgeScale)*random.NormFloat64(), effect)
			}
		}
		return
	}
	logits := make([][]float64, rows)
	for i := range logits {
		logits[i] = make([]float64, c.levels)
	}
	add := func(column []float64, variance float64) {
		mean := stat.Mean(column, nil)
		for level := range c.levels {
			coefficient := math.Sqrt(variance) * random.NormFloat64()
			for i, x := range column {
				logits[i][level] += coefficient * (x - mean)
			}
		}
	}
	for level := range c.levels {
		a := math.Sqrt(mixedInterceptVariance) * random.NormFloat64()
		for i := range logits {
			logits[i][level] = a
		}
	}
	for _, parent := range parents {
		for _, effect := range parent.effects() {
			add(effect, map[bool]float64{true: mixedSlopeVariance, false: mixedLevelVariance}[parent.levels == 0])
		}
	}
	for i, own := range logits {
		floats.AddConst(-logsum.Of(own), own)
		c.values[i] = float64(pick.Log(own, random.Float64()))
	}
}

// mixedLevels are the levels of nodes, every second of which is a category.
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

// drawMixedTable draws a table from the prior of graphs. If a category does not show all of its
// levels everything is drawn again: levels are read from the table, and draws of the graph given
// that event have the same posterior.
func (d Dag) drawMixedTable(graphs [][]int, random *rand.Rand) (parents []int, columns []mixedColumn) {
	for {
		parents = graphs[pick.Log(graphPrior(graphs, d.model()), random.Float64())]
		columns = make([]mixedColumn, d.Nodes)
		for j, levels := range mixedLevels(d.Nodes, random) {
			columns[j].levels = levels
		}
		for _, j := range topological(parents) {
			columns[j].draw(mixedParents(columns, parents[j]), d.Rows, random)
		}
		if allShown(columns) {
			return parents, columns
		}
	}
}

func mixedParents(columns []mixedColumn, set int) (parents []mixedColumn) {
	for i, c := range columns {
		if set>>i&1 == 1 {
			parents = append(parents, c)
		}
	}
	return parents
}

// allShown reports whether every level of every category occurs.
func allShown(columns []mixedColumn) bool {
	for _, c := range columns {
		for level := range c.levels {
			if !slices.Contains(c.values, float64(level)) {
				return false
			}
		}
	}
	return true
}

// mixedTable returns columns v1, v2, … of numbers, and of levels as texts.
func mixedTable(columns []mixedColumn) (list []*table.Column) {
	for j, c := range columns {
		name := fmt.Sprintf("v%d", j+1)
		if c.levels > 0 {
			list = append(list, labelled(name, "l", wholeOf(c.values)))
		} else {
			list = append(list, table.Numbers(name, c.values))
		}
	}
	return list
}

// wholeOf returns the codes of levels stored as numbers.
func wholeOf(values []float64) []int {
	whole := make([]int, len(values))
	for i, v := range values {
		whole[i] = int(v)
	}
	return whole
}

// mixedEvidence is the exact log evidence of a node of a mixed table given its parents: a conjugate
// regression, or quadrature of a logistic one. It fails for categories with more than two levels,
// and for many parents.
func mixedEvidence(own mixedColumn, parents []mixedColumn) (modelMoments, error) {
	var columns [][]float64
	var sds []float64
	numbers := 0
	for _, parent := range parents {
		columns = append(columns, parent.effects()...)
		if parent.levels == 0 {
			numbers++
		}
	}
	if own.levels == 0 {
		return bgeRegression(own.values, columns, numbers)
	}
	if own.levels != 2 {
		return modelMoments{}, fmt.Errorf("a category with %d levels", own.levels)
	}
	// The difference of two levels has twice the variance. Effects of the two levels of a parent
	// are effects of their difference, as half of it and its negative.
	columns = [][]float64{slices.Repeat([]float64{1}, len(own.values))}
	sds = []float64{math.Sqrt(2 * mixedInterceptVariance)}
	for _, parent := range parents {
		column, variance := parent.values, 2*mixedSlopeVariance
		switch parent.levels {
		case 0:
		case 2:
			column, variance = parent.effects()[1], 4*mixedLevelVariance
		default:
			return modelMoments{}, fmt.Errorf("a parent with %d levels", parent.levels)
		}
		column = slices.Clone(column)
		floats.AddConst(-stat.Mean(column, nil), column)
		columns, sds = append(columns, column), append(sds, math.Sqrt(variance))
	}
	if len(columns) > mostParameters {
		return modelMoments{}, fmt.Errorf("a category with %d parents", len(parents))
	}
	x := mat.NewDense(len(own.values), len(columns), nil)
	var coordinates []int
	for c, column := range columns {
		x.SetCol(c, column)
		coordinates = append(coordinates, c)
	}
	p := &regressionProblem{x: x, y: own.values, priorMean: make([]float64, len(columns)), priorSD: sds}
	mode, axes, err := p.laplace(coordinates, logisticRow)
	if err != nil {
		return modelMoments{}, err
	}
	return integrateAlong(func(theta []float64) float64 { return p.logPosterior(coordinates, logisticRow, theta, nil, nil) }, mode, axes, alongAxes)
}

func mixedOf(data *dag.Data, node int, parents []int, y []float64, values [][]float64) (modelMoments, error) {
	levels := func(j int) int {
		if data.Levels == nil {
			return 0
		}
		return len(data.Levels[j])
	}
	var of []mixedColumn
	for k, i := range parents {
		of = append(of, mixedColumn{levels(i), values[k]})
	}
	own, err := mixedEvidence(mixedColumn{levels(node), y}, of)
	own.mean, own.variance = nil, nil // of contrasts and levels
	return own, err
}

// drawMixed draws a nasty mixed table: few rows, rare levels, levels that a number separates or
// copies, numbers of any scale, and nodes that are set from outside.
func (h HardDag) drawMixed(random *rand.Rand) *dagProblem {
	p := &dagProblem{record: h.Record, flags: []string{"--sem mixed"}}
	if p.record.Model.Graphs = []dag.GraphPrior{dag.SparseGraphs, dag.UniformGraphs}[random.IntN(2)]; p.record.Model.Graphs == dag.UniformGraphs {
		p.flags = append(p.flags, "--graph-prior uniform")
	}
	nodes := 2 + random.IntN(2)
	rows := []int{4, 5, 6, 8, 12, 20, 50, 200}[random.IntN(8)]
	graphs := acyclic(nodes)
	var about []string
	columns := make([]mixedColumn, nodes)
	for {
		parents := graphs[random.IntN(len(graphs))]
		about = nil
		for j := range columns {
			columns[j].levels = 2 * ((j + 1) % 2)
		}
		strength := math.Pow(10, uniform(random, -0.5, 1.5))
		for _, j := range topological(parents) {
			columns[j].drawNasty(mixedParents(columns, parents[j]), rows, strength, random)
		}
		about = append(about, fmt.Sprintf("effects of %.2g", strength))
		if allShown(columns) {
			break
		}
	}
	for j, c := range columns {
		if c.levels == 0 && random.Float64() < 0.3 {
			scale := math.Pow(10, uniform(random, -12, 12))
			shift := scale * random.NormFloat64() * math.Pow(10, uniform(random, 0, 4))
			about = append(about, fmt.Sprintf("v%d×%.0e", j+1, scale))
			for i := range c.values {
				c.values[i] = shift + scale*c.values[i]
			}
		}
	}
	list := mixedTable(columns)
	if rows >= 12 && random.Float64() < 0.3 {
		p.record.Columns.Intervened = "target"
		p.flags = append(p.flags, "--intervened target")
		set := make([]int, rows)
		for i := range set {
			if set[i] = -1; random.Float64() < 0.2 {
				set[i] = random.IntN(nodes)
			}
		}
		list = append(list, targetsOf(set))
		about = append(about, "interventions")
	}
	p.csv = csvOf(list...)
	p.about = fmt.Sprintf("dag, mixed, %d rows, %d nodes; %s", rows, nodes, strings.Join(about, " "))
	return p
}

// drawNasty fills a node with effects of its parents, of size strength, and noise of one.
func (c *mixedColumn) drawNasty(parents []mixedColumn, rows int, strength float64, random *rand.Rand) {
	c.values = make([]float64, rows)
	level := 1.5 * random.NormFloat64()
	for i := range c.values {
		c.values[i] = level + random.NormFloat64()
	}
	for _, parent := range parents {
		column := slices.Clone(parent.effects()[0])
		floats.AddScaled(c.values, strength*random.NormFloat64(), column)
	}
	if c.levels > 0 {
		for i, v := range c.values {
			c.values[i] = 0
			if v > 0 {
				c.values[i] = 1
			}
		}
	}
}
