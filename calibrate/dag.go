package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

// Dag draws graphs, weights and data from the priors of vti dag. Columns are not standardised, so
// that every prior is known before the data are drawn. The model of a node given its parents is BGe
// (the Gaussian model of Geiger and Heckerman), linear with a known noise scale, or mixed, where
// every second node is categorical.
type Dag struct {
	// Device is the device on which flows are trained.
	Device *gpu.Device
	// Rows and Nodes are the numbers of rows and of nodes of the tables. There may be at most
	// [MostNodes] nodes.
	Rows, Nodes int
	// Record holds the other settings.
	Record dag.Record
	// Exact compares each answer with an exact one. It may be nil.
	Exact Exact[*dag.Problem, *dag.Result]
}

// MostNodes is the largest number of nodes for which all graphs are listed. Five nodes have 29,281
// acyclic graphs.
const MostNodes = 5

// Name implements [Source].
func (d Dag) Name() string {
	model := d.model()
	graphs := model.Graphs.String()
	if model.EdgePenalty != 0 {
		graphs = fmt.Sprintf("edge penalty %g", model.EdgePenalty)
	}
	return fmt.Sprintf("dag, %v, %s, %d rows, %d nodes", model.Mechanism, graphs, d.Rows, d.Nodes)
}

// model returns the model options of the record, with their defaults.
func (d Dag) model() dag.ModelOptions {
	model := d.Record.Model
	if model.Mechanism == dag.AnyMechanism {
		model.Mechanism = dag.BGe
		if model.Sigma != 0 || model.PriorSD != 0 {
			model.Mechanism = dag.Linear
		}
	}
	if model.Mechanism == dag.Linear && model.Sigma == 0 {
		model.Sigma = 1
	}
	return model
}

// check returns an error if tables cannot be drawn with the settings.
func (d Dag) check() error {
	switch model := d.model(); {
	case d.Nodes < 2 || d.Nodes > MostNodes:
		return fmt.Errorf("nodes: got %d, want 2 to %d", d.Nodes, MostNodes)
	case !slices.Contains([]dag.Mechanism{dag.BGe, dag.Linear, dag.Mixed}, model.Mechanism):
		return fmt.Errorf("mechanisms: got %v, want bge, linear or mixed: of others no table is drawn", model.Mechanism)
	case model.EdgePrior != nil || model.ExpectedDegree != 0 || model.Orders:
		return errors.New("graphs are drawn from the sparse or the uniform prior, or with an edge penalty")
	case d.Record.Constraints.String() != "":
		return errors.New("graphs cannot be drawn with constraints")
	}
	return nil
}

// DagProblem is a table for vti dag.
type DagProblem = Problem[dag.Record, *dag.Problem, *dag.Result]

// Replicate implements [Source].
func (d Dag) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	random := stream.Rand(seed, "prior")
	p := &DagProblem{About: d.Name(), Record: d.Record, Exact: d.Exact}
	p.Record.Columns.Scaling, p.Record.Model = tables.Unscaled, d.model()
	model := p.Record.Model
	graphs, weights := Acyclic(d.Nodes), mat.NewDense(d.Nodes, d.Nodes, nil) // indices are [from, to]
	var parents []int
	if model.Mechanism == dag.Mixed {
		var columns []MixedColumn
		parents, columns = d.drawMixedTable(graphs, random)
		p.CSV = CSV(MixedTable(columns)...)
	} else {
		parents = graphs[pick.Log(GraphPrior(graphs, model), random.Float64())]
		p.CSV = CSV(Numbered("v", d.drawNumbers(parents, weights, random)...)...)
	}
	p.judge = func(r *Replicate, problem *dag.Problem, result *dag.Result, run string) error {
		return judgeDag(r, parents, weights, problem, result, run, random)
	}
	return AnswerDag(ctx, d.Device, p, seed, dir)
}

