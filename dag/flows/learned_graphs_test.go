package flows

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/testkit"
)

// orderedRows are the rows (family, nodes before) of all pairs of an order and a graph along it
// that a structure allows: N consecutive ones for each pair.
func orderedRows(m *LearnedGraphs) (codes [][]int32) {
	nodes := m.structure.Nodes
	var extend func(set int, rows [][]int32)
	extend = func(set int, rows [][]int32) {
		if len(rows) == nodes {
			codes = append(codes, rows...)
			return
		}
		for j := range nodes {
			for parents := range m.sets() {
				f := m.place[j*m.sets()+parents]
				if set>>j&1 == 0 && parents&^set == 0 && f >= 0 {
					extend(set|1<<j, append(rows[:len(rows):len(rows)], []int32{f, int32(set)}))
				}
			}
		}
	}
	extend(0, nil)
	return codes
}

// randomModels are a q(m) over three or four nodes, with logits that are not where it starts.
func randomModels(t *testing.T, s dgraph.Structure, random *rand.Rand) (*LearnedGraphs, *context.Context) {
	require.NoError(t, s.Validate())
	p := &score.Problem{Structure: s, Families: s.Families()}
	pilot := make([]float64, len(p.Families))
	for i := range pilot {
		pilot[i] = random.NormFloat64()
	}
	m, ctx := NewLearnedGraphs(p, pilot), context.New()
	next := make([]float64, m.sets()*s.Nodes)
	for i := range next {
		next[i] = random.NormFloat64()
	}
	family := make([]float64, len(pilot))
	for i := range family {
		family[i] = 0.7 * random.NormFloat64() // no family too rare to be drawn
	}
	ctx.VariableWithValue(familyVariable, family)
	ctx.VariableWithValue(nextVariable, next)
	return m, ctx
}

func testStructures() map[string]dgraph.Structure {
	four := dgraph.FreeStructure(4)
	four.MaxParents = 2
	four.Required[1], four.Allowed[2] = dgraph.SetOf(2), dgraph.SetOf(0, 3)
	four.Prior = dgraph.SparsePrior(4)
	orders := dgraph.FreeStructure(3)
	orders.Orders = true
	return map[string]dgraph.Structure{"graphs": dgraph.FreeStructure(3), "orders": orders, "constraints": four}
}

// q(m) sums to one over all orders and graphs that a structure allows, draws them as often as it
// says, inside graph functions and outside, and at its start is the posterior of the pilot scores.
func TestLearnedGraphs(t *testing.T) {
	backend, random := testkit.Backend(t), rand.New(rand.NewPCG(8, 1))
	for name, s := range testStructures() {
		m, ctx := randomModels(t, s, random)
		nodes, codes := s.Nodes, orderedRows(m)
		output, err := context.ExecOnce(backend, ctx.Checked(false), m.LogProb, codes)
		require.NoError(t, err)
		rows := output.Value().([]float64)
		family, next := ctx.GetVariableByScopeAndName("/", familyVariable), ctx.GetVariableByScopeAndName("/", nextVariable)
		tables := newGraphTables(m, family.MustValue().Value().([]float64), next.MustValue().Value().([]float64))
		start := newGraphTables(m, m.pilotWeights(m.pilot), nil)
		probability := map[string]float64{}
		total, startTotal := 0.0, 0.0
		exact := m.structure
		exact.Orders = true // the prior that q(m) starts from
		logTotal := exact.Sum(m.families, m.pilot, func(int, int) bool { return true }).LogTotal()
		for at := 0; at < len(codes); at += nodes {
			families, before := make([]int, nodes), make([]int, nodes)
			logProb, weight := 0.0, 0.0
			for row := at; row < at+nodes; row++ {
				f := codes[row][0]
				families[m.node[f]], before[m.node[f]] = int(f), int(codes[row][1])
				logProb += rows[row]
				weight += m.pilot[f] + m.prior[f]
			}
			require.InDelta(t, logProb, tables.logProb(families, before), 1e-9, name)
			require.InDelta(t, weight-logTotal, start.logProb(families, before), 1e-9, name)
			probability[keyOf(families, before)] = math.Exp(logProb)
			total += math.Exp(logProb)
			startTotal += math.Exp(start.logProb(families, before))
		}
		require.InDelta(t, 1, total, 1e-9, name)
		require.InDelta(t, 1, startTotal, 1e-9, name)

		const draws = 20_000
		uniforms := make([][]float64, draws*nodes)
		for i := range uniforms {
			uniforms[i] = []float64{random.Float64(), random.Float64()}
		}
		output, err = context.ExecOnce(backend, ctx.Checked(false), m.Sample, uniforms)
		require.NoError(t, err)
		inside, outside := map[string]float64{}, map[string]float64{}
		drawn := output.Value().([][]int32)
		for at := 0; at < len(drawn); at += nodes {
			families, before := make([]int, nodes), make([]int, nodes)
			for _, code := range drawn[at : at+nodes] {
				families[m.node[code[0]]], before[m.node[code[0]]] = int(code[0]), int(code[1])
			}
			inside[keyOf(families, before)]++
			tables.draw(random, families, before)
			outside[keyOf(families, before)]++
		}
		// Pearson's statistic is within 5 of its standard deviations: a false alarm in 10^6
		for _, counts := range []map[string]float64{inside, outside} {
			statistic, cells, rest, restCount := 0.0, 0.0, 1.0, float64(draws)
			for key, p := range probability {
				if p*draws >= 10 {
					statistic += score.Square(counts[key]-p*draws) / (p * draws)
					rest, restCount, cells = rest-p, restCount-counts[key], cells+1
				}
			}
			statistic += score.Square(restCount-rest*draws) / max(rest*draws, 1)
			require.Less(t, statistic, cells+5*math.Sqrt(2*cells), name)
		}
	}
}

