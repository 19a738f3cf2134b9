package hard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
)

// mixedEvidence returns the exact log evidence of a node of a table of numbers and categories,
// given its parents. The node has a conjugate regression if it is a number, and a logistic
// regression, integrated by quadrature, if it is categorical. It returns an error for categorical
// nodes with more than two levels, or with too many parents.
func mixedEvidence(response calibrate.MixedColumn, parents []calibrate.MixedColumn) (modelMoments, error) {
	var columns [][]float64
	var sds []float64
	numbers := 0
	for _, parent := range parents {
		columns = append(columns, parent.Effects()...)
		if parent.Levels == 0 {
			numbers++
		}
	}
	if response.Levels == 0 {
		return bgeRegression(response.Values, columns, numbers)
	}
	if response.Levels != 2 {
		return modelMoments{}, fmt.Errorf("no exact answer for a response with %d levels, want 2", response.Levels)
	}
	// The difference between the effects of two levels has twice the variance of each. Only the
	// difference between the effects of the two levels of a parent matters; each level gets half of
	// this difference, with opposite signs.
	columns = [][]float64{slices.Repeat([]float64{1}, len(response.Values))}
	sds = []float64{math.Sqrt(2 * calibrate.MixedInterceptVariance)}
	for _, parent := range parents {
		column, variance := parent.Values, 2*calibrate.MixedSlopeVariance
		switch parent.Levels {
		case 0:
		case 2:
			column, variance = parent.Effects()[1], 4*calibrate.MixedLevelVariance
		default:
			return modelMoments{}, fmt.Errorf("no exact answer for a parent with %d levels, want 2", parent.Levels)
		}
		column = slices.Clone(column)
		floats.AddConst(-stat.Mean(column, nil), column)
		columns, sds = append(columns, column), append(sds, math.Sqrt(variance))
	}
	if len(columns) > mostParameters {
		return modelMoments{}, fmt.Errorf("no exact answer for a category with %d parents, want at most %d", len(parents), mostParameters-1)
	}
	x := mat.NewDense(len(response.Values), len(columns), nil)
	var coordinates []int
	for c, column := range columns {
		x.SetCol(c, column)
		coordinates = append(coordinates, c)
	}
	p := &regressionProblem{x: x, y: response.Values, priorMean: make([]float64, len(columns)), priorSD: sds}
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
	var parentColumns []calibrate.MixedColumn
	for k, i := range parents {
		parentColumns = append(parentColumns, calibrate.MixedColumn{Levels: levels(i), Values: values[k]})
	}
	moments, err := mixedEvidence(calibrate.MixedColumn{Levels: levels(node), Values: y}, parentColumns)
	moments.mean, moments.variance = nil, nil // not moments of weights of edges
	return moments, err
}

// drawMixed draws a difficult table of numbers and categories. Tables may have few rows, rare
// levels, levels that a number separates, numbers of any scale, and interventions, which set the
// values of nodes.
func (h Dag) drawMixed(random *rand.Rand) *calibrate.DagProblem {
	p := &calibrate.DagProblem{Record: h.Record, Exact: ExactDag, Flags: []string{"--sem mixed"}}
	if p.Record.Model.Graphs = []dag.GraphPrior{dag.SparseGraphs, dag.UniformGraphs}[random.IntN(2)]; p.Record.Model.Graphs == dag.UniformGraphs {
		p.Flags = append(p.Flags, "--graph-prior uniform")
	}
	nodes := 2 + random.IntN(2)
	rows := []int{4, 5, 6, 8, 12, 20, 50, 200}[random.IntN(8)]
	graphs := calibrate.Acyclic(nodes)
	var about []string
	columns := make([]calibrate.MixedColumn, nodes)
	for {
		parents := graphs[random.IntN(len(graphs))]
		about = nil
		for j := range columns {
			columns[j].Levels = 2 * ((j + 1) % 2)
		}
		strength := math.Pow(10, uniform(random, -0.5, 1.5))
		for _, j := range calibrate.Topological(parents) {
			drawNasty(&columns[j], calibrate.Members(columns, parents[j]), rows, strength, random)
		}
		about = append(about, fmt.Sprintf("effects of %.2g", strength))
		if calibrate.AllShown(columns) {
			break
		}
	}
	for j, c := range columns {
		if c.Levels == 0 && random.Float64() < 0.3 {
			scale := math.Pow(10, uniform(random, -12, 12))
			shift := scale * random.NormFloat64() * math.Pow(10, uniform(random, 0, 4))
			about = append(about, fmt.Sprintf("v%d×%.0e", j+1, scale))
			for i := range c.Values {
				c.Values[i] = shift + scale*c.Values[i]
			}
		}
	}
	list := calibrate.MixedTable(columns)
	if rows >= 12 && random.Float64() < 0.3 {
		p.Record.Columns.Intervened = "target"
		p.Flags = append(p.Flags, "--intervened target")
		set := make([]int, rows)
		for i := range set {
			if set[i] = -1; random.Float64() < 0.2 {
				set[i] = random.IntN(nodes)
			}
		}
		list = append(list, targetsOf(set))
		about = append(about, "interventions")
	}
	p.CSV = calibrate.CSV(list...)
	p.About = fmt.Sprintf("dag, mixed, %d rows, %d nodes; %s", rows, nodes, strings.Join(about, " "))
	return p
}

// drawNasty fills column c with the sum of effects of its parents, of size strength, and noise of
// sd 1.
func drawNasty(c *calibrate.MixedColumn, parents []calibrate.MixedColumn, rows int, strength float64, random *rand.Rand) {
	c.Values = make([]float64, rows)
	level := 1.5 * random.NormFloat64()
	for i := range c.Values {
		c.Values[i] = level + random.NormFloat64()
	}
	for _, parent := range parents {
		column := slices.Clone(parent.Effects()[0])
		floats.AddScaled(c.Values, strength*random.NormFloat64(), column)
	}
	if c.Levels > 0 {
		for i, v := range c.Values {
			c.Values[i] = 0
			if v > 0 {
				c.Values[i] = 1
			}
		}
	}
}
