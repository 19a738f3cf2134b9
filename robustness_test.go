package vti_test

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// steep is a target with a finite log density, whose gradient is not finite.
type steep struct{ *conjugate }

func (s steep) LogJoint(codes, mask, theta *Node) *Node {
	zero := ReduceSum(MulScalar(theta, 0), -1)
	// the slope of √ at 0 is infinite
	return Add(s.conjugate.LogJoint(codes, mask, theta), Sqrt(zero))
}

// TestSkippedStepsChangeNothing checks that a step with a non-finite gradient changes only counters
// and the states of random generators, for every kind of q(m).
func TestSkippedStepsChangeNothing(t *testing.T) {
	testkit.Slow(t)
	target := steep{newConjugate(20, 2)}
	network, err := modeldist.NewAutoregressive(target.Space().Cards(), modeldist.AutoregressiveConfig{Seed: 1})
	require.NoError(t, err)
	for name, models := range map[string]vti.ModelDistribution{"table": nil, "network": network} {
		t.Run(name, func(t *testing.T) {
			var skipped int
			values := map[int]map[string]any{}
			for _, steps := range []int{1, 4} {
				cfg := smallConfig()
				cfg.Steps, cfg.Models = steps, models
				skipped = 0
				cfg.Progress = func(info vti.Info) { skipped += info.SkippedSteps; require.Zero(t, info.NonFinite) }
				posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
				require.NoError(t, err)
				require.Equal(t, steps, skipped)
				values[steps] = posterior.VariableValues()
			}
			require.Equal(t, len(values[1]), len(values[4]))
			same := 0
			for name, value := range values[1] {
				if name == "/train/step" || name == "/train/round" || name == "/train/sums" || filepath.Dir(name) == "/stream" {
					continue
				}
				require.Equal(t, value, values[4][name], name)
				same++
			}
			require.Greater(t, same, 10)
		})
	}
}

// restricted excludes models that have both of the first two predictors.
type restricted struct{ *conjugate }

func excluded(code []int32) bool { return code[0] == 1 && code[1] == 1 }

func (r restricted) LogPrior(codes *Node) *Node {
	g, sites := codes.Graph(), codes.Shape().Dimensions[1]
	chosen := make([]int32, sites)
	chosen[0], chosen[1] = 1, 1
	both := Equal(ReduceSum(Mul(codes, Reshape(Const(g, chosen), 1, sites)), -1), Const(g, int32(2)))
	allowed := r.conjugate.LogPrior(codes)
	return Where(both, Infinity(g, dtypes.Float64, -1), AddScalar(allowed, -math.Log(0.75)))
}

// Models that the prior excludes play no part in training or certification, and the probabilities
// of the other models sum to one.
func TestExcludedModels(t *testing.T) {
	target := restricted{newConjugate(30, 3)}
	logEvidence, probability := target.posterior()
	var total float64
	for index, code := range space.All(target.space.Cards()) {
		if !excluded(code) {
			total += probability[index]
		}
	}
	cfg := smallConfig()
	cfg.Progress = func(info vti.Info) {
		require.Zero(t, info.NonFinite+info.SkippedSteps)
		require.False(t, math.IsNaN(info.Loss) || math.IsNaN(info.Entropy))
	}
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	for name, certify := range map[string]vti.CertifyConfig{"each": {Draws: 1 << 14}, "jointly": {Draws: 1 << 14, MaxModels: 1}} {
		t.Run(name, func(t *testing.T) {
			certificate, err := posterior.Certify(t.Context(), certify)
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
			require.Equal(t, 6, certificate.ModelsChecked)
			for _, model := range certificate.Models {
				index := space.Encode(target.space.Cards(), model.Code)
				if excluded(model.Code) {
					require.Zero(t, model.Certified)
					require.Zero(t, model.SE)
					require.Zero(t, model.Q)
					continue
				}
				require.InDelta(t, probability[index]/total, model.Certified, 5*model.SE+1e-4, "model %v", model.Code)
				if certificate.Complete {
					require.InDelta(t, logEvidence[index], model.LogEvidence, 5*model.LogEvidenceSE+1e-3, "model %v", model.Code)
				}
			}
			for _, value := range append(certificate.Sample.LogP, certificate.Sample.LogQ...) {
				require.False(t, math.IsNaN(value) || math.IsInf(value, 0))
			}
		})
	}
}

// The same seed gives the same bits for any number of threads, in training and in certification.
func TestBitIdenticalWhateverTheNumberOfThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	target := newConjugate(40, 4)
	var checkpoint []byte
	var certificate *vti.Certificate
	for _, threads := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(threads)
		cfg := smallConfig()
		cfg.Flow.Kind, cfg.Flow.Hidden, cfg.Steps = cosmic.Spline, 48, 20
		cfg.Checkpoint = filepath.Join(t.TempDir(), "posterior.vti")
		posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
		require.NoError(t, err)
		content, err := os.ReadFile(cfg.Checkpoint)
		require.NoError(t, err)
		certified, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 13})
		require.NoError(t, err)
		if checkpoint == nil {
			checkpoint, certificate = content, certified
			continue
		}
		require.True(t, string(checkpoint) == string(content), "the checkpoint with %d threads differs", threads)
		require.Equal(t, certificate.Models, certified.Models, "%d threads", threads)
		require.Equal(t, certificate.Sample.LogP, certified.Sample.LogP, "%d threads", threads)
	}
}

// hopeless is a target whose log density is finite nowhere.
type hopeless struct{ *conjugate }

func (h hopeless) LogJoint(codes, mask, theta *Node) *Node {
	return AddScalar(h.conjugate.LogJoint(codes, mask, theta), math.Inf(-1))
}

// If no draw has weight, the certificate is Failed, without an error or NaN probabilities.
func TestNoWeightAtAll(t *testing.T) {
	cfg := smallConfig()
	cfg.Steps, cfg.MaxNonFinite = 1, 1
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), hopeless{newConjugate(10, 2)}, cfg)
	require.NoError(t, err)
	for name, certify := range map[string]vti.CertifyConfig{"each": {Draws: 1 << 10}, "jointly": {Draws: 1 << 10, MaxModels: 1}} {
		t.Run(name, func(t *testing.T) {
			certificate, err := posterior.Certify(t.Context(), certify)
			require.NoError(t, err)
			require.Equal(t, vti.Failed, certificate.Verdict)
		})
	}
}
