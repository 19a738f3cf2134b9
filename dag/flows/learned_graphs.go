package flows

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
)

// LearnedGraphs is q(m), a distribution over orders of the nodes and graphs along them that is
// learned with the flow. It is autoregressive and masked by the order: at every position
//
//	the next node v     with probability ∝ exp γ_S,v among those not in S, the nodes so far,
//	its parents pa ⊂ S  with probability ∝ exp s_v,pa, bit by bit.
//
// With γ and s free it contains every posterior under the prior over orders. A graph takes N rows
// of a batch, one for each position, with the codes (family, S): log q(m) is the sum of what
// LogProb says of its rows.
//
// q(m) starts where the posterior over orders and graphs would be if pilot scores were evidences.
type LearnedGraphs struct {
	structure dgraph.Structure
	families  []dgraph.Family
	place     []int32   // of the family of node j with the parents pa, at j·2^N + pa; −1: none
	node      []int32   // [F]
	prior     []float64 // log prior weights [F]
	pilot     []float64 // scores [F]
	logMass   float64   // of the prior
}

var _ vti.GroupedModels = (*LearnedGraphs)(nil)

// NewLearnedGraphs is q(m) for the families of a problem with their pilot scores [F].
func NewLearnedGraphs(p *score.Problem, pilot []float64) *LearnedGraphs {
	s := p.Structure
	m := &LearnedGraphs{structure: s, families: p.Families, pilot: pilot, place: make([]int32, s.Nodes<<s.Nodes)}
	for i := range m.place {
		m.place[i] = -1
	}
	for i, f := range p.Families {
		m.place[f.Node<<s.Nodes|int(f.Parents[0])] = int32(i)
		m.node = append(m.node, int32(f.Node))
		m.prior = append(m.prior, s.Prior.LogWeight(f.Node, f.Parents))
	}
	m.logMass = s.Sum(p.Families, make([]float64, len(p.Families)), func(int, int) bool { return true }).LogTotal()
	return m
}

// String says what a checkpoint has to share.
func (m *LearnedGraphs) String() string { return "orders and graphs" }

// Rows implements vti.GroupedModels.
func (m *LearnedGraphs) Rows() int { return m.structure.Nodes }

// sets is the number of sets of nodes.
func (m *LearnedGraphs) sets() int { return 1 << m.structure.Nodes }

// impossible is the log weight of what cannot be, such that sums and differences of it are finite.
const impossible = -1e200

// Names of the variables of q(m).
const (
	familyVariable   = "family"   // s [F]
	nextVariable     = "next"     // γ [2^N·N]
	expectedVariable = "expected" // what the loss of a family is expected to be [F]
	pilotVariable    = "pilot"    // scores that q(m) started from [F]
)

// logits are s and γ.
func (m *LearnedGraphs) logits(ctx *vti.Context, g *graph.Graph) (family, next *graph.Node) {
	ctx = ctx.Checked(false)
	start := newGraphTables(m, m.pilotWeights(m.pilot), nil)
	family = ctx.VariableWithValue(familyVariable, m.pilotWeights(m.pilot)).ValueGraph(g)
	next = ctx.VariableWithValue(nextVariable, start.nextByScores()).ValueGraph(g)
	ctx.VariableWithValue(pilotVariable, m.pilot).SetTrainable(false).ValueGraph(g)
	return family, next
}

// pilotWeights are log weights of families: score and prior.
func (m *LearnedGraphs) pilotWeights(scores []float64) []float64 {
	weights := make([]float64, len(scores))
	for i, score := range scores {
		weights[i] = score + m.prior[i]
	}
	return weights
}

// startsAfter reports whether a node can come next after a set of nodes: it is none of them, and
// all that must be its parents are.
func (m *LearnedGraphs) startsAfter(set, j int) bool {
	return set>>j&1 == 0 && m.structure.Required[j][0]&^uint64(set) == 0
}

// graphLogits are the distributions of q(m) inside a graph function.
type graphLogits struct {
	family *graph.Node // s [F]
	next   *graph.Node // log q(v | S) [2^N, N]
	// partial[k] is log Σ exp s_j,pa over the sets pa that have the members of X from bit k on, and
	// below only members of X, at j·2^N + X: those of partial[N] are all subsets of X [N·2^N].
	partial []*graph.Node
}

