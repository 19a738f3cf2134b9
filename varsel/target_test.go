package varsel

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/exact"
)

// likelihoodCase is a likelihood with the plainest form of the log density of one response, which
// tests compare with.
type likelihoodCase struct {
	name   string
	table  string
	design DesignOptions
	model  ModelOptions
	naive  func(y, eta, sigma float64) float64
}

func likelihoodCases() []likelihoodCase {
	normal := func(x, mean, sd float64) float64 { return distuv.Normal{Mu: mean, Sigma: sd}.Prob(x) }
	return []likelihoodCase{
		{"gaussian unknown", "hald.csv", DesignOptions{Target: "y"}, ModelOptions{},
			func(y, eta, sigma float64) float64 { return math.Log(normal(y, eta, sigma)) }},
		{"gaussian known, raw scale", "hald.csv", DesignOptions{Target: "y", NoStandardize: true}, ModelOptions{Sigma: 20},
			func(y, eta, _ float64) float64 { return math.Log(normal(y, eta, 20)) }},
		{"robust as in the paper", "robust_vs/high_1000.csv",
			DesignOptions{Target: "y", NoStandardize: true, NoIntercept: true, Always: []string{"x0"}}, ModelOptions{Likelihood: likelihood.RobustKind},
			func(y, eta, _ float64) float64 { return math.Log(0.9*normal(y, eta, 1) + 0.1*normal(y, eta, 10)) }},
		{"robust unknown", "hald.csv", DesignOptions{Target: "y"},
			ModelOptions{Likelihood: likelihood.RobustKind, UnknownSigma1: true, Sigma2: 5, Outlier: 0.3},
			func(y, eta, sigma float64) float64 {
				return math.Log(0.7*normal(y, eta, sigma) + 0.3*normal(y, eta, 5*sigma))
			}},
		{"student unknown", "hald.csv", DesignOptions{Target: "y"}, ModelOptions{Likelihood: likelihood.StudentKind, Degrees: 3},
			func(y, eta, sigma float64) float64 {
				return distuv.StudentsT{Mu: eta, Sigma: sigma, Nu: 3}.LogProb(y)
			}},
		{"logistic", "pima.csv", DesignOptions{Target: "type"}, ModelOptions{Likelihood: likelihood.LogisticKind},
			func(y, eta, _ float64) float64 {
				p := 1 / (1 + math.Exp(-eta))
				return y*math.Log(p) + (1-y)*math.Log(1-p)
			}},
		{"poisson", "biochemists.csv", DesignOptions{Target: "art"}, ModelOptions{Likelihood: likelihood.PoissonKind},
			func(y, eta, _ float64) float64 { return distuv.Poisson{Lambda: math.Exp(eta)}.LogProb(y) }},
	}
}

func (c likelihoodCase) problem(t *testing.T) *Problem {
	t.Helper()
	data, err := table.ReadFile("../testdata/" + c.table)
	require.NoError(t, err)
	c.design.Likelihood = c.model.Likelihood
	design, err := NewDesign(data, c.design)
	require.NoError(t, err)
	problem, err := NewProblem(design, c.model)
	require.NoError(t, err)
	return problem
}

// Every log joint density agrees with a sum by plain loops over rows and coordinates in float64.
func TestLogJointAgainstLoops(t *testing.T) {
	for _, c := range likelihoodCases() {
		t.Run(c.name, func(t *testing.T) {
			p := c.problem(t)
			const batch = 6
			target := p.Target
			dim, sites := target.space.Dim(), len(target.space.Cards())
			random := stream.Rand(3, c.name)
			codes, theta := make([]int32, batch*sites), make([]float64, batch*dim)
			for i := range codes {
				codes[i] = int32(random.IntN(2))
			}
			for i := range theta {
				theta[i] = 0.5 * random.NormFloat64()
			}
			exec, err := NewExec(testkit.Backend(t), func(codes, theta *Node) *Node {
				return target.LogJoint(codes, target.Space().Mask(codes), theta)
			})
			require.NoError(t, err)
			outputs, err := exec.Exec(tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(theta, batch, dim))
			require.NoError(t, err)
			got := tensors.MustCopyFlatData[float64](outputs[0])
			for b := range batch {
				want := c.loops(p, codes[b*sites:(b+1)*sites], theta[b*dim:(b+1)*dim])
				require.InEpsilon(t, want, got[b], 1e-10)
			}
		})
	}
}

// loops returns log p(y, θ | m) by its definition, from all rows of the design rather than from the
// compressed rows of the target.
func (c likelihoodCase) loops(p *Problem, code []int32, theta []float64) (total float64) {
	mask := p.Target.space.MaskRow(code, nil)
	for j, on := range mask {
		if on {
			total += distuv.Normal{Mu: p.Target.Mean[j], Sigma: p.Target.SD[j]}.LogProb(theta[j])
		}
	}
	sigma := 0.0
	if p.UnknownScale() {
		sigma = math.Exp(theta[p.Target.Scale])
	}
	for i, y := range p.Design.Y {
		eta := 0.0
		for j := range p.Design.Names {
			if mask[j] {
				eta += theta[j] * p.Design.X.At(i, j)
			}
		}
		total += c.naive(y, eta, sigma)
	}
	return total
}

// Densities in float32, the type of training, agree with float64 up to the rounding of single
// precision.
func TestLogJointInFloat32(t *testing.T) {
	for _, c := range likelihoodCases() {
		p := c.problem(t)
		dim := p.Target.space.Dim()
		theta := make([]float64, dim)
		for j := range theta {
			theta[j] = p.Target.Mean[j] + 0.1
		}
		codes := tensors.FromScalarAndDimensions(int32(1), 1, len(p.Target.space.Cards()))
		exec, err := NewExec(testkit.Backend(t), func(codes, theta *Node) (*Node, *Node) {
			mask := p.Target.Space().Mask(codes)
			return p.Target.LogJoint(codes, mask, theta), p.Target.LogJoint(codes, mask, ConvertDType(theta, dtypes.Float32))
		})
		require.NoError(t, err)
		outputs, err := exec.Exec(codes, tensors.FromFlatDataAndDimensions(theta, 1, dim))
		require.NoError(t, err)
		wide, narrow := tensors.MustCopyFlatData[float64](outputs[0])[0], tensors.MustCopyFlatData[float32](outputs[1])[0]
		require.InEpsilon(t, wide, narrow, 2e-5, c.name)
	}
}

func TestModelOptionsAreChecked(t *testing.T) {
	for message, options := range map[string]ModelOptions{
		"sigma: got -1, want a positive number":   {Sigma: -1},
		"slab-scale: got +Inf, want a positive":   {SlabScale: math.Inf(1)},
		"outlier: got 1, want a share strictly":   {Outlier: 1},
		"the logistic likelihood has no such":     {Likelihood: likelihood.LogisticKind, Sigma: 1},
		"with unknown sigma":                      {Slab: exact.Slab{Kind: exact.HyperG}, Sigma: 1},
		"degrees: got -2, want a positive number": {Degrees: -2},
		"want an inclusion probability str":       {Prior: Prior{Kind: BernoulliPrior, Pi: 2}},
	} {
		require.ErrorContains(t, options.Validate(), message)
	}
	require.NoError(t, ModelOptions{}.Validate())
}
