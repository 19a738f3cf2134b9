package calibrate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
)

// HardDag draws nasty tables for vti dag with linear mechanisms: of three rows and more, near
// copies, scales from 1e−12 to 1e12, heavy tails, noise of almost zero, and interventions that set
// nodes far away; and tables of categories, some rare or nearly determined by others. Where the
// record asks for networks it draws the same, without an exact answer; where it asks for mixed
// mechanisms, tables of numbers and categories.
type HardDag struct {
	// Device computes where flows are trained.
	Device *gpu.Device
	// Record is what is asked for beside the table.
	Record dag.Record
}

// Name implements [Source].
func (HardDag) Name() string { return "dag, hard" }

// Replicate implements [Source].
func (h HardDag) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	return answerDag(ctx, h.Device, h.draw(stream.Rand(seed, "hard")), seed, dir, nil)
}

// draw draws a table.
func (h HardDag) draw(random *rand.Rand) *dagProblem {
	if h.Record.Model.Mechanism == dag.Mixed {
		return h.drawMixed(random)
	}
	if h.Record.Model.Mechanism == dag.AnyMechanism && random.Float64() < 0.25 || h.Record.Model.Mechanism == dag.Categorical {
		return h.drawDiscrete(random)
	}
	p := &dagProblem{record: h.Record}
	model := &p.record.Model
	if model.Mechanism == dag.AnyMechanism {
		model.Mechanism = []dag.Mechanism{dag.BGe, dag.Linear}[random.IntN(2)]
	}
	p.flags = []string{"--sem " + model.Mechanism.String()}
	if model.Graphs = []dag.GraphPrior{dag.SparseGraphs, dag.UniformGraphs}[random.IntN(2)]; model.Graphs == dag.UniformGraphs {
		p.flags = append(p.flags, "--graph-prior uniform")
	}
	if model.Mechanism == dag.Linear && random.Float64() < 0.2 {
		model.Sigma = math.Pow(10, uniform(random, -2, 0.5))
		p.flags = append(p.flags, fmt.Sprintf("--sigma %.17g", model.Sigma))
	}
	nodes := 2 + random.IntN(3)
	rows := []int{3, 4, 5, 6, 8, 12, 20, 50, 200}[random.IntN(9)]
	var about []string
	graphs := acyclic(nodes)
	parents := graphs[random.IntN(len(graphs))]
	noise := make([]float64, nodes)
	heavy := make([]bool, nodes)
	for j := range noise {
		noise[j] = 1
		switch u := random.Float64(); {
		case u < 0.3 && parents[j] != 0:
			noise[j] = math.Pow(10, uniform(random, -9, -0.5))
			about = append(about, fmt.Sprintf("v%d noise %.0e", j+1, noise[j]))
		case u < 0.45:
			heavy[j] = true
			about = append(about, fmt.Sprintf("v%d heavy", j+1))
		}
	}
	set := make([]int, rows) // the node that was set in each row, or −1
	intervene := random.Float64() < 0.3 && rows >= 12
	far := 0.0
	for i := range set {
		set[i] = -1
		if intervene && random.Float64() < 0.3 {
			set[i] = random.IntN(nodes)
		}
	}
	if intervene {
		far = math.Pow(10, uniform(random, 0, 2))
		about = append(about, fmt.Sprintf("interventions %.0f away", far))
	}
	columns := make([][]float64, nodes)
	for _, j := range topological(parents) {
		columns[j] = make([]float64, rows)
		weights := make([]float64, nodes)
		for from := range weights {
			weights[from] = random.NormFloat64()
		}
		for i := range rows {
			e := random.NormFloat64()
			if heavy[j] {
				e /= math.Sqrt(random.ExpFloat64())
			}
			v := noise[j] * e
			for from, w := range weights {
				if parents[j]>>from&1 == 1 {
					v += w * columns[from][i]
				}
			}
			if set[i] == j {
				v = far + random.NormFloat64()
			}
			columns[j][i] = v
		}
	}
	for j, column := range columns {
		if random.Float64() < 0.3 {
			scale := math.Pow(10, uniform(random, -12, 12))
			shift := scale * random.NormFloat64() * math.Pow(10, uniform(random, 0, 5))
			about = append(about, fmt.Sprintf("v%d×%.0e", j+1, scale))
			for i := range column {
				column[i] = shift + scale*column[i]
			}
		}
	}
	p.csv = columnsCSV(columns)
	if intervene {
		p.record.Columns.Intervened = "target"
		p.flags = append(p.flags, "--intervened target")
		lines := strings.Split(strings.TrimSpace(string(p.csv)), "\n")
		lines[0] += ",target"
		for i, j := range set {
			lines[i+1] += ","
			if j >= 0 {
				lines[i+1] += fmt.Sprintf("v%d", j+1)
			}
		}
		p.csv = []byte(strings.Join(lines, "\n") + "\n")
	}
	p.about = fmt.Sprintf("dag, %v, %d rows, %d nodes; %s", model.Mechanism, rows, nodes, strings.Join(about, " "))
	return p
}
