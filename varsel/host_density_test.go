package varsel

import (
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// TestHostDensity compares densities computed in Go (on the host) with densities of computation
// graphs, for all likelihoods that have both. Cases include more responses than a hostPiece holds,
// offsets, and models that heredity forbids.
func TestHostDensity(t *testing.T) {
	cases := append(likelihoodCases(),
		likelihoodCase{name: "offset", table: "prostate.csv", design: DesignOptions{Target: "lpsa", Offset: "age"}, model: ModelOptions{Likelihood: likelihood.StudentKind}},
		likelihoodCase{name: "counts", table: "hald.csv", design: DesignOptions{Target: "x1", Offset: "log(x2)"}, model: ModelOptions{Likelihood: likelihood.PoissonKind}},
		likelihoodCase{name: "gamma", table: "hald.csv", design: DesignOptions{Target: "y"}, model: ModelOptions{Likelihood: likelihood.GammaKind}},
		likelihoodCase{name: "heredity", table: "prostate.csv", design: DesignOptions{Target: "lpsa", Interactions: []string{"lcavol:age"}}, model: ModelOptions{Likelihood: likelihood.RobustKind}},
	)
	onHost := map[string]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target := c.problem(t).Target
			const batch = 70
			host := target.HostDensity(batch)
			if host == nil {
				return
			}
			onHost[c.name] = true
			dim, sites := target.space.Dim(), len(target.space.Cards())
			random := stream.Rand(3, c.name)
			codes, mask, theta := make([]int32, batch*sites), make([]bool, batch*dim), make([]float64, batch*dim)
			for i := range codes {
				codes[i] = int32(random.IntN(2))
			}
			for b := range batch {
				for j, on := range target.space.MaskRow(codes[b*sites:(b+1)*sites], mask[b*dim:(b+1)*dim]) {
					if on {
						theta[b*dim+j] = target.Mean[j] + 0.5*random.NormFloat64()
					}
				}
			}
			exec, err := NewExec(testkit.Backend(t), func(codes, theta *Node) (*Node, *Node) {
				return target.LogPrior(codes), target.LogJoint(codes, target.Space().Mask(codes), theta)
			})
			require.NoError(t, err)
			outputs, err := exec.Exec(tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(theta, batch, dim))
			require.NoError(t, err)
			wantPrior, wantJoint := tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])
			for range 2 { // the second call starts from the buffers that the first one left
				prior, joint := make([]float64, batch), make([]float64, batch)
				host(codes, mask, theta, prior, joint)
				for b := range batch {
					require.InDelta(t, wantPrior[b], prior[b], 1e-13)
					require.InEpsilon(t, wantJoint[b], joint[b], 1e-11, "row %d", b)
				}
			}
		})
	}
	require.Len(t, onHost, len(cases), "all: %v", onHost)
}
