package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

// evaluated returns the log density of each member at x, on a plate of len(x)/event members.
func evaluated(t *testing.T, density Density, x []float64, event ...int) []float64 {
	m := NewModel()
	v := m.Observed("x", density, On(m.Plate("members", len(x)/product(event))), Event(event...))
	require.NoError(t, m.Err())
	out := MustExecOnce(testkit.Backend(t), func(x *Node) *Node {
		f := m.wholeReplica(x.Graph(), dtypes.Float64)
		f.values[v] = x
		return Squeeze(f.logProb(v), 1)
	}, v.tensorOf(x))
	return out.Value().([]float64)
}

// elementwiseCases are the densities of independent components, each with log density, mean and sd
// computed without the package.
var elementwiseCases = map[string]struct {
	density func(p ...Term) Density
	p       []float64
	x       []float64
	naive   func(x float64, p []float64) float64
	mean    func(p []float64) float64
	sd      func(p []float64) float64
}{
	"normal": {
		func(p ...Term) Density { return Normal(p[0], p[1]) }, []float64{0.3, 1.7}, []float64{-4, 0, 0.3, 9},
		func(x float64, p []float64) float64 { return distuv.Normal{Mu: p[0], Sigma: p[1]}.LogProb(x) },
		func(p []float64) float64 { return p[0] }, func(p []float64) float64 { return p[1] },
	},
	"Laplace": {
		func(p ...Term) Density { return Laplace(p[0], p[1]) }, []float64{-0.5, 0.6}, []float64{-4, -0.5, 0.3, 9},
		func(x float64, p []float64) float64 { return distuv.Laplace{Mu: p[0], Scale: p[1]}.LogProb(x) },
		func(p []float64) float64 { return p[0] }, func(p []float64) float64 { return p[1] * math.Sqrt2 },
	},
	"student": {
		func(p ...Term) Density { return StudentT(p[0], p[1], p[2]) }, []float64{7, 1.5, 0.6}, []float64{-40, -0.5, 1.5, 9},
		func(x float64, p []float64) float64 {
			return distuv.StudentsT{Nu: p[0], Mu: p[1], Sigma: p[2]}.LogProb(x)
		},
		func(p []float64) float64 { return p[1] }, func(p []float64) float64 { return p[2] * math.Sqrt(7./5) },
	},
	"log-normal": {
		func(p ...Term) Density { return LogNormal(p[0], p[1]) }, []float64{0.2, 0.4}, []float64{1e-3, 0.5, 1, 30},
		func(x float64, p []float64) float64 { return distuv.LogNormal{Mu: p[0], Sigma: p[1]}.LogProb(x) },
		func(p []float64) float64 { return distuv.LogNormal{Mu: p[0], Sigma: p[1]}.Mean() }, func(p []float64) float64 { return distuv.LogNormal{Mu: p[0], Sigma: p[1]}.StdDev() },
	},
	"half-normal": {
		func(p ...Term) Density { return HalfNormal(p[0]) }, []float64{0.7}, []float64{1e-3, 0.5, 1, 4},
		func(x float64, p []float64) float64 { return math.Ln2 + distuv.Normal{Sigma: p[0]}.LogProb(x) },
		func(p []float64) float64 { return p[0] * math.Sqrt(2/math.Pi) }, func(p []float64) float64 { return p[0] * math.Sqrt(1-2/math.Pi) },
	},
	"half-student": {
		func(p ...Term) Density { return HalfStudentT(p[0], p[1]) }, []float64{9, 0.7}, []float64{1e-3, 0.5, 1, 40},
		func(x float64, p []float64) float64 {
			return math.Ln2 + distuv.StudentsT{Nu: p[0], Sigma: p[1]}.LogProb(x)
		}, nil, nil,
	},
	"gamma": {
		func(p ...Term) Density { return Gamma(p[0], p[1]) }, []float64{2.5, 1.5}, []float64{1e-3, 0.5, 1, 30},
		func(x float64, p []float64) float64 { return distuv.Gamma{Alpha: p[0], Beta: p[1]}.LogProb(x) },
		func(p []float64) float64 { return p[0] / p[1] }, func(p []float64) float64 { return math.Sqrt(p[0]) / p[1] },
	},
	"Bernoulli": {
		func(p ...Term) Density { return Bernoulli(p[0]) }, []float64{-0.8}, []float64{0, 1, 1, 0},
		func(x float64, p []float64) float64 { return distuv.Bernoulli{P: logistic(p[0])}.LogProb(x) },
		func(p []float64) float64 { return logistic(p[0]) }, func(p []float64) float64 { return math.Sqrt(logistic(p[0]) * logistic(-p[0])) },
	},
	"Poisson": {
		func(p ...Term) Density { return Poisson(p[0]) }, []float64{1.2}, []float64{0, 1, 3, 40},
		func(x float64, p []float64) float64 { return distuv.Poisson{Lambda: math.Exp(p[0])}.LogProb(x) },
		func(p []float64) float64 { return math.Exp(p[0]) }, func(p []float64) float64 { return math.Exp(p[0] / 2) },
	},
}

