package flows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// allRows returns the codes of all pairs of an order and an allowed graph along it.
func allRows(s dgraph.Structure) (codes [][]int32) {
	families := s.Families()
	var extend func(before dgraph.Set, rows [][]int32)
	extend = func(before dgraph.Set, rows [][]int32) {
		if len(rows) == s.Nodes {
			codes = append(codes, rows...)
			return
		}
		for _, f := range families {
			if !before.Has(f.Node) && f.Parents.Within(before) {
				extend(before.With(f.Node), append(rows[:len(rows):len(rows)], codeOf(s.Nodes, f)))
			}
		}
	}
	extend(dgraph.Set{}, nil)
	return codes
}

// randomGraphModels returns a distribution of graphs whose networks have random weights.
func randomGraphModels(t *testing.T, backend backends.Backend, s dgraph.Structure, random *rand.Rand) (*GraphModels, *context.Context) {
	require.NoError(t, s.Validate())
	m, err := NewGraphModels(s, 8, 3)
	require.NoError(t, err)
	ctx := context.New()
	var rows [][]int32
	for j := range s.Nodes {
		rows = append(rows, codeOf(s.Nodes, dgraph.Family{Node: j}))
	}
	_, err = context.ExecOnce(backend, ctx.Checked(false), m.LogProb, rows)
	require.NoError(t, err)
	for variable := range ctx.IterVariables() {
		value := variable.MustValue()
		value.MustMutableFlatData(func(flat any) {
			for i := range flat.([]float32) {
				flat.([]float32)[i] += float32(0.5 * random.NormFloat64())
			}
		})
	}
	return m, ctx.Checked(false)
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

func keyOfRows(rows [][]int32) string { return space.Key(slices.Concat(rows...)) }

// The probabilities of a learned distribution of graphs sum to one over all pairs of an order and
// an allowed graph along it, and agree with the frequencies of its draws.
func TestGraphModels(t *testing.T) {
	backend := testkit.Backend(t)
	for name, s := range testStructures() {
		random := rand.New(rand.NewPCG(8, uint64(len(name))))
		m, ctx := randomGraphModels(t, backend, s, random)
		nodes, codes := s.Nodes, allRows(s)
		output, err := context.ExecOnce(backend, ctx, m.LogProb, codes)
		require.NoError(t, err)
		rows, total := output.Value().([]float64), 0.0
		probability := map[string]float64{}
		for at := 0; at < len(codes); at += nodes {
			sum := 0.0
			for _, row := range rows[at : at+nodes] {
				sum += row
			}
			probability[keyOfRows(codes[at:at+nodes])] = math.Exp(sum)
			total += math.Exp(sum)
		}
		require.InDelta(t, 1, total, 1e-6, name)

		const draws = 6_000
		uniforms := make([][]float64, draws*nodes)
		for i := range uniforms {
			for range nodes + 1 {
				uniforms[i] = append(uniforms[i], random.Float64())
			}
		}
		output, err = context.ExecOnce(backend, ctx, m.Sample, uniforms)
		require.NoError(t, err)
		drawn, shares := output.Value().([][]int32), map[string]float64{}
		for at := 0; at < len(drawn); at += nodes {
			shares[keyOfRows(drawn[at:at+nodes])] += 1.0 / draws
		}
		for key, share := range shares {
			require.Contains(t, probability, key, name)
			// draws come in groups of four graphs along one order, which count as one draw at worst
			se := math.Sqrt(probability[key] * (1 - probability[key]) * 4 / draws)
			require.InDelta(t, probability[key], share, 5*se+1e-9, name)
		}
	}
}

// For few nodes, the mean gradient of ScoreLoss over batches agrees with the gradient of the
// expected loss, a sum over all orders and graphs. For seven nodes the gradient has a smaller
// variance than a gradient in which the log probability of a graph multiplies its total loss.
func TestScoreLossOfGraphModels(t *testing.T) {
	testkit.Long(t)
	backend := testkit.Backend(t)
	structures := testStructures()
	structures["seven nodes"] = dgraph.FreeStructure(7)
	for name, s := range structures {
		random := rand.New(rand.NewPCG(4, uint64(len(name))))
		m, ctx := randomGraphModels(t, backend, s, random)
		nodes, means := s.Nodes, map[string]float64{}
		logH := func(codes [][]int32) (out []float64) {
			for _, code := range codes {
				if _, known := means[space.Key(code)]; !known {
					means[space.Key(code)] = 3 * random.NormFloat64()
				}
				out = append(out, means[space.Key(code)])
			}
			return out
		}
		gradientOf := func(scalar func(ctx *context.Context, codes, logH *graph.Node) *graph.Node) func([][]int32) []float64 {
			exec, err := context.NewExec(backend, ctx, func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
				value := scalar(ctx, codes, logH)
				var flat []*graph.Node
				variables := train.VariablesIn(ctx, "", codes.Graph())
				for _, one := range graph.Gradient(value, train.ValuesOf(codes.Graph(), variables)...) {
					flat = append(flat, graph.Reshape(one, -1))
				}
				return graph.Concatenate(flat, 0)
			})
			require.NoError(t, err)
			return func(codes [][]int32) (values []float64) {
				output, err := exec.Exec(codes, logH(codes))
				require.NoError(t, err)
				for _, x := range output[0].Value().([]float32) {
					values = append(values, float64(x))
				}
				return values
			}
		}
		whole := func(ctx *context.Context, codes, logH *graph.Node) (logQ, losses *graph.Node) {
			logQ = graph.ReduceSum(graph.Reshape(m.LogProb(ctx, codes), -1, nodes), 1)
			_, _, losses = m.ScoreLoss(ctx, codes, logH)
			return logQ, graph.StopGradient(losses)
		}
		sum := gradientOf(func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
			logQ, losses := whole(ctx, codes, logH)
			return graph.ReduceAllSum(graph.Mul(graph.StopGradient(graph.Exp(logQ)), graph.Mul(losses, logQ)))
		})
		var exact []float64
		if nodes <= 4 {
			exact = sum(allRows(s))
		}
		controlled := gradientOf(func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
			scalar, _, _ := m.ScoreLoss(ctx, codes, logH)
			return scalar
		})
		plain := gradientOf(func(ctx *context.Context, codes, logH *graph.Node) *graph.Node {
			logQ, losses := whole(ctx, codes, logH)
			return graph.ReduceAllMean(graph.Mul(leaveOneOut(losses, 0), logQ))
		})
		const graphs, batches = 32, 400
		sample, err := context.NewExec(backend, ctx, m.Sample)
		require.NoError(t, err)
		var estimates [2][][]float64
		for range batches {
			uniforms := make([][]float64, graphs*nodes)
			for i := range uniforms {
				for range nodes + 1 {
					uniforms[i] = append(uniforms[i], random.Float64())
				}
			}
			output, err := sample.Exec(uniforms)
			require.NoError(t, err)
			drawn := output[0].Value().([][]int32)
			estimates[0], estimates[1] = append(estimates[0], controlled(drawn)), append(estimates[1], plain(drawn))
		}
		worst, variance := 0.0, [2]float64{}
		for k := range estimates[0][0] {
			column := make([]float64, batches)
			for kind, draws := range estimates {
				for b, draw := range draws {
					column[b] = draw[k]
				}
				mean, sd := stat.MeanStdDev(column, nil)
				variance[kind] += sd * sd
				if kind == 0 && sd > 1e-3 && exact != nil {
					worst = max(worst, math.Abs(mean-exact[k])/(sd/math.Sqrt(batches)))
				}
			}
		}
		t.Logf("%s: worst z %.2f of %d, variance %.3g, plain %.3g", name, worst, len(exact), variance[0], variance[1])
		require.Less(t, worst, 5.0, name)
		if exact == nil {
			require.Less(t, variance[0], variance[1]/1.5, name)
		}
	}
}

// WarmCode returns codes of allowed graphs along an order. If no edges are flipped, the code of a
// graph is decoded to the same graph.
func TestWarmCode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for name, s := range testStructures() {
		possible := map[string]bool{}
		codes := allRows(s)
		for at := 0; at < len(codes); at += s.Nodes {
			possible[keyOfRows(codes[at:at+s.Nodes])] = true
		}
		parents := slices.Clone(s.Required)
		for range 200 {
			code := WarmCode(s, parents, 0.3, false, random)
			require.True(t, possible[space.Key(code)], name)
			undivided := WarmCode(s, parents, 0, true, random)
			g, err := dgraph.NewOrdered(s.Nodes).Graph(undivided)
			require.NoError(t, err)
			require.Equal(t, parents, g.ParentSets(), name)
		}
	}
}
