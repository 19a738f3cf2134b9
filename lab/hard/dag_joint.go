package hard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/table"
)

// drawJoint draws a table in which one column depends on two to four columns before it, its
// parents, and no smaller set of the parents tells much about it. Either the columns are
// categories, and the column is the parity of its parents except in a few rows. Or the columns are
// numbers, and the column is the sum of its parents up to small noise, in which large terms cancel.
// All columns after it are noise.
func (h Dag) drawJoint(random *rand.Rand) *calibrate.DagProblem {
	p := &calibrate.DagProblem{Record: h.Record, Exact: ExactDag}
	discrete := p.Record.Model.Mechanism == dag.Categorical || p.Record.Model.Mechanism == dag.AnyMechanism && random.Float64() < 0.5
	parents := 2 + random.IntN(3)
	nodes := []int{12, 20, 30, 60, 100}[random.IntN(7-parents)] // few enough for the program to try all sets of parents
	rows := 200 + random.IntN(400)
	var columns []*table.Column
	if discrete {
		p.Record.Model.Mechanism = dag.Categorical
		p.Flags = []string{"--sem categorical"}
		columns = jointCategories(parents, nodes, rows, random)
	} else {
		drawModel(p, random)
		p.Record.Model.Sigma = 0
		p.Flags = []string{"--sem " + p.Record.Model.Mechanism.String()}
		columns = jointNumbers(parents, nodes, rows, random)
		if p.Record.Model.Mechanism == dag.Mixed {
			columns[nodes-1] = calibrate.Labelled(columns[nodes-1].Name, "l", drawCodes(rows, random))
		}
	}
	p.Record.Model.Graphs = dag.SparseGraphs
	p.Exact = func(_ context.Context, _ *dag.Problem, result *dag.Result) ([]calibrate.Comparison, error) {
		return comparePlanted(columns[:parents+1], &p.Record, result)
	}
	p.CSV = calibrate.CSV(columns...)
	p.About = fmt.Sprintf("dag, %v, %d rows, %d nodes; %d parents that matter only together", p.Record.Model.Mechanism, rows, nodes, parents)
	return p
}

// jointCategories returns columns of two categories. The first columns are the parents, and the
// next one is their parity, except for a few rows.
func jointCategories(parents, nodes, rows int, random *rand.Rand) (columns []*table.Column) {
	flips, parity := uniform(random, 0, 0.05), make([]int, rows)
	for j := range nodes {
		codes := drawCodes(rows, random)
		for i := range codes {
			if j < parents {
				parity[i] ^= codes[i]
			} else if j == parents {
				codes[i] = parity[i]
				if random.Float64() < flips {
					codes[i] = 1 - parity[i]
				}
			}
		}
		columns = append(columns, calibrate.Labelled(fmt.Sprintf("v%d", j+1), "l", codes))
	}
	return columns
}

func drawCodes(rows int, random *rand.Rand) []int {
	codes := make([]int, rows)
	for i := range codes {
		codes[i] = random.IntN(2)
	}
	return codes
}

// jointNumbers returns columns of numbers. The parents are a + 5 u₁, −5 u₁ + 5 u₂ and so on, up to
// −5 u in the last parent, where a and each u are independent normal variables. The next column is
// a, the sum of the parents. All these have small noise added. The remaining columns are noise.
func jointNumbers(parents, nodes, rows int, random *rand.Rand) []*table.Column {
	const size, noise = 5, 0.05
	values := make([][]float64, nodes)
	for j := range values {
		values[j] = make([]float64, rows)
	}
	for i := range rows {
		sum := random.NormFloat64()
		values[0][i] = sum
		for j := range parents - 1 {
			u := size * random.NormFloat64()
			values[j][i] += u
			values[j+1][i] -= u
		}
		values[parents][i] = sum
		for j := range parents + 1 {
			values[j][i] += noise * random.NormFloat64()
		}
		for j := parents + 1; j < nodes; j++ {
			values[j][i] = random.NormFloat64()
		}
	}
	return calibrate.Numbered("v", values...)
}

// comparePlanted compares the expected number of edges among the planted nodes, the columns that
// depend on each other, with a lower bound: the smallest number of edges in a graph in which one
// planted node has all other planted nodes as parents. It returns an error unless this set of
// parents has a much larger evidence than every smaller set, in a table of the planted nodes alone.
func comparePlanted(planted []*table.Column, record *dag.Record, result *dag.Result) ([]calibrate.Comparison, error) {
	t, err := table.New("planted", planted...)
	if err != nil {
		return nil, err
	}
	data, err := dag.NewData(t, record.Columns)
	if err != nil {
		return nil, err
	}
	problem, err := dag.NewProblem(data, record.Model, record.Constraints)
	if err != nil {
		return nil, err
	}
	least := data.Nodes() - 1
	families, err := exactFamilies(data, problem.Model, least)
	if err != nil {
		return nil, err
	}
	all := 1<<least - 1
	gain := math.Inf(1)
	for set, family := range families {
		if set != all {
			gain = math.Min(gain, families[all].moments.logEvidence-family.moments.logEvidence)
		}
	}
	const decided = 40 // nats, far more than the log prior penalty of four parents among 100 nodes
	if gain < decided {
		return nil, fmt.Errorf("the planted parents gain %.1f nats over all their subsets, want %d", gain, decided)
	}
	stated, variance := 0.0, 0.0
	for _, e := range result.Edges {
		if slices.Contains(data.Names, e.From) && slices.Contains(data.Names, e.To) {
			stated += float64(e.Prob + e.ProbReverse)
			variance += float64(e.ProbSE*e.ProbSE + e.ProbReverseSE*e.ProbReverseSE)
		}
	}
	edges := math.Min(stated, float64(least))
	return []calibrate.Comparison{compared(calibrate.Inclusion, "edges among planted nodes, at least", edges, math.Sqrt(variance), float64(least))}, nil
}
