package dag

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/testkit"
	"github.com/transdim/vti/table"
)

// naiveLogJoint is log p(x_j, θ | x_pa) by loops over rows.
func naiveLogJoint(p *Problem, f dgraph.Family, theta []float64) (sum float64) {
	l := p.layout()
	masked := make([]float64, len(theta))
	for k, on := range l.mask(f) {
		if on {
			masked[k] = theta[k]
		}
	}
	logSigma := l.logSigma(masked)
	for row := range p.Data.Rows() {
		if !p.Data.counts(row, f.Node) {
			continue
		}
		values := append([]float64(nil), p.Data.X.RawRowView(row)...)
		for i := range values { // less their means in the rows that count
			var sum, count float64
			for other := range p.Data.Rows() {
				if p.Data.Counted != nil && p.Data.Counted[other][f.Node] {
					sum += p.Data.X.At(other, i)
					count++
				}
			}
			if count > 0 && p.Data.Scaling != Unscaled {
				values[i] -= sum / count
			}
		}
		var mean float64
		switch {
		case f.Parents.Empty(): // nothing but noise
		case p.Model.Mechanism == Linear:
			for i := range f.Parents.Nodes() {
				mean += masked[i] * values[i]
			}
		default:
			h := p.Model.Hidden
			for unit := range h {
				var input float64
				for i := range f.Parents.Nodes() {
					input += masked[i*h+unit] * values[i]
				}
				at := p.Data.Nodes() * h
				if !p.Model.NoBias {
					input += masked[at+unit]
					at += h
				}
				mean += masked[at+unit] * math.Max(0, input)
			}
			if !p.Model.NoBias {
				mean += masked[(p.Data.Nodes()+2)*h]
			}
		}
		sum += logNormal(values[f.Node], mean, math.Exp(logSigma))
	}
	for k, on := range l.mask(f) {
		if on && k < l.weights() {
			sum += logNormal(theta[k], 0, p.Model.PriorSD)
		}
	}
	if l.sigma == 0 {
		sum += logNormal(logSigma, newLinearStats(p.Data, f.Node).logSD, logSigmaSD)
	}
	return sum
}

func logNormal(x, mean, sd float64) float64 {
	return -square((x-mean)/sd)/2 - math.Log(sd) - halfLog2Pi
}

// problems are all mechanisms, with and without what is optional.
func problems(t *testing.T) map[string]*Problem {
	rows := chainRows(9)
	text := "a,b,c,set\n"
	for i, row := range rows {
		text += csvLine(row) + []string{",\n", ",b\n", ",\n"}[i%3]
	}
	parsed, err := table.Parse("test.csv", []byte(text))
	require.NoError(t, err)
	set, err := NewData(parsed, DataOptions{Intervened: "set"})
	require.NoError(t, err)
	plain := chainData(t, 9, DataOptions{Scaling: Center})
	out := map[string]*Problem{}
	for name, model := range map[string]ModelOptions{
		"linear":          {PriorSD: 1.5},
		"linear known":    {Sigma: 0.8},
		"mlp":             {Mechanism: MLP, Hidden: 3},
		"mlp known":       {Mechanism: MLP, Hidden: 2, Sigma: 1.1},
		"mlp without b":   {Mechanism: MLP, Hidden: 2, NoBias: true},
		"mlp known, no b": {Mechanism: MLP, Hidden: 3, NoBias: true, Sigma: 0.5, PriorSD: 2},
	} {
		for kind, data := range map[string]*Data{"": plain, ", interventions": set} {
			if out[name+kind], err = NewProblem(data, model, Constraints{}); err != nil {
				require.NoError(t, err)
			}
		}
	}
	return out
}

