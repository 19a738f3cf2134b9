package flows

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// The log joint density of data and parameters agrees with loops over rows, for every family (a
// node with a set of parents) and mechanism.
func TestLogJointAgainstALoop(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, p := range problems(t) {
		mechanism := MechanismOf(p)
		target := NewNodeTarget(mechanism)
		var codes [][]int32
		var theta [][]float64
		for _, f := range p.Families {
			row := make([]float64, mechanism.Dim())
			for k := range row {
				row[k] = random.NormFloat64()
			}
			codes, theta = append(codes, codeOf(3, f)), append(theta, row)
		}
		output, err := graph.ExecOnce(backend, func(codes, theta *graph.Node) *graph.Node {
			return target.LogJoint(codes, target.Space().(*familySpace).Mask(codes), theta)
		}, codes, theta)
		require.NoError(t, err, name)
		values := output.Value().([]float64)
		for f, family := range p.Families {
			require.InDelta(t, naiveLogJoint(p, family, theta[f]), values[f], 1e-8*(1+math.Abs(values[f])), name)
		}
	}
}

// For every family (a node with a set of parents), the mask marks the parameters that the family
// uses in the layout of the parameters. The inputs of the flow's networks mark the node and the
// parents of the family.
func TestSpaceOfFamilies(t *testing.T) {
	backend := testkit.Backend(t)
	for name, p := range problems(t) {
		sp := &familySpace{MechanismOf(p)}
		require.Equal(t, []int{3, 2, 2, 2}, sp.Cards())
		for _, f := range p.Families {
			outputs, err := graph.MustNewExec(backend, func(codes *graph.Node) (*graph.Node, *graph.Node) {
				return sp.Mask(codes), sp.Features(codes, dtypes.Float64)
			}).Exec([][]int32{codeOf(3, f)})
			require.NoError(t, err)
			require.Equal(t, p.Layout().Mask(f), outputs[0].Value().([][]bool)[0], name)
			want := make([]float64, 6)
			want[f.Node] = 1
			for i := range f.Parents.Nodes() {
				want[3+i] = 1
			}
			require.Equal(t, want, outputs[1].Value().([][]float64)[0], name)
		}
	}
}

// With known noise the quadratic approximation for a linear mechanism is exact: the log density is
// its value at the mode μ less ½ (θ−μ)ᵀH(θ−μ). With unknown noise it is exact in the weights if σ
// has its value at the mode. This value is near the largest marginal density of log σ, and the
// curvature in log σ is near the curvature of this density.
func TestQuadraticsOfLinearFamilies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	backend := testkit.Backend(t)
	for _, sigma := range []float64{0.7, 0} {
		p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.Linear, Sigma: sigma}, tables.Constraints{})
		require.NoError(t, err)
		target, l := NewNodeTarget(MechanismOf(p)), p.Layout()
		for _, family := range p.Families {
			outputs, err := graph.MustNewExec(backend, func(codes *graph.Node) (h, b, mode *graph.Node) {
				mask := target.Space().(*familySpace).Mask(codes)
				h, b = target.(vti.QuadraticTarget).Quadratic(codes, mask, dtypes.Float64)
				return h, b, cosmic.Mode(mask, h, b)
			}).Exec([][]int32{codeOf(3, family)})
			require.NoError(t, err)
			precision, mode := outputs[0].Value().([][][]float64)[0], outputs[2].Value().([][]float64)[0]
			parents := family.Parents.List()
			moved := func(logSigma float64, weights []float64) float64 {
				theta := append([]float64(nil), mode...)
				for k, i := range parents {
					theta[i] += weights[k]
				}
				if sigma == 0 {
					theta[l.Weights()] += logSigma
				}
				return naiveLogJoint(p, family, theta)
			}
			zero, weights, quadratic := make([]float64, len(parents)), make([]float64, len(parents)), 0.0
			for k := range parents {
				weights[k] = random.NormFloat64()
			}
			for a, i := range parents {
				for b, k := range parents {
					quadratic += weights[a] * precision[i][k] * weights[b] / 2
				}
			}
			require.InDelta(t, quadratic, moved(0, zero)-moved(0, weights), 1e-6*(1+quadratic))
			if sigma > 0 {
				continue
			}
			posterior, err := p.LinearForm(family.Node).Family(family.Parents)
			require.NoError(t, err)
			peak, curvature := posterior.Peak()
			require.InDelta(t, peak, mode[l.Weights()], 0.25/math.Sqrt(curvature))
			require.InEpsilon(t, curvature, precision[l.Weights()][l.Weights()], 0.1)
		}
	}
}

// With the output layer integrated out, the density of a node agrees with a normal density of all
// rows, whose covariance contains the outputs of the hidden units. Its gradient agrees with finite
// differences.
func TestCollapsedNetworks(t *testing.T) {
	device, err := gpu.Open(gpu.CPU) // a backend that can differentiate slices
	require.NoError(t, err)
	defer device.Close()
	random := rand.New(rand.NewPCG(5, 6))
	for name, p := range problems(t) {
		if p.Model.Mechanism != sem.MLP {
			continue
		}
		mechanism := Collapsed{NewAdditive(p)}
		target := NewNodeTarget(mechanism)
		density := graph.MustNewExec(device.Backend(), func(codes, theta *graph.Node) (*graph.Node, *graph.Node, *graph.Node) {
			mask := target.Space().(*familySpace).Mask(codes)
			value := target.LogJoint(codes, mask, theta)
			return value, graph.Gradient(graph.ReduceAllSum(value), theta)[0], mask
		})
		for _, family := range p.Families {
			theta := make([]float64, mechanism.Dim())
			for k := range theta {
				theta[k] = random.NormFloat64()
			}
			outputs, err := density.Exec([][]int32{codeOf(3, family)}, [][]float64{theta})
			require.NoError(t, err)
			value, gradient, mask := outputs[0].Value().([]float64)[0], outputs[1].Value().([][]float64)[0], outputs[2].Value().([][]bool)[0]
			require.InDelta(t, naiveCollapsed(p, family, theta), value, 1e-7*(1+math.Abs(value)), name)
			for k, on := range mask {
				const step = 1e-5
				up, down := append([]float64(nil), theta...), append([]float64(nil), theta...)
				up[k], down[k] = up[k]+step, down[k]-step
				slope := (naiveCollapsed(p, family, up) - naiveCollapsed(p, family, down)) / (2 * step)
				if !on {
					slope = 0
				}
				require.InDelta(t, slope, gradient[k], 1e-3*(1+math.Abs(slope)), name)
			}
		}
	}
}