// drawNumbers draws the columns of a graph, each from its parents, and notes the weights of the
// edges at [from, to].
func (d Dag) drawNumbers(parents []int, weights *mat.Dense, random *rand.Rand) [][]float64 {
	model := d.model()
	columns := make([][]float64, d.Nodes)
	for _, j := range Topological(parents) {
		values := Members(columns, parents[j])
		var slopes []float64
		if model.Mechanism == dag.BGe {
			columns[j], slopes = drawBGe(values, len(values), d.Rows, random)
		} else {
			columns[j], slopes = drawLinear(values, d.Rows, 0, model.Sigma, cmp.Or(model.PriorSD, 1), random)
		}
		for c, i := range Members(rank.UpTo(d.Nodes), parents[j]) {
			weights.Set(i, j, slopes[c])
		}
	}
	return columns
}

// drawLinear draws the weights of the parents of a node, and then the column of the node given its
// parents. The argument level is the intercept of the node.
func drawLinear(parents [][]float64, rows int, level, sigma, priorSD float64, random *rand.Rand) (column, weights []float64) {
	column = apply.UpTo(rows, func(int) float64 { return level + sigma*random.NormFloat64() })
	for _, parent := range parents {
		w := priorSD * random.NormFloat64()
		weights = append(weights, w)
		floats.AddScaled(column, w, parent)
	}
	return column, weights
}

// GraphPrior returns the log prior probabilities of graphs. The options choose one of three priors.
// In the first, all graphs are equally probable. In the second, the number of parents of each node
// is uniform, and so is the set of parents given their number. In the third, the probability of a
// graph with k edges is proportional to exp(−λ k), with the edge penalty λ.
func GraphPrior(graphs [][]int, model dag.ModelOptions) []float64 {
	logs := make([]float64, len(graphs))
	for g, parents := range graphs {
		for _, set := range parents {
			count := bits.OnesCount(uint(set))
			switch {
			case model.EdgePenalty != 0:
				logs[g] -= model.EdgePenalty * float64(count)
			case model.Graphs == dag.SparseGraphs:
				logs[g] -= math.Log(float64(combin.Binomial(len(parents)-1, count)))
			}
		}
	}
	floats.AddConst(-floats.LogSumExp(logs), logs)
	return logs
}

// AnswerDag runs vti dag on a problem in the directory dir, and compares the answer with the truth
// or an exact answer.
func AnswerDag(ctx context.Context, device *gpu.Device, p *DagProblem, seed uint64, dir string) (*Replicate, error) {
	return answer(ctx, p.About, p.CSV, seed, dir, p.command("dag", seed), func(t *table.Table, work string) (*reply, error) {
		data, err := dag.NewData(t, p.Record.Columns)
		if err != nil {
			return nil, refusal{err}
		}
		problem, err := dag.NewProblem(data, p.Record.Model, p.Record.Constraints)
		if err != nil {
			return nil, refusal{err}
		}
		method, err := problem.Resolve(p.Record.Structure)
		if err != nil {
			return nil, refusal{err}
		}
		result, err := runDag(ctx, device, problem, method, &p.Record, seed, work)
		if err != nil {
			return nil, err
		}
		certificate := result.Certificate
		return p.checked(ctx, &reply{
			kind:    fmt.Sprintf("%v by %v", problem.Model.Mechanism, method),
			verdict: certificate.Verdict, reasons: certificate.Reasons, check: result.ModelCheck,
		}, problem, result, work), nil
	})
}

func runDag(ctx context.Context, device *gpu.Device, problem *dag.Problem, method dag.Method, record *dag.Record, seed uint64, work string) (*dag.Result, error) {
	switch {
	case problem.Model.Mechanism == dag.MLP && method != dag.GraphFlow:
		return dag.RunParticles(ctx, problem, dag.ParticlesConfig{Chains: method == dag.Chains, Islands: record.Islands, Seed: seed, Dir: work})
	case method == dag.Chains:
		chains := dag.ChainConfig{Chains: record.Chains, Rounds: record.Rounds, Candidates: record.Candidates, Seed: seed}
		return dag.RunGraphChains(ctx, problem, dag.GraphChainsConfig{Chains: chains, Dir: work})
	case method == dag.GraphFlow:
		replicate := *record
		replicate.Seed = seed
		return dag.RunGraphFlow(ctx, device, problem, dag.RunConfig{Fit: replicate.FitConfig(problem), Draws: replicate.Draws, Dir: work})
	}
	return dag.RunExact(ctx, problem, dag.ExactConfig{Command: "dag", Seed: seed, Dir: work})
}