// Every family, every kind of mechanism, against loops over rows.
func TestLogJointAgainstALoop(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, p := range problems(t) {
		target := newFamilyTarget(p)
		var codes [][]int32
		var theta [][]float64
		for f := range p.Families {
			row := make([]float64, target.space.Dim())
			for k := range row {
				row[k] = random.NormFloat64()
			}
			codes, theta = append(codes, []int32{int32(f)}), append(theta, row)
		}
		output, err := graph.ExecOnce(backend, func(codes, theta *graph.Node) *graph.Node {
			return target.LogJoint(codes, target.space.Mask(codes), theta)
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
		p, err := NewProblem(chainData(t, 30, DataOptions{}), ModelOptions{Mechanism: Linear, Sigma: sigma}, Constraints{})
		require.NoError(t, err)
		l := p.layout()
		for _, family := range p.Families {
			stats := newLinearStats(p.Data, family.Node)
			q := newQuadratic(l, stats, family, 1)
			of := family.Parents.List()
			moved := func(logSigma float64, weights []float64) float64 {
				theta := append([]float64(nil), q.mode...)
				for k, i := range of {
					theta[i] += weights[k]
				}
				if sigma == 0 {
					theta[l.weights()] += logSigma
				}
				return naiveLogJoint(p, family, theta)
			}
			zero, weights, quadratic := make([]float64, len(of)), make([]float64, len(of)), 0.0
			for k := range of {
				weights[k] = random.NormFloat64()
			}
			for a, i := range of {
				for b, k := range of {
					quadratic += weights[a] * q.precision[i*l.dim()+k] * weights[b] / 2
				}
			}
			require.InDelta(t, quadratic, moved(0, zero)-moved(0, weights), 1e-8*(1+quadratic))
			for a := range q.linear {
				var product float64
				for b, y := range q.mode {
					product += q.precision[a*l.dim()+b] * y
				}
				require.InDelta(t, product, q.linear[a], 1e-9)
			}
			if sigma > 0 {
				continue
			}
			const step = 1e-3
			// of log σ, the weights integrated out
			alone := q.precision[l.weights()*l.dim()+l.weights()]
			if len(of) > 0 {
				inner, cross := mat.NewSymDense(len(of), nil), mat.NewVecDense(len(of), nil)
				for a, i := range of {
					cross.SetVec(a, q.precision[i*l.dim()+l.weights()])
					for b, k := range of {
						inner.SetSym(a, b, q.precision[i*l.dim()+k])
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
			given, mode := stats.spectrum(family.Parents), q.mode[l.weights()]
			density := func(logSigma float64) float64 {
				return given.logEvidence(logSigma, 1) - square((logSigma-stats.logSD)/logSigmaSD)/2
			}
			require.InDelta(t, 0, density(mode+step)-density(mode-step), 1e-5)
			require.InEpsilon(t, (2*density(mode)-density(mode+step)-density(mode-step))/(step*step), alone, 1e-3)
		}
	}
}

// Coordinates that a family does not use change nothing, to the bit.
func TestMasks(t *testing.T) {
	l := layout{nodes: 3, mechanism: MLP, hidden: 2, bias: true}
	require.Equal(t, 3*2+2+2+1+1, l.dim())
	on := func(f dgraph.Family) (list []int) {
		for k, used := range l.mask(f) {
			if used {
				list = append(list, k)
			}
		}
		return list
	}
	require.Equal(t, []int{11}, on(dgraph.Family{Node: 1}), "only log σ")
	require.Equal(t, []int{2, 3, 6, 7, 8, 9, 10, 11}, on(dgraph.Family{Node: 0, Parents: dgraph.SetOf(1)}))
	l.sigma, l.bias = 1, false
	require.Empty(t, on(dgraph.Family{Node: 1}))
	require.Equal(t, []int{0, 1, 4, 5, 6, 7}, on(dgraph.Family{Node: 1, Parents: dgraph.SetOf(0, 2)}))
	l.mechanism = Linear
	require.Equal(t, []int{0, 2}, on(dgraph.Family{Node: 1, Parents: dgraph.SetOf(0, 2)}))
}
