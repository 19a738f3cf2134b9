package hbm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// columnsModel returns a space of models with groups and two columns. A model may lack a column,
// which has a scale and an effect for each group.
func columnsModel(t *testing.T) *Target {
	m := NewModel()
	group := m.Plate("group", 3)
	tau := m.Latent("τ", HalfNormal(Number(1)), Event(2))
	b := m.Latent("b", Normal(Number(0.5), tau), On(group), Event(2))
	y := m.Observed("y", Normal(Of(func(v []*Node) *Node { return ReduceSum(v[0], -1) }, b), Number(2)), On(group))
	models, err := space.NewSubsets(m.Dim(), nil, [][]int{{0, 2, 4, 6}, {1, 3, 5, 7}})
	require.NoError(t, err)
	target, err := m.Over(models, nil, Values{y: {0.7, -1.1, 2}})
	require.NoError(t, err)
	return target
}

// Families of plates are flows: ToBase inverts ToParams, log determinants agree with numerical
// derivatives, and coordinates that a model lacks pass unchanged and do not matter.
func TestFamiliesOfTargetsAreFlows(t *testing.T) {
	target := columnsModel(t)
	const dim = 8
	codes := [][]int32{{0, 0}, {1, 0}, {0, 1}, {1, 1}}
	for _, family := range []Family{PAVIF, MeanField, Branch, PAVIE, ADAVI, AmortizedBranch} {
		t.Run(family.String(), func(t *testing.T) {
			flow, err := target.Family(Config{Family: family, Seed: 1})
			require.NoError(t, err)
			variables, device := context.New().Checked(false), openCPU(t)
			call := func(graph func(ctx *context.Context, mask, feats, x *Node) (*Node, *Node)) func(code []int32, x []float64) ([]float64, float64) {
				exec, err := context.NewExec(device.Backend(), variables, func(ctx *context.Context, codes, x *Node) (*Node, *Node) {
					return graph(ctx, target.space.Mask(codes), space.Features(target.space, codes, x.DType()), x)
				})
				require.NoError(t, err)
				return func(code []int32, x []float64) ([]float64, float64) {
					outputs, err := train.Call(func() ([]*tensors.Tensor, error) {
						return exec.Exec(tensors.FromFlatDataAndDimensions(slices.Clone(code), 1, 2), tensors.FromFlatDataAndDimensions(slices.Clone(x), 1, dim))
					})
					require.NoError(t, err)
					return tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])[0]
				}
			}
			push, pull := call(flow.ToParams), call(flow.ToBase)
			random := rand.New(rand.NewPCG(1, 1))
			push(codes[0], make([]float64, dim)) // creates the graph variables
			for variable := range variables.IterVariables() {
				require.NoError(t, variable.SetValue(jittered(variable.Shape().Dimensions, random, variable.MustValue())))
			}
			for _, code := range codes {
				mask := target.space.(space.RowMasker).MaskRow(code, nil)
				z := make([]float64, dim)
				for i := range z {
					z[i] = random.NormFloat64()
				}
				theta, logDet := push(code, z)
				back, again := pull(code, theta)
				require.InDeltaSlice(t, z, back, 1e-6)
				require.InDelta(t, logDet, again, 1e-6)
				var active []int
				for i, in := range mask {
					if in {
						active = append(active, i)
					} else {
						require.Equal(t, z[i], theta[i])
						moved := slices.Clone(z)
						moved[i] += 3
						other, same := push(code, moved)
						other[i] = theta[i]
						require.Equal(t, theta, other)
						require.Equal(t, logDet, same)
					}
				}
				if len(active) == 0 {
					require.Zero(t, logDet)
					continue
				}
				const step = 1e-5
				jacobian := mat.NewDense(len(active), len(active), nil)
				for j, at := range active {
					up, down := slices.Clone(z), slices.Clone(z)
					up[at], down[at] = up[at]+step, down[at]-step
					high, _ := push(code, up)
					low, _ := push(code, down)
					for i, coordinate := range active {
						jacobian.Set(i, j, (high[coordinate]-low[coordinate])/(2*step))
					}
				}
				want, _ := mat.LogDet(jacobian)
				require.InDelta(t, want, logDet, 1e-5)
			}
		})
	}
	_, err := target.Family(Config{Family: Joint})
	require.ErrorContains(t, err, "leave vti.Config.Backbone out")
}

// jittered adds noise to a value, so that weights that start at zero have an effect.
func jittered(dims []int, random *rand.Rand, value *tensors.Tensor) *tensors.Tensor {
	values := tensors.MustCopyFlatData[float64](value)
	for i := range values {
		values[i] += 0.1 * random.NormFloat64()
	}
	return tensors.FromFlatDataAndDimensions(values, dims...)
}

