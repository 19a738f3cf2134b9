package flows

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/dag/dagtest"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/testkit"
)

// Every family, every kind of mechanism, against loops over rows.
func TestLogJointAgainstALoop(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, p := range problems(t) {
		target := NewTarget(p)
		var codes [][]int32
		var theta [][]float64
		for f := range p.Families {
			row := make([]float64, target.Families.Dim())
			for k := range row {
				row[k] = random.NormFloat64()
			}
			codes, theta = append(codes, []int32{int32(f)}), append(theta, row)
		}
		output, err := graph.ExecOnce(backend, func(codes, theta *graph.Node) *graph.Node {
			return target.LogJoint(codes, target.Families.Mask(codes), theta)
		}, codes, theta)
		require.NoError(t, err, name)
		values := output.Value().([]float64)
		for f, family := range p.Families {
			require.InDelta(t, naiveLogJoint(p, family, theta[f]), values[f], 1e-8*(1+math.Abs(values[f])), name)
		}
	}
}

// With known noise the quadratic of a linear family is exact: the log density is its value at the
// mode less ½ (θ−μ)ᵀH(θ−μ). With unknown noise it is exact in the weights, and to second order in
// log σ once the weights are integrated out; its correlations are those of the log density.
func TestQuadraticsOfLinearFamilies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, sigma := range []float64{0.7, 0} {
		p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.Linear, Sigma: sigma}, tables.Constraints{})
		require.NoError(t, err)
		l := p.Layout()
		for _, family := range p.Families {
			form := p.LinearForm(family.Node)
			root, gram := mat.NewDense(3, 3, score.RootOfGram(p.Data, family.Node)), new(mat.Dense)
			gram.Mul(root.T(), root)
			q := newQuadratic(l, form, gram, family.Parents, 1)
			of := family.Parents.List()
			moved := func(logSigma float64, weights []float64) float64 {
				theta := append([]float64(nil), q.mode...)
				for k, i := range of {
					theta[i] += weights[k]
				}
				if sigma == 0 {
					theta[l.Weights()] += logSigma
				}
				return naiveLogJoint(p, family, theta)
			}
			zero, weights, quadratic := make([]float64, len(of)), make([]float64, len(of)), 0.0
			for k := range of {
				weights[k] = random.NormFloat64()
			}
			for a, i := range of {
				for b, k := range of {
					quadratic += weights[a] * q.precision[i*l.Dim()+k] * weights[b] / 2
				}
			}
			require.InDelta(t, quadratic, moved(0, zero)-moved(0, weights), 1e-8*(1+quadratic))
			for a := range q.linear {
				var product float64
				for b, y := range q.mode {
					product += q.precision[a*l.Dim()+b] * y
				}
				require.InDelta(t, product, q.linear[a], 1e-9)
			}
			if sigma > 0 {
				continue
			}
			const step = 1e-3
			// of log σ, the weights integrated out
			alone := q.precision[l.Weights()*l.Dim()+l.Weights()]
			if len(of) > 0 {
				inner, cross := mat.NewSymDense(len(of), nil), mat.NewVecDense(len(of), nil)
				for a, i := range of {
					cross.SetVec(a, q.precision[i*l.Dim()+l.Weights()])
					for b, k := range of {
						inner.SetSym(a, b, q.precision[i*l.Dim()+k])
					}
					one := make([]float64, len(of))
					one[a] = step
					two := append([]float64(nil), one...)
					two[a] = -step
					mixed := (moved(step, one) - moved(step, two) - moved(-step, one) + moved(-step, two)) / (4 * step * step)
					require.InDelta(t, -mixed, cross.AtVec(a), 1e-3)
				}
				var solved mat.VecDense
				require.NoError(t, solved.SolveVec(inner, cross))
				alone -= mat.Dot(cross, &solved)
			}
			given, err := form.Family(family.Parents)
			require.NoError(t, err)
			mode := q.mode[l.Weights()]
			density := func(logSigma float64) float64 {
				return given.Model.LogEvidence(logSigma) - score.Square((logSigma-p.Data.LogSD(family.Node))/score.LogSigmaSD)/2
			}
			require.InDelta(t, 0, density(mode+step)-density(mode-step), 1e-5)
			require.InEpsilon(t, (2*density(mode)-density(mode+step)-density(mode-step))/(step*step), alone, 1e-3)
		}
	}
}