func keyOf(families, before []int) string {
	key := make([]byte, 0, 2*len(families))
	for j := range families {
		key = append(key, byte(families[j]), byte(before[j]))
	}
	return string(key)
}

// The gradient of q(m) averages to the exact one, from a sum over all orders and graphs, within its
// own standard errors (largest of 36 to 108 z below 4.5: a false alarm in 1,500), with expected
// losses that are far off and learned on the way; and a score function that credits every choice
// with the whole loss, less the mean of the other graphs, needs many times the draws.
func TestScoreLossOfGraphs(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	backend, random := device.Backend(), rand.New(rand.NewPCG(9, 1))
	for name, s := range testStructures() {
		m, ctx := randomModels(t, s, random)
		ctx = ctx.Checked(false)
		means := make([]float64, len(m.families)) // of log h
		for i := range means {
			means[i] = 3 * random.NormFloat64()
		}
		codes := orderedRows(m)
		exact := gradientOf(t, backend, ctx, func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
			logQ := graph.ReduceSum(graph.Reshape(m.LogProb(ctx, codes), -1, s.Nodes), 1)
			return graph.ReduceAllSum(graph.Mul(graph.Exp(logQ), m.lossOfGraphs(codes, logH, logQ)))
		})(codes, lossesOf(m, codes, means, nil))
		const graphs, batches = 16, 600
		sample, err := context.NewExec(backend, ctx, m.Sample)
		require.NoError(t, err)
		own := gradientOf(t, backend, ctx, func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
			scalar, _, _ := m.ScoreLoss(ctx, codes, logH)
			return scalar
		})
		plain := gradientOf(t, backend, ctx, func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
			logQ := graph.ReduceSum(graph.Reshape(m.LogProb(ctx, codes), -1, s.Nodes), 1)
			loss := leaveOneOut(graph.InsertAxes(graph.StopGradient(m.lossOfGraphs(codes, logH, logQ)), -1))
			return graph.ReduceAllMean(graph.Mul(graph.Squeeze(loss, -1), logQ))
		})
		estimates := [2][][]float64{}
		for range batches {
			uniforms := make([][]float64, graphs*s.Nodes)
			for i := range uniforms {
				uniforms[i] = []float64{random.Float64(), random.Float64()}
			}
			output, err := sample.Exec(uniforms)
			require.NoError(t, err)
			drawn := output[0].Value().([][]int32)
			logH := lossesOf(m, drawn, means, random)
			estimates[0] = append(estimates[0], own(drawn, logH))
			estimates[1] = append(estimates[1], plain(drawn, logH))
		}
		worst, variance := 0.0, [2]float64{}
		for k := range exact {
			for kind, draws := range estimates {
				column := make([]float64, batches)
				for b, draw := range draws {
					column[b] = draw[k]
				}
				mean, sd := stat.MeanStdDev(column, nil)
				half := column[batches/2:] // when expected losses are known
				variance[kind] += stat.Variance(half, nil)
				if kind == 0 && sd > 1e-9 {
					worst = max(worst, math.Abs(mean-exact[k])/(sd/math.Sqrt(batches)))
				}
			}
		}
		t.Logf("%s: worst z %.2f, variance %.3g, plain %.3g, ratio %.0f", name, worst, variance[0], variance[1], variance[1]/variance[0])
		require.Less(t, worst, 4.5, name)
		require.Greater(t, variance[1]/variance[0], 5.0, name)
	}
}

// lossesOf are log h of rows: the mean of the family, and noise of sd 0.3 unless random is nil.
func lossesOf(m *LearnedGraphs, codes [][]int32, means []float64, random *rand.Rand) []float64 {
	logH := make([]float64, len(codes))
	for i, code := range codes {
		logH[i] = means[code[0]]
		if random != nil {
			logH[i] += 0.3 * random.NormFloat64()
		}
	}
	return logH
}

// lossOfGraphs is what ScoreLoss says in words, written out: codes [G·N,2], logH [G·N], logQ [G].
func (m *LearnedGraphs) lossOfGraphs(codes, logH, logQ *graph.Node) *graph.Node {
	family := column(codes, 0)
	rows := graph.Sub(logH, gather(graph.Const(codes.Graph(), m.prior), family))
	loss := graph.Add(logQ, graph.ReduceSum(graph.Reshape(rows, -1, m.structure.Nodes), 1))
	if !m.structure.Orders {
		loss = graph.Add(loss, graph.Log(dgraph.CountOrders(m.adjacency(family, logQ.Shape().Dim(0)))))
	}
	return loss
}

// gradientOf is the gradient of a scalar with respect to all logits of q(m).
func gradientOf(t *testing.T, backend backends.Backend, ctx *context.Context, scalar func(ctx *context.Context, codes, logH *graph.Node) *graph.Node) func(codes [][]int32, logH []float64) []float64 {
	exec, err := context.NewExec(backend, ctx, func(ctx *context.Context, codes, logH *graph.Node) []*graph.Node {
		value := scalar(ctx, codes, logH)
		g := codes.Graph()
		return graph.Gradient(value, ctx.GetVariableByScopeAndName("/", familyVariable).ValueGraph(g), ctx.GetVariableByScopeAndName("/", nextVariable).ValueGraph(g))
	})
	require.NoError(t, err)
	return func(codes [][]int32, logH []float64) []float64 {
		outputs, err := exec.Exec(codes, logH)
		require.NoError(t, err)
		return append(outputs[0].Value().([]float64), outputs[1].Value().([]float64)...)
	}
}
