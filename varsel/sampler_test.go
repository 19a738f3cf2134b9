package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
)

// wideProblem returns a problem with p predictors of pure noise.
func wideProblem(t *testing.T, p int, prior Prior) *Problem {
	t.Helper()
	random := stream.Rand(1, "wide")
	var text strings.Builder
	text.WriteString("y")
	for j := range p {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for range 30 {
		fmt.Fprintf(&text, "\n%g", random.NormFloat64())
		for range p {
			fmt.Fprintf(&text, ",%g", random.NormFloat64())
		}
	}
	path := filepath.Join(t.TempDir(), "wide.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "y"})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Prior: prior})
	require.NoError(t, err)
	return problem
}

func TestSamplerNames(t *testing.T) {
	for family := AutoSampler; family <= AutoregressiveSampler; family++ {
		var parsed Sampler
		require.NoError(t, parsed.UnmarshalText([]byte(family.String())))
		require.Equal(t, family, parsed)
	}
	require.ErrorContains(t, new(Sampler).UnmarshalText(nil), "want auto, categorical, surrogate or autoregressive")
	require.Equal(t, "varsel.Sampler(9)", Sampler(9).String())
}

func TestFamilyFitsTheSpace(t *testing.T) {
	looked, small, large := wideProblem(t, 16, Prior{}), wideProblem(t, 20, Prior{}), wideProblem(t, 21, Prior{})
	for _, test := range []struct {
		problem *Problem
		family  Sampler
		table   bool
	}{
		{looked, AutoSampler, true},
		{small, AutoSampler, false}, // the models are too many to be evaluated one by one
		{large, AutoSampler, false},
		{small, CategoricalSampler, true},
		{looked, AutoregressiveSampler, false},
	} {
		models, err := test.problem.NewModels(test.family, SurrogateOptions{}, 1, dtypes.Float32)
		require.NoError(t, err)
		require.Equal(t, test.table, models == nil, "%s of %d predictors", test.family, len(test.problem.Design.Predictors))
	}
	_, err := large.NewModels(CategoricalSampler, SurrogateOptions{}, 1, dtypes.Float32)
	require.EqualError(t, err, "21 predictors make 2^21 models; their table would take 16 MiB, and one holds at most 2^20 models: use --sampler autoregressive, which needs no table")
}

// A network starts at independent inclusions whose probability is the mean of the prior.
func TestNetworkStartsAtThePrior(t *testing.T) {
	for _, test := range []struct {
		prior Prior
		mean  float64
	}{
		{Prior{}, 0.5},
		{Prior{Kind: BernoulliPrior, Pi: 0.2}, 0.2},
		{Prior{Kind: BetaBinomialPrior, A: 1, B: 3}, 0.25},
	} {
		models, err := wideProblem(t, 3, test.prior).NewModels(AutoregressiveSampler, SurrogateOptions{}, 1, dtypes.Float32)
		require.NoError(t, err)
		codes := [][]int32{{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {1, 1, 1}}
		got, err := context.ExecOnce(testkit.Backend(t), context.New(), func(ctx *vti.Context, codes *Node) *Node {
			return ConvertDType(models.LogProb(ctx, codes), dtypes.Float64)
		}, codes)
		require.NoError(t, err)
		var want []float64
		for _, code := range codes {
			in := float64(len(bitMembers(code)))
			want = append(want, in*math.Log(test.mean)+(3-in)*math.Log1p(-test.mean))
		}
		require.InDeltaSlice(t, want, got.Value(), 0.02, test.prior.String())
	}
}