// bind makes them for the present values of the variables.
func (m *LearnedGraphs) bind(ctx *vti.Context, g *graph.Graph) *graphLogits {
	nodes := m.structure.Nodes
	family, next := m.logits(ctx, g)
	possible := make([][]bool, m.sets())
	for set := range possible {
		possible[set] = make([]bool, nodes)
		for j := range nodes {
			possible[set][j] = m.startsAfter(set, j)
		}
	}
	next = graph.Reshape(next, m.sets(), nodes)
	next = graph.Where(graph.Const(g, possible), next, graph.MulScalar(graph.OnesLike(next), impossible))
	peak := graph.StopGradient(graph.ReduceAndKeep(next, graph.ReduceMax, -1))
	next = graph.Sub(next, graph.Add(peak, graph.Log(graph.ReduceAndKeep(graph.Exp(graph.Sub(next, peak)), graph.ReduceSum, -1))))
	l := &graphLogits{family: family, next: next}
	l.partial = []*graph.Node{m.bySet(family, impossible)}
	for k := range nodes {
		without, with := halves(l.partial[k], k)
		l.partial = append(l.partial, rejoined(l.partial[k], without, logAdd(without, with)))
	}
	return l
}

// bySet spreads values [F] over nodes and sets of parents [N·2^N], with a value for what is no
// family.
func (m *LearnedGraphs) bySet(values *graph.Node, none float64) *graph.Node {
	g := values.Graph()
	at, there := make([]int32, len(m.place)), make([]bool, len(m.place))
	for i, place := range m.place {
		at[i], there[i] = max(place, 0), place >= 0
	}
	spread := gather(values, graph.Const(g, at))
	return graph.Where(graph.Const(g, there), spread, graph.MulScalar(graph.OnesLike(spread), none))
}

// halves splits a table over sets by whether they have node k: [·2^N] -> [·, 1, 2^k] each.
func halves(table *graph.Node, k int) (without, with *graph.Node) {
	split := graph.Reshape(table, -1, 2, 1<<k)
	return graph.SliceAxis(split, 1, graph.AxisRange(0, 1)), graph.SliceAxis(split, 1, graph.AxisRange(1, 2))
}

// rejoined is a table like another from halves.
func rejoined(like, without, with *graph.Node) *graph.Node {
	return graph.Reshape(graph.Concatenate([]*graph.Node{without, with}, 1), like.Shape().Dimensions...)
}

// logAdd is log(exp a + exp b) of finite numbers.
func logAdd(a, b *graph.Node) *graph.Node {
	peak := graph.StopGradient(graph.Max(a, b))
	return graph.Add(peak, graph.Log(graph.Add(graph.Exp(graph.Sub(a, peak)), graph.Exp(graph.Sub(b, peak)))))
}

// gather picks values [L] at index [R] int32 -> [R].
func gather(values, index *graph.Node) *graph.Node {
	return graph.Gather(values, graph.InsertAxes(index, -1))
}

// column is a site of codes [R,2] -> [R].
func column(codes *graph.Node, site int) *graph.Node {
	return graph.Squeeze(graph.SliceAxis(codes, 1, graph.AxisElem(site)), 1)
}

// logProbs are log q(v | S) and log q(pa | v, S) of rows: codes [R,2] -> [R] each.
func (m *LearnedGraphs) logProbs(l *graphLogits, codes *graph.Node) (next, parents *graph.Node) {
	g, nodes := codes.Graph(), m.structure.Nodes
	family, before := column(codes, 0), column(codes, 1)
	node := gather(graph.Const(g, m.node), family)
	next = gather(graph.Reshape(l.next, -1), graph.Add(graph.MulScalar(before, nodes), node))
	all := gather(l.partial[nodes], graph.Add(graph.MulScalar(node, m.sets()), before))
	return next, graph.Sub(gather(l.family, family), all)
}

// LogProb is the part of rows in log q(m): codes [R,2] int32 -> [R] float64.
func (m *LearnedGraphs) LogProb(ctx *vti.Context, codes *graph.Node) *graph.Node {
	next, parents := m.logProbs(m.bind(ctx, codes.Graph()), codes)
	return graph.Add(next, parents)
}