// scatterModel returns y_jr = μ + b_j + ε with μ ~ N(0, 1), b_j ~ N(0, τ²), τ half-normal and ε ~
// N(0, 1). A model may lack μ, and it may lack τ together with all b_j.
func scatterModel(t *testing.T, y [][]float64) *Target {
	m := NewModel()
	var groups []int32
	var ys []float64
	for j, group := range y {
		for _, value := range group {
			groups, ys = append(groups, int32(j)), append(ys, value)
		}
	}
	group, row := m.Plate("group", len(y)), m.Plate("row", len(ys))
	row.In(group, groups)
	mu := m.Latent("μ", Normal(Number(0), Number(1)))
	tau := m.Latent("τ", HalfNormal(Number(1)))
	b := m.Latent("b", Normal(Number(0), tau), On(group))
	observed := m.Observed("y", Normal(Of(func(v []*Node) *Node { return Add(v[0], v[1]) }, mu, b), Number(1)), On(row))
	models, err := space.NewSubsets(m.Dim(), nil, [][]int{m.Coordinates(mu), append(m.Coordinates(tau), m.Coordinates(b)...)})
	require.NoError(t, err)
	target, err := m.Over(models, nil, Values{observed: ys})
	require.NoError(t, err)
	return target
}

// scatterEvidence returns the log evidence of a model of scatterModel, by the trapezoidal rule over
// τ.
func scatterEvidence(y [][]float64, code []int32) float64 {
	logLikelihood := func(tau float64) float64 { // log p(y | τ)
		sum := 0.0
		n, information, weighted := 0.0, 0.0, 0.0 // sums over groups, given μ
		for _, group := range y {
			rows := float64(len(group))
			mean := floats.Sum(group) / rows
			for _, value := range group {
				sum -= (value - mean) * (value - mean) / 2
			}
			variance := tau*tau + 1/rows
			sum -= (rows-1)/2*math.Log(2*math.Pi) + math.Log(rows)/2
			sum -= 0.5*math.Log(2*math.Pi*variance) + mean*mean/variance/2
			n, information, weighted = n+rows, information+1/variance, weighted+mean/variance
		}
		if code[0] == 1 {
			sum += weighted*weighted/(1+information)/2 - math.Log(1+information)/2
		}
		return sum
	}
	if code[1] == 0 {
		return logLikelihood(0)
	}
	var logs []float64
	const step = 0.002
	for k := range 3000 {
		tau := (float64(k) + 0.5) * step
		logs = append(logs, logLikelihood(tau)-tau*tau/2+math.Log(2/math.Sqrt(2*math.Pi)*step))
	}
	return floats.LogSumExp(logs)
}

// The test certifies answers by importance weights alone; Solve would confirm them by Markov
// chains. In trusted answers the probabilities and the evidence agree with sums over a grid. In
// some cases the standard deviation of effects may be zero, so that their posterior is a funnel; in
// one case a group is far from all other groups.
func TestFamiliesOfTargetsAreRightWhereTrusted(t *testing.T) {
	testkit.Long(t)
	trusted := 0
	for name, y := range map[string][][]float64{
		"no scatter":      {{0.1, -0.4, 0.9}, {0.2, 0.5, -0.8}, {-0.1, 0.3, 0.2}, {0.4, -0.6, 0.1}, {0.1, 0.2, -0.2}},
		"large scatter":   {{2.1, 1.4, 2.9}, {-1.8, -2.5, -0.8}, {-0.1, 0.3, 0.2}, {3.4, 2.6, 3.1}, {-1.9, -2.2, -2.6}},
		"one row a group": {{0.5}, {-0.2}, {1.9}, {-1.4}, {0.3}, {2.2}},
		"one far group":   {{0.1, -0.4}, {0.2, 0.5}, {-0.1, 0.3}, {9.4, 8.6}, {0.1, 0.2}},
	} {
		for _, family := range []Family{PAVIF, Branch, PAVIE, MeanField} {
			t.Run(name+"/"+family.String(), func(t *testing.T) {
				target := scatterModel(t, y)
				flow, err := target.Family(Config{Family: family, Seed: 1})
				require.NoError(t, err)
				posterior, err := vti.Fit(t.Context(), openCPU(t), target, vti.Config{Seed: 1, Backbone: flow, Steps: 300, Batch: 256})
				require.NoError(t, err)
				c, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 15})
				require.NoError(t, err)
				t.Log(c.Verdict, c.Reasons)
				if c.Verdict != vti.Trusted {
					return
				}
				trusted++
				var logs, probabilities []float64
				for _, model := range c.Models {
					logs = append(logs, scatterEvidence(y, model.Code))
				}
				total := floats.LogSumExp(logs)
				for i, model := range c.Models {
					probabilities = append(probabilities, math.Exp(logs[i]-total))
					t.Log(model.Code, probabilities[i], model.Certified, model.SE, logs[i]-model.LogEvidence, model.LogEvidenceSE, model.KHat, model.Draws)
					require.InDelta(t, probabilities[i], model.Certified, 5*model.SE+0.002, "%v", model.Code)
				}
				require.InDelta(t, total-2*math.Ln2, c.LogEvidence, 5*c.LogEvidenceSE+0.002)
			})
		}
	}
	require.GreaterOrEqual(t, trusted, 6) // 8 of 16 are; without them nothing is compared
}
