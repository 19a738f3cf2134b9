package dag

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/table"
	"github.com/transdim/vti/internal/testkit"
)

// naiveLogJoint is log p(x_j, θ | x_pa) by loops over rows.
func naiveLogJoint(p *Problem, f Family, theta []float64) (sum float64) {
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
		values := p.Data.X.RawRowView(row)
		var mean float64
		switch {
		case f.Parents == 0: // nothing but noise
		case p.Model.Mechanism == Linear:
			for i := range members(f.Parents) {
				mean += masked[i] * values[i]
			}
		default:
			h := p.Model.Hidden
			for unit := range h {
				var input float64
				for i := range members(f.Parents) {
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

// The density of η is that of θ times the determinant; the map of every family is applied the same way in a graph and on the host.
func TestLogJointAgainstALoop(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, p := range problems(t) {
		target := newFamilyTarget(p)
		dim := target.space.Dim()
		var codes [][]int32
		var eta [][]float64
		for f := range p.Families {
			row := make([]float64, dim)
			for k := range row {
				row[k] = random.NormFloat64()
			}
			codes, eta = append(codes, []int32{int32(f)}), append(eta, row)
		}
		outputs, err := graph.MustNewExec(backend, func(codes, eta *graph.Node) (*graph.Node, *graph.Node, *graph.Node) {
			mask := target.space.Mask(codes)
			theta, logDet := target.parameters(codes, mask, eta)
			return target.LogJoint(codes, mask, eta), theta, logDet
		}).Exec(codes, eta)
		require.NoError(t, err, name)
		values, thetas, logDets := outputs[0].Value().([]float64), outputs[1].Value().([][]float64), outputs[2].Value().([]float64)
		for f, family := range p.Families {
			require.InDeltaSlice(t, target.theta(f, eta[f]), thetas[f], 1e-9, name)
			require.InDelta(t, naiveLogJoint(p, family, thetas[f])+logDets[f], values[f], 1e-8*(1+math.Abs(values[f])), name)
		}
	}
}

// With known noise the map of a linear family makes the posterior standard normal: the density of η is its evidence times N(η; 0, I). With unknown noise the mode is at 0.
func TestMapsOfLinearFamilies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, sigma := range []float64{0.7, 0} {
		p, err := NewProblem(chainData(t, 30, DataOptions{}), ModelOptions{Sigma: sigma}, Constraints{})
		require.NoError(t, err)
		target := newFamilyTarget(p)
		for f, family := range p.Families {
			density := func(eta []float64) float64 {
				return naiveLogJoint(p, family, target.theta(f, eta)) + target.logDets[f]
			}
			stats := newLinearStats(p.Data, family.Node)
			peak := density(make([]float64, target.space.Dim()))
			for range 5 {
				eta, squares := make([]float64, target.space.Dim()), 0.0
				for k, on := range target.space.masks[f] {
					if on {
						eta[k] = random.NormFloat64()
						squares += square(eta[k])
					}
				}
				if sigma > 0 {
					logNormalEta := -squares/2 - halfLog2Pi*float64(popcount(family.Parents))
					require.InDelta(t, stats.logEvidence(family.Parents, sigma, 1)+logNormalEta, density(eta), 1e-8)
					continue
				}
				for k := range eta {
					eta[k] *= 1e-3 // close to the mode the density falls like N(0, I)
				}
				require.InEpsilon(t, 0.5e-6*squares, peak-density(eta), 0.02)
			}
		}
	}
}

// Coordinates that a family does not use change nothing, to the bit.
func TestMasks(t *testing.T) {
	l := layout{nodes: 3, mechanism: MLP, hidden: 2, bias: true}
	require.Equal(t, 3*2+2+2+1+1, l.dim())
	on := func(f Family) (list []int) {
		for k, used := range l.mask(f) {
			if used {
				list = append(list, k)
			}
		}
		return list
	}
	require.Equal(t, []int{11}, on(Family{Node: 1}), "only log σ")
	require.Equal(t, []int{2, 3, 6, 7, 8, 9, 10, 11}, on(Family{Node: 0, Parents: 0b010}))
	l.sigma, l.bias = 1, false
	require.Empty(t, on(Family{Node: 1}))
	require.Equal(t, []int{0, 1, 4, 5, 6, 7}, on(Family{Node: 1, Parents: 0b101}))
	l.mechanism = Linear
	require.Equal(t, []int{0, 2}, on(Family{Node: 1, Parents: 0b101}))
}