func numbersOf(p []float64) []Term {
	terms := make([]Term, len(p))
	for i, value := range p {
		terms[i] = Number(value)
	}
	return terms
}

func TestDensitiesAgainstNaiveForms(t *testing.T) {
	for name, c := range elementwiseCases {
		t.Run(name, func(t *testing.T) {
			got := evaluated(t, c.density(numbersOf(c.p)...), c.x)
			for i, x := range c.x {
				require.InDelta(t, c.naive(x, c.p), got[i], 1e-8*(1+math.Abs(got[i])), "at %g", x)
			}
			// All densities again, for an event of two components with different parameters.
			vectors := make([]Term, len(c.p))
			for i, value := range c.p {
				vectors[i] = Numbers(value, value+0.25)
			}
			pairs := evaluated(t, c.density(vectors...), c.x, 2)
			for i, value := range pairs {
				second := make([]float64, len(c.p))
				for j := range second {
					second[j] = c.p[j] + 0.25
				}
				want := c.naive(c.x[2*i], c.p) + c.naive(c.x[2*i+1], second)
				require.InDelta(t, want, value, 1e-8*(1+math.Abs(value)))
			}
		})
	}
}

// Draws have the mean and the standard deviation of their density. The tolerance is 5 standard
// errors, which for the standard deviation come from the fourth moment: a false alarm in 10⁵
// choices of seeds.
func TestDrawsHaveTheirMoments(t *testing.T) {
	const n = 20000
	device := open(t)
	for name, c := range elementwiseCases {
		if c.mean == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := NewModel()
			v := m.Observed("x", c.density(numbersOf(c.p)...), On(m.Plate("members", n)))
			simulator, err := NewSimulator(device, m)
			require.NoError(t, err)
			drawn, err := simulator.Draw(t.Context(), nil, 3, name)
			require.NoError(t, err)
			require.NoError(t, m.CheckData(drawn))
			mean, sd := stat.MeanStdDev(drawn[v], nil)
			require.InDelta(t, c.mean(c.p), mean, 5*sd/math.Sqrt(n))
			fourth := stat.MomentAbout(4, drawn[v], mean, nil)
			se := math.Sqrt(math.Max(fourth-sd*sd*sd*sd, 1e-6)/n) / (2 * sd)
			require.InDelta(t, c.sd(c.p), sd, 5*se)
		})
	}
}

func TestDirichlet(t *testing.T) {
	a := []float64{0.5, 2, 3.5}
	x := []float64{0.2, 0.3, 0.5, 0.05, 0.9, 0.05}
	got := evaluated(t, Dirichlet(Numbers(a...)), x, 3)
	for i := range got {
		want, _ := math.Lgamma(6)
		for j, aj := range a {
			lg, _ := math.Lgamma(aj)
			want += (aj-1)*math.Log(x[3*i+j]) - lg
		}
		require.InDelta(t, want, got[i], 1e-8)
	}
	require.InDelta(t, math.Log(2), evaluated(t, Dirichlet(Number(1)), []float64{0, 0.4, 0.6}, 3)[0], 1e-8, "flat, on the edge")

	const n = 20000
	m := NewModel()
	v := m.Latent("share", Dirichlet(Numbers(a...)), On(m.Plate("members", n)), Event(3))
	simulator, err := NewSimulator(open(t), m)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, 1, "dirichlet")
	require.NoError(t, err)
	for j, aj := range a {
		var mean float64
		for i := range n {
			mean += drawn[v][3*i+j] / n
		}
		p := aj / 6
		require.InDelta(t, p, mean, 5*math.Sqrt(p*(1-p)/7/n))
	}
}

