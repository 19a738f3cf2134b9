package hard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/table"
)

// bdeuEvidence returns the log evidence of a column of categories, 0 to levels−1, under the BDeu
// prior, given the categories of the column's parents in the graph. For each of the q combinations
// of categories of the parents, the probabilities of the categories have a Dirichlet prior with
// parameters size/(q·levels).
func bdeuEvidence(column []int, levels int, parents [][]int, parentLevels []int, size float64) (sum float64) {
	combinations := 1.0
	for _, count := range parentLevels {
		combinations *= float64(count)
	}
	counts := map[string][]float64{}
	for i, value := range column {
		key := ""
		for _, parent := range parents {
			key += fmt.Sprint(parent[i], " ")
		}
		if counts[key] == nil {
			counts[key] = make([]float64, levels)
		}
		counts[key][value]++
	}
	logGamma := func(x float64) float64 { value, _ := math.Lgamma(x); return value }
	for _, seen := range counts {
		pseudoCount, total := size/(combinations*float64(levels)), 0.0
		for _, n := range seen {
			total += n
			sum += logGamma(pseudoCount+n) - logGamma(pseudoCount)
		}
		sum += logGamma(size/combinations) - logGamma(size/combinations+total)
	}
	return sum
}

// drawDiscrete draws a table of categories. Tables may have rare categories, columns that other
// columns nearly determine, few rows, and interventions, which set the values of nodes. Tables with
// a column of a single category, which vti dag refuses, are drawn again.
func (h Dag) drawDiscrete(random *rand.Rand) *calibrate.DagProblem {
	for {
		p, values := h.drawCategories(random)
		if !slices.ContainsFunc(values, func(column []int) bool { return slices.Max(column) == slices.Min(column) }) {
			return p
		}
	}
}

func (h Dag) drawCategories(random *rand.Rand) (p *calibrate.DagProblem, values [][]int) {
	p = &calibrate.DagProblem{Record: h.Record, Exact: ExactDag, Flags: []string{}}
	if p.Record.Model.Graphs = []dag.GraphPrior{dag.SparseGraphs, dag.UniformGraphs}[random.IntN(2)]; p.Record.Model.Graphs == dag.UniformGraphs {
		p.Flags = append(p.Flags, "--graph-prior uniform")
	}
	nodes := 2 + random.IntN(3)
	rows := []int{3, 4, 6, 10, 20, 50, 200, 1000}[random.IntN(8)]
	graphs := calibrate.Acyclic(nodes)
	parents := graphs[random.IntN(len(graphs))]
	levels := make([]int, nodes)
	values = make([][]int, nodes)
	for j := range levels {
		levels[j], values[j] = 2+random.IntN(3), make([]int, rows)
	}
	concentration := math.Pow(10, uniform(random, -2, 0.5))
	intervene := rows >= 10 && random.Float64() < 0.3
	set := make([]int, rows)
	for i := range set {
		set[i] = -1
		if intervene && random.Float64() < 0.3 {
			set[i] = random.IntN(nodes)
		}
	}
	for _, j := range calibrate.Topological(parents) {
		tables := map[string][]float64{}
		for i := range rows {
			key := ""
			for from := range nodes {
				if parents[j]>>from&1 == 1 {
					key += fmt.Sprint(values[from][i], " ")
				}
			}
			if tables[key] == nil {
				tables[key] = drawDirichlet(levels[j], concentration, random)
			}
			values[j][i] = pick.Log(tables[key], random.Float64())
			if set[i] == j {
				values[j][i] = random.IntN(levels[j])
			}
		}
	}
	var list []*table.Column
	for j, codes := range values {
		list = append(list, calibrate.Labelled(fmt.Sprintf("v%d", j+1), "l", codes))
	}
	p.About = fmt.Sprintf("dag, categories, %d rows, %d nodes; concentration %.2g", rows, nodes, concentration)
	if intervene {
		p.Record.Columns.Intervened = "target"
		p.Flags = append(p.Flags, "--intervened target")
		p.About += ", interventions"
		list = append(list, targetsOf(set))
	}
	p.CSV = calibrate.CSV(list...)
	return p, values
}

func drawDirichlet(levels int, concentration float64, random *rand.Rand) []float64 {
	logs := make([]float64, levels)
	for k := range logs {
		// A gamma variable of this shape may be too small for a float64. Its logarithm is therefore
		// computed: it is a gamma variable of a larger shape times a power of a uniform variable.
		logs[k] = math.Log(distuv.Gamma{Alpha: concentration + 1, Beta: 1, Src: random}.Rand()) + math.Log(random.Float64())/concentration
	}
	floats.AddConst(-logsum.Of(logs), logs)
	return logs
}
