package calibrate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/tables"
)

// exactGraphs is the exact posterior over graphs of a few nodes, on the working scale.
type exactGraphs struct {
	logEvidence  float64
	edges        *mat.Dense // [from, to]
	meanIn, sdIn *mat.Dense // of weights given the edge
}

// exactDag sums over all graphs. The evidence of each node given its parents comes from a Gaussian
// regression over the rows in which the node was not set, centred there if any node was, or from
// its categories.
func exactDag(data *dag.Data, model dag.ModelOptions) (*exactGraphs, error) {
	nodes := data.Nodes()
	families := make([]map[int]exactFamily, nodes)
	for j := range nodes {
		var err error
		if families[j], err = exactFamilies(data, model, j); err != nil {
			return nil, err
		}
	}
	graphs := acyclic(nodes)
	logs := graphPrior(graphs, model)
	for g, parents := range graphs {
		for j, set := range parents {
			logs[g] += families[j][set].moments.logEvidence
		}
	}
	return averageGraphs(graphs, logs, families), nil
}

// exactFamily is the posterior of a node given its parents.
type exactFamily struct {
	moments modelMoments
	parents []int
}

// exactFamilies returns the posteriors of a node by its sets of parents.
func exactFamilies(data *dag.Data, model dag.ModelOptions, j int) (map[int]exactFamily, error) {
	nodes := data.Nodes()
	x := countedColumns(data, model, j)
	y := mat.Col(nil, j, x)
	p := &regressionProblem{
		x: x, y: y, priorMean: make([]float64, nodes), priorSD: slices.Repeat([]float64{model.PriorSD}, nodes),
		sigma: model.Sigma, logSigmaMean: math.Log(stat.StdDev(y, nil)), logSigmaSD: logScaleSD,
	}
	families := make(map[int]exactFamily)
	for set := range 1 << nodes {
		if set>>j&1 == 1 {
			continue
		}
		var parents []int
		var values [][]float64
		for i := range nodes {
			if set>>i&1 == 1 {
				parents, values = append(parents, i), append(values, mat.Col(nil, i, x))
			}
		}
		var moments modelMoments
		var err error
		switch model.Mechanism {
		case dag.Categorical:
			moments.logEvidence = bdeuOf(data, j, parents, y, values, model.ImaginarySampleSize)
		case dag.BGe:
			moments, err = bgePosterior(y, values)
		case dag.Mixed:
			moments, err = mixedOf(data, j, parents, y, values)
		default:
			moments, err = p.gaussian(parents)
		}
		if err != nil {
			return nil, err
		}
		families[set] = exactFamily{moments, parents}
	}
	return families, nil
}

// countedColumns are all columns in the rows in which a node was not set from outside.
func countedColumns(data *dag.Data, model dag.ModelOptions, j int) *mat.Dense {
	var rows []int
	for i := range data.Rows() {
		if data.Counted == nil || data.Counted[i][j] {
			rows = append(rows, i)
		}
	}
	x := mat.NewDense(len(rows), data.Nodes(), nil)
	for c := range data.Nodes() {
		values := make([]float64, len(rows))
		for k, i := range rows {
			values[k] = data.X.At(i, c)
		}
		if model.Mechanism == dag.Linear && data.Counted != nil && data.Scaling != tables.Unscaled {
			floats.AddConst(-stat.Mean(values, nil), values)
		}
		x.SetCol(c, values)
	}
	return x
}

// averageGraphs returns the averages over graphs with these log densities, not normalised.
func averageGraphs(graphs [][]int, logs []float64, families []map[int]exactFamily) *exactGraphs {
	nodes := len(families)
	mass, mean, sd := averages(logs, nodes*nodes, func(g int, add func(at int, mean, variance float64)) {
		for j, set := range graphs[g] {
			f := families[j][set]
			for k, i := range f.parents {
				if f.moments.mean == nil { // categories have no weights
					add(i*nodes+j, 0, 0)
				} else {
					add(i*nodes+j, f.moments.mean[k], f.moments.variance[k])
				}
			}
		}
	})
	for at, variance := range sd {
		sd[at] = math.Sqrt(variance)
	}
	square := func(values []float64) *mat.Dense { return mat.NewDense(nodes, nodes, values) }
	return &exactGraphs{floats.LogSumExp(logs), square(mass), square(mean), square(sd)}
}

// bdeuOf is bdeuEvidence of a node whose values, as its parents', are codes of levels.
func bdeuOf(data *dag.Data, node int, parents []int, y []float64, values [][]float64, size float64) float64 {
	var of [][]int
	var levels []int
	for k, i := range parents {
		of, levels = append(of, wholeOf(values[k])), append(levels, len(data.Levels[i]))
	}
	return bdeuEvidence(wholeOf(y), len(data.Levels[node]), of, levels, size)
}

// dagDraws is the number of draws behind summaries of linear weights.
const dagDraws = 4000

// acyclic lists the acyclic graphs over some nodes, each as the set of parents of every node.
func acyclic(nodes int) (graphs [][]int) {
	parents := make([]int, nodes)
	var choose func(j int)
	choose = func(j int) {
		if j == nodes {
			if topological(parents) != nil {
				graphs = append(graphs, slices.Clone(parents))
			}
			return
		}
		for set := range 1 << nodes {
			if set>>j&1 == 0 {
				parents[j] = set
				choose(j + 1)
			}
		}
	}
	choose(0)
	return graphs
}

// topological orders nodes after their parents; nil if there is a cycle.
func topological(parents []int) []int {
	var order []int
	placed := 0
	for range parents {
		before := len(order)
		for j, set := range parents {
			if placed>>j&1 == 0 && set&^placed == 0 {
				order = append(order, j)
				placed |= 1 << j
			}
		}
		if len(order) == before {
			break
		}
	}
	if len(order) < len(parents) {
		return nil
	}
	return order
}