// A mixture of vectors shares its label between the components of a vector. With one label for each
// number its log density would differ.
func TestMixture(t *testing.T) {
	x := []float64{0.1, 2.2, -1, 0.4}
	means := [][]float64{{0, 2}, {1, -1}, {0.5, 0.5}}
	weights := []float64{0.2, 0.5, 0.3}
	var components []Density
	for _, mean := range means {
		components = append(components, Normal(Numbers(mean...), Number(0.7)))
	}
	got := evaluated(t, Mixture(Numbers(weights...), components...), x, 2)
	for i := range got {
		var joint, separate float64
		separate = 1
		for j := range 2 {
			var sum float64
			for c, mean := range means {
				sum += weights[c] * distuv.Normal{Mu: mean[j], Sigma: 0.7}.Prob(x[2*i+j])
			}
			separate *= sum
		}
		for c, mean := range means {
			joint += weights[c] * distuv.Normal{Mu: mean[0], Sigma: 0.7}.Prob(x[2*i]) * distuv.Normal{Mu: mean[1], Sigma: 0.7}.Prob(x[2*i+1])
		}
		require.InDelta(t, math.Log(joint), got[i], 1e-9)
		require.Greater(t, math.Abs(math.Log(separate)-got[i]), 1e-3)
	}
	const n = 20000
	m := NewModel()
	v := m.Observed("x", Mixture(Numbers(0.25, 0.75), Normal(Number(-1), Number(0.1)), Normal(Number(1), Number(0.1))), On(m.Plate("members", n)))
	simulator, err := NewSimulator(open(t), m)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, 1, "mixture")
	require.NoError(t, err)
	mean := stat.Mean(drawn[v], nil)
	require.InDelta(t, 0.5, mean, 5*math.Sqrt(0.76/n))
}

// logGamma agrees with log Γ, and its derivative, the digamma function, with finite differences of
// log Γ, over the range of shapes in use.
func TestLogGamma(t *testing.T) {
	x := []float64{1e-4, 0.03, 0.5, 1, 1.5, 2, 7.9, 8, 8.1, 31, 1e3, 1e6}
	out := MustExecOnceN(testkit.Backend(t), func(x *Node) []*Node {
		y := logGamma(x)
		return []*Node{y, Gradient(ReduceAllSum(y), x)[0], ConvertDType(logGamma(ConvertDType(x, dtypes.Float32)), dtypes.Float64)}
	}, x)
	value, slope, single := out[0].Value().([]float64), out[1].Value().([]float64), out[2].Value().([]float64)
	for i, argument := range x {
		want, _ := math.Lgamma(argument)
		require.InDelta(t, want, value[i], 1e-9*(1+math.Abs(want)), "at %g", argument)
		require.InDelta(t, want, single[i], 3e-6*(1+math.Abs(want)), "at %g in Float32", argument)
		h := 1e-5 * argument
		above, _ := math.Lgamma(argument + h)
		below, _ := math.Lgamma(argument - h)
		require.InDelta(t, (above-below)/(2*h), slope[i], 1e-4*(1+math.Abs(slope[i])), "slope at %g", argument)
	}
}

func open(t testing.TB) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(gpu.Reference)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

// Large counts lose no digits: the ratio of the probabilities of x + 1 and x is rate/(x+1). Sums of
// terms of size 10¹⁰ would have errors of 10⁻⁶.
func TestPoissonOfLargeCounts(t *testing.T) {
	for _, rate := range []float64{90, 110, 1e6, 1e9} {
		x := math.Round(rate + math.Sqrt(rate))
		got := evaluated(t, Poisson(Number(math.Log(rate))), []float64{x, x + 1})
		require.InDelta(t, math.Log(rate)-math.Log(x+1), got[1]-got[0], 1e-8, "rate %g", rate)
	}
}
