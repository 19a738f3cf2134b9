package hard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
)

// Dag draws difficult tables for vti dag with linear mechanisms. They have three rows or more,
// columns that are nearly copies of other columns, scales from 1e−12 to 1e12, heavy tails, noise of
// almost zero, and interventions that set nodes to values far away from all others. Dag also draws
// tables of categories that may be rare or nearly determined by other columns, and tables of up to
// 100 columns in which parents matter only together. If Record.Model asks for networks, Dag draws
// tables of numbers, which then have no exact answer. For mixed mechanisms, Dag draws tables of
// numbers and categories.
type Dag struct {
	// Device trains flows.
	Device *gpu.Device
	// Record holds all settings except the table.
	Record dag.Record
}

// Name implements [calibrate.Source].
func (Dag) Name() string { return "dag, hard" }

// Replicate implements [calibrate.Source].
func (h Dag) Replicate(ctx context.Context, seed uint64, dir string) (*calibrate.Replicate, error) {
	return calibrate.AnswerDag(ctx, h.Device, h.draw(stream.Rand(seed, "hard")), seed, dir)
}

func (h Dag) draw(random *rand.Rand) *calibrate.DagProblem {
	if h.Record.Model.Mechanism != dag.MLP && random.Float64() < 0.1 {
		return h.drawJoint(random)
	}
	if h.Record.Model.Mechanism == dag.Mixed {
		return h.drawMixed(random)
	}
	if h.Record.Model.Mechanism == dag.AnyMechanism && random.Float64() < 0.25 || h.Record.Model.Mechanism == dag.Categorical {
		return h.drawDiscrete(random)
	}
	p := &calibrate.DagProblem{Record: h.Record, Exact: ExactDag}
	drawModel(p, random)
	nodes := 2 + random.IntN(3)
	rows := []int{3, 4, 5, 6, 8, 12, 20, 50, 200}[random.IntN(9)]
	graphs := calibrate.Acyclic(nodes)
	n := newNastyNodes(graphs[random.IntN(len(graphs))], rows, random)
	n.drawColumns(rows, random)
	n.rescale(random)
	columns := calibrate.Numbered("v", n.columns...)
	if n.intervene {
		p.Record.Columns.Intervened = "target"
		p.Flags = append(p.Flags, "--intervened target")
		columns = append(columns, targetsOf(n.set))
	}
	p.CSV = calibrate.CSV(columns...)
	p.About = fmt.Sprintf("dag, %v, %d rows, %d nodes; %s", p.Record.Model.Mechanism, rows, nodes, strings.Join(n.about, " "))
	return p
}

// drawModel draws the prior over graphs, whether σ is known, and, unless it is set, the mechanism.
func drawModel(p *calibrate.DagProblem, random *rand.Rand) {
	model := &p.Record.Model
	if model.Mechanism == dag.AnyMechanism {
		model.Mechanism = []dag.Mechanism{dag.BGe, dag.Linear}[random.IntN(2)]
	}
	p.Flags = []string{"--sem " + model.Mechanism.String()}
	if model.Graphs = []dag.GraphPrior{dag.SparseGraphs, dag.UniformGraphs}[random.IntN(2)]; model.Graphs == dag.UniformGraphs {
		p.Flags = append(p.Flags, "--graph-prior uniform")
	}
	if model.Mechanism == dag.Linear && random.Float64() < 0.2 {
		model.Sigma = math.Pow(10, uniform(random, -2, 0.5))
		p.Flags = append(p.Flags, fmt.Sprintf("--sigma %.17g", model.Sigma))
	}
}

// nastyNodes holds columns of numbers that follow a graph.
type nastyNodes struct {
	parents   []int // the set of parents of each node, one bit per node
	noise     []float64
	heavy     []bool // whether the noise has a heavy tail
	intervene bool
	set       []int   // the node that was set in each row, or −1
	far       float64 // the mean of the values to which interventions set nodes
	columns   [][]float64
	about     []string // descriptions of the difficult properties
}

// newNastyNodes draws the noise of each node, and the nodes that interventions set.
func newNastyNodes(parents []int, rows int, random *rand.Rand) *nastyNodes {
	nodes := len(parents)
	n := &nastyNodes{parents: parents, noise: make([]float64, nodes), heavy: make([]bool, nodes), set: make([]int, rows)}
	for j := range n.noise {
		n.noise[j] = 1
		switch u := random.Float64(); {
		case u < 0.3 && parents[j] != 0:
			n.noise[j] = math.Pow(10, uniform(random, -9, -0.5))
			n.about = append(n.about, fmt.Sprintf("v%d noise %.0e", j+1, n.noise[j]))
		case u < 0.45:
			n.heavy[j] = true
			n.about = append(n.about, fmt.Sprintf("v%d heavy", j+1))
		}
	}
	n.intervene = random.Float64() < 0.3 && rows >= 12
	for i := range n.set {
		n.set[i] = -1
		if n.intervene && random.Float64() < 0.3 {
			n.set[i] = random.IntN(nodes)
		}
	}
	if n.intervene {
		n.far = math.Pow(10, uniform(random, 0, 2))
		n.about = append(n.about, fmt.Sprintf("interventions %.0f away", n.far))
	}
	return n
}

func (n *nastyNodes) drawColumns(rows int, random *rand.Rand) {
	n.columns = make([][]float64, len(n.parents))
	for _, j := range calibrate.Topological(n.parents) {
		n.columns[j] = make([]float64, rows)
		weights := make([]float64, len(n.parents))
		for from := range weights {
			weights[from] = random.NormFloat64()
		}
		for i := range rows {
			e := random.NormFloat64()
			if n.heavy[j] {
				e /= math.Sqrt(random.ExpFloat64())
			}
			v := n.noise[j] * e
			for from, w := range weights {
				if n.parents[j]>>from&1 == 1 {
					v += w * n.columns[from][i]
				}
			}
			if n.set[i] == j {
				v = n.far + random.NormFloat64()
			}
			n.columns[j][i] = v
		}
	}
}

// rescale multiplies some columns by a scale far from one and moves them far from zero.
func (n *nastyNodes) rescale(random *rand.Rand) {
	for j, column := range n.columns {
		if random.Float64() < 0.3 {
			scale := math.Pow(10, uniform(random, -12, 12))
			shift := scale * random.NormFloat64() * math.Pow(10, uniform(random, 0, 5))
			n.about = append(n.about, fmt.Sprintf("v%d×%.0e", j+1, scale))
			for i := range column {
				column[i] = shift + scale*column[i]
			}
		}
	}
}