// Sample draws graphs, N consecutive rows each: uniforms [G·N,2] -> codes [G·N,2] int32.
func (m *LearnedGraphs) Sample(ctx *vti.Context, uniforms *graph.Node) *graph.Node {
	g, nodes := uniforms.Graph(), m.structure.Nodes
	l := m.bind(ctx, g)
	graphs := uniforms.Shape().Dim(0) / nodes
	uniforms = graph.Reshape(uniforms, graphs, nodes, 2)
	uniform := func(position, site int) *graph.Node {
		one := graph.SliceAxis(uniforms, 1, graph.AxisElem(position))
		return graph.Reshape(graph.SliceAxis(one, 2, graph.AxisElem(site)), graphs)
	}
	upTo := make([][]float64, nodes) // sums of all up to a node
	powers := make([]int32, nodes)
	for i := range nodes {
		upTo[i], powers[i] = make([]float64, nodes), 1<<i
		for j := i; j < nodes; j++ {
			upTo[i][j] = 1
		}
	}
	before := graph.Zeros(g, shapes.Make(dtypes.Int32, graphs))
	members := graph.Zeros(g, shapes.Make(dtypes.Int32, graphs, nodes)) // of before, 0 and 1
	var rows []*graph.Node
	for position := range nodes {
		sums := graph.Dot(graph.Exp(graph.Gather(l.next, graph.InsertAxes(before, -1))), graph.Const(g, upTo))
		total := graph.SliceAxis(sums, 1, graph.AxisElem(nodes-1))
		below := graph.LessOrEqual(sums, graph.Mul(total, graph.InsertAxes(uniform(position, 0), -1)))
		node := graph.MinScalar(graph.ReduceSum(graph.ConvertDType(below, dtypes.Int32), 1), nodes-1)
		parents := m.sampleParents(l, node, before, members, uniform(position, 1))
		family := gather(graph.Const(g, m.place), graph.Add(graph.MulScalar(node, m.sets()), parents))
		rows = append(rows, graph.Stack([]*graph.Node{graph.MaxScalar(family, 0), before}, 1))
		before = graph.Add(before, gather(graph.Const(g, powers), node))
		own := graph.Equal(graph.InsertAxes(node, -1), graph.Iota(g, shapes.Make(dtypes.Int32, 1, nodes), 1))
		members = graph.Add(members, graph.ConvertDType(own, dtypes.Int32))
	}
	return graph.StopGradient(graph.Reshape(graph.Stack(rows, 1), graphs*nodes, 2))
}

// sampleParents draws sets of parents of nodes [G] among those before them [G], whose bits are
// members [G,N], from the highest bit to the lowest. What is left of a uniform number after a bit
// is one for the next.
func (m *LearnedGraphs) sampleParents(l *graphLogits, node, before, members, uniform *graph.Node) *graph.Node {
	parents, start := before, graph.MulScalar(node, m.sets())
	one := graph.OnesLike(uniform)
	for k := m.structure.Nodes - 1; k >= 0; k-- {
		at := graph.Add(start, parents)
		has := graph.GreaterThan(column(members, k), graph.ZerosLike(before))
		with := graph.Exp(graph.Sub(gather(l.partial[k], at), gather(l.partial[k+1], at)))
		with = graph.Where(has, with, one) // else there is nothing to choose
		taken := graph.LessThan(uniform, with)
		rest := graph.Where(taken, uniform, graph.Sub(uniform, with))
		uniform = graph.MinScalar(graph.Div(rest, graph.Where(taken, with, graph.Sub(one, with))), math.Nextafter(1, 0))
		parents = graph.Where(taken, parents, graph.AddScalar(parents, -(1<<k)))
	}
	return parents
}

// TrainingOfGraphs is the training of the flow and of q(m) on the rows of graphs.
func TrainingOfGraphs(p *score.Problem, fit vti.Config, models *LearnedGraphs) vti.Config {
	fit = MadeTraining(p, fit)
	fit.Batch = max(fit.Batch, 2) * models.Rows() // each graph is compared with others
	fit.Models, fit.ModelStep = models, madeModelStep
	// entropies of rows are not those of graphs; the variance of the gradient is small instead
	fit.InformationGain = math.Inf(1)
	return fit
}

// madeModelStep is the rate of Adam on q(m), 0.02 on its logits, as a multiple of that of the
// engine. Chosen by hand.
const madeModelStep = 40

// MadeTraining fills in what the problem decides of the training of RunMade where fit leaves it
// open. Batch is the number of graphs.
func MadeTraining(p *score.Problem, fit vti.Config) vti.Config {
	setByMechanism(p, &fit.Steps, 300, 1000)
	setByMechanism(p, &fit.Batch, 128, 32) // a draw of networks costs a pass over the data
	return fit
}