// judgeDag notes the rank of the true weight of one edge, chosen at random, and which edges are in
// the true graph.
func judgeDag(r *Replicate, parents []int, weights *mat.Dense, p *dag.Problem, result *dag.Result, run string, random *rand.Rand) error {
	if r.Verdict != trusted {
		return nil
	}
	place := func(name string) int { return slices.Index(p.Data.Names, name) }
	for _, e := range result.Edges {
		from, to := place(e.From), place(e.To)
		r.Events = append(r.Events,
			Event{"edge", e.Prob, parents[to]>>from&1 == 1},
			Event{"edge", e.ProbReverse, parents[from]>>to&1 == 1})
	}
	sample, err := draws.Read(filepath.Join(run, effects.DrawsFile))
	if err != nil {
		return err
	}
	// The edge is chosen among all pairs of nodes, and not only among the true edges. A choice
	// among true edges would give more weight to graphs of few edges, unlike the posterior given
	// that the graph contains the edge.
	from, to := random.IntN(p.Data.Nodes()), random.IntN(p.Data.Nodes()-1)
	if to >= from {
		to++
	}
	if parents[to]>>from&1 == 0 {
		return nil
	}
	name := p.Data.Names[from] + "->" + p.Data.Names[to]
	site, column := slices.Index(sample.Sites, name), slices.Index(sample.Coordinates, name)
	if site < 0 || column < 0 {
		return nil // no draw has the edge
	}
	r.rank("weight", weights.At(from, to), sample, func(draw int) float64 { return sample.Values(draw)[column] }, func(draw int) bool { return sample.Code(draw)[site] == 1 }, random)
	return nil
}

// The parameters of the BGe prior of vti dag: α_μ, α_w − N with N the number of nodes, and t
// (Geiger and Heckerman 2002; Kuipers, Moffa and Heckerman 2014). They are written down again here
// so that an error in the tested program is not repeated. The column of a node with k parents is a
// regression with noise variance σ² and weights w:
//
//	σ² ~ IG((α_w − N + k + 1)/2, t/2),  w | σ² ~ N(0, σ²/t I),  intercept | σ² ~ N(0, σ²/α_μ).
const (
	BGeMean    = 1.0
	BGeDegrees = 2.0
	BGeScale   = 0.5
)

// drawBGe draws the column of a node and its regression weights. The argument effects holds the
// columns of the regression (see [MixedColumn.Effects]). The argument numbers is the number of
// numeric parents.
func drawBGe(effects [][]float64, numbers, rows int, random *rand.Rand) (column, weights []float64) {
	shape := (BGeDegrees + float64(numbers) + 1) / 2
	sigma := math.Sqrt(BGeScale / 2 / distuv.Gamma{Alpha: shape, Beta: 1, Src: random}.Rand())
	level := sigma / math.Sqrt(BGeMean) * random.NormFloat64()
	return drawLinear(effects, rows, level, sigma, sigma/math.Sqrt(BGeScale), random)
}

// Acyclic returns all acyclic graphs over the given number of nodes. A graph is the list of the
// parent sets of its nodes; a set is a bit mask.
func Acyclic(nodes int) (graphs [][]int) {
	parents := make([]int, nodes)
	for _, code := range space.All(slices.Repeat([]int{1 << (nodes - 1)}, nodes)) {
		for j, others := range code { // a set of the other nodes; node j is inserted before its bit j
			before := int(others) & (1<<j - 1)
			parents[j] = before | (int(others)-before)<<1
		}
		if Topological(parents) != nil {
			graphs = append(graphs, slices.Clone(parents))
		}
	}
	return graphs
}

// Topological returns the nodes of a graph in an order in which every node comes after its parents.
// It returns nil if there is a cycle.
func Topological(parents []int) []int {
	var order []int
	placed := 0
	for len(order) < len(parents) {
		before := len(order)
		for j, set := range parents {
			if placed>>j&1 == 0 && set&^placed == 0 {
				order = append(order, j)
				placed |= 1 << j
			}
		}
		if len(order) == before {
			return nil
		}
	}
	return order
}

// Members returns the elements of a list whose indices are in a set, a bit mask.
func Members[T any](list []T, set int) []T {
	return distinct.At(list, apply.Where(len(list), func(i int) bool { return set>>i&1 == 1 }))
}
