package flows

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	dgraph "github.com/transdim/vti/dag/graph"
)

// design is the fixed distribution over families that the flow is trained on. It is no
// approximation of a posterior: families of one graph stand side by side, and each has to be fitted
// well whatever its evidence.
type design struct {
	codes [][]int32 // [F][1+N]
	// Alias tables: family k stands for itself below its threshold and for alias[k] above.
	threshold []float64
	alias     []int32
}

// NewDesign gives half of the draws to all families alike, by node and then by the number of
// parents, and half to those that matter by guess: the posterior probabilities of families under
// something cheaper.
func NewDesign(families []dgraph.Family, nodes int, guess []float64) *design {
	type cell struct{ node, size int }
	counts, sizes := map[cell]float64{}, map[int]float64{}
	for _, f := range families {
		c := cell{f.Node, f.Parents.Len()}
		if counts[c] == 0 {
			sizes[f.Node]++
		}
		counts[c]++
	}
	probability, codes := make([]float64, len(families)), make([][]int32, len(families))
	for i, f := range families {
		even := 1 / (float64(len(sizes)) * sizes[f.Node] * counts[cell{f.Node, f.Parents.Len()}])
		probability[i] = even/2 + guess[i]/(2*float64(len(sizes)))
		codes[i] = codeOf(nodes, f)
	}
	d := newAlias(probability)
	d.codes = codes
	return d
}

// newAlias prepares draws in constant time (Walker 1977, in Vose's form). Probabilities must be
// positive; they are normalised.
func newAlias(probability []float64) *design {
	var total float64
	for _, p := range probability {
		total += p
	}
	d := &design{threshold: make([]float64, len(probability)), alias: make([]int32, len(probability))}
	var small, large []int
	for i, p := range probability {
		d.threshold[i], d.alias[i] = p/total*float64(len(probability)), int32(i)
		if d.threshold[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		d.alias[s] = int32(l)
		if d.threshold[l] -= 1 - d.threshold[s]; d.threshold[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range append(small, large...) { // what rounding has left over
		d.threshold[i] = 1
	}
	return d
}

// LogProb is zero, as the prior of a NodeTarget is: the loss is then the mean of −ELBO over the
// families that are drawn. codes [B,1+N] int32 -> [B] float64
func (d *design) LogProb(_ *context.Context, codes *graph.Node) *graph.Node {
	return graph.MulScalar(graph.ConvertDType(nodeOf(codes), dtypes.Float64), 0)
}

// Sample draws families by the first of the uniforms [B,1+N] float64 -> codes [B,1+N] int32.
func (d *design) Sample(_ *context.Context, uniforms *graph.Node) *graph.Node {
	g, families := uniforms.Graph(), len(d.codes)
	scaled := graph.MulScalar(graph.SliceAxis(uniforms, 1, graph.AxisElem(0)), float64(families))
	// [B,1]
	cell := graph.MinScalar(graph.ConvertDType(graph.Floor(scaled), dtypes.Int32), families-1)
	rest := graph.Squeeze(graph.Sub(scaled, graph.ConvertDType(cell, dtypes.Float64)), 1)
	own := graph.LessThan(rest, graph.Gather(graph.Const(g, d.threshold), cell))
	drawn := graph.Where(own, graph.Squeeze(cell, 1), graph.Gather(graph.Const(g, d.alias), cell))
	return graph.StopGradient(graph.Gather(graph.Const(g, d.codes), graph.InsertAxes(drawn, -1)))
}
