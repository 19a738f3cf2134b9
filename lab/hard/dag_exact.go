package hard

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/tables"
)

// exactGraphs is the exact posterior over graphs of a few nodes, in the scaled columns with which
// vti dag computes.
type exactGraphs struct {
	logEvidence  float64
	edges        *mat.Dense // probabilities of edges [from, to]
	meanIn, sdIn *mat.Dense // mean and sd of the weight of each edge, given that the edge is there
}

// exactDag returns the exact posterior by a sum over all graphs. The evidence of a node given its
// parents is the evidence of a regression, or of categories, over the rows in which no intervention
// set the node.
func exactDag(data *dag.Data, model dag.ModelOptions) (*exactGraphs, error) {
	nodes := data.Nodes()
	families := make([]map[int]exactFamily, nodes)
	for j := range nodes {
		var err error
		if families[j], err = exactFamilies(data, model, j); err != nil {
			return nil, err
		}
	}
	graphs := calibrate.Acyclic(nodes)
	logs := calibrate.GraphPrior(graphs, model)
	for g, parents := range graphs {
		for j, set := range parents {
			logs[g] += families[j][set].moments.logEvidence
		}
	}
	return averageGraphs(graphs, logs, families), nil
}

// exactFamily is the exact posterior of a node given a set of parents.
type exactFamily struct {
	moments modelMoments
	parents []int
}

// exactFamilies returns the posteriors of node j given each set of parents. The keys are sets of
// parents, with one bit for each node.
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
		case dag.Spline:
			moments, err = splineOf(data, parents, y, values)
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

// countedColumns returns all columns, in the rows in which no intervention set node j. Columns of
// linear models are centred in these rows if there are interventions and the data are scaled.
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

// averageGraphs returns the posterior over graphs. The argument logs holds their unnormalised log
// probabilities.
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

// bdeuOf returns the log evidence of a node under the BDeu prior. The values y of the node and the
// values of its parents are numbers of levels.
func bdeuOf(data *dag.Data, node int, parents []int, y []float64, values [][]float64, size float64) float64 {
	var parentValues [][]int
	var levels []int
	for k, i := range parents {
		parentValues, levels = append(parentValues, calibrate.WholeOf(values[k])), append(levels, len(data.Levels[i]))
	}
	return bdeuEvidence(calibrate.WholeOf(y), len(data.Levels[node]), parentValues, levels, size)
}

// rareTruth is the smallest exact probability of a predictor or an edge for which the moments of
// its coefficient, given that it is in the model, are compared. Rarer predictors and edges occur in
// too few draws.
const rareTruth = 0.05

// ExactDag compares an answer of vti dag with the exact posterior. Weights are in units of the
// table.
func ExactDag(_ context.Context, p *dag.Problem, result *dag.Result) (list []calibrate.Comparison, err error) {
	if m := p.Model; m.Mechanism == dag.MLP || p.Data.Nodes() > calibrate.MostNodes || m.ExpectedDegree != 0 || m.EdgePrior != nil || m.Orders || p.Constraints.String() != "" {
		return nil, fmt.Errorf("no exact answer for mechanisms that are networks, graphs with orders or constraints, priors of edges, or more than %d nodes", calibrate.MostNodes)
	}
	exact, err := exactDag(p.Data, p.Model)
	if err != nil {
		return nil, err
	}
	add := func(quantity calibrate.Quantity, subject string, stated, se, exact float64) {
		list = append(list, compared(quantity, subject, stated, se, exact))
	}
	add(calibrate.Evidence, "", float64(result.LogEvidence), float64(result.LogEvidenceSE), exact.logEvidence+p.LogJacobian())
	place := func(name string) int { return slices.Index(p.Data.Names, name) }
	for _, e := range result.Edges {
		from, to := place(e.From), place(e.To)
		add(calibrate.Inclusion, e.From+"→"+e.To, float64(e.Prob), float64(e.ProbSE), exact.edges.At(from, to))
		add(calibrate.Inclusion, e.To+"→"+e.From, float64(e.ProbReverse), float64(e.ProbReverseSE), exact.edges.At(to, from))
	}
	for _, one := range result.Parameters {
		from, to := place(one.From), place(one.To)
		if exact.edges.At(from, to) < rareTruth {
			continue
		}
		name := one.From + "→" + one.To
		slope := p.Data.Scale[to] / p.Data.Scale[from]
		sd := exact.sdIn.At(from, to)
		se := float64(one.MeanSE) / slope / sd // 0 for means in closed form
		add(calibrate.Mean, name, float64(one.Mean)/slope/sd, se, exact.meanIn.At(from, to)/sd)
		add(calibrate.SD, name, math.Log(float64(one.SD)/slope), se/math.Sqrt2, math.Log(sd))
	}
	return list, nil
}
