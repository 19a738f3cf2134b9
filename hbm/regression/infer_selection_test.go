package regression

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/run"
)

var (
	inferredTables     = flag.Int("inferred.tables", 6, "tables of TestInferredSelections")
	inferredLikelihood = flag.String("inferred.likelihood", "gaussian", "their response")
	inferredCompared   = flag.Int("inferred.compared", 1, "compare one of so many")
	inferredSeed       = flag.Uint64("inferred.seed", 1, "their seed")
)

// inferredFormula has two crossed groupings.
const inferredFormula = "y ~ x + (x | g) + (1 | h)"

// drawnSelection draws a model, its parameters and a table from the priors, which take 0 and 1 as
// the mean and sd of a continuous response.
func drawnSelection(t *testing.T, opt frame.Options, options Options, random *rand.Rand) (r *Regression, code []int32) {
	rows, g, h := 120+random.IntN(181), 8+random.IntN(13), 5+random.IntN(8)
	x, labels := make([]float64, rows), make([]string, rows)
	for i := range x {
		x[i], labels[i] = random.NormFloat64(), fmt.Sprintf("g%d,h%d", random.IntN(g), random.IntN(h))
	}
	with := func(y []float64) *Regression {
		var text strings.Builder
		text.WriteString("y,x,g,h\n")
		for i, v := range y {
			fmt.Fprintf(&text, "%v,%v,%s\n", v, x[i], labels[i])
		}
		return newRegression(t, frameOf(t, text.String(), opt), options)
	}
	either := make([]float64, rows)
	for i := range either {
		either[i] = float64(i % 2)
	}
	r = with(either)
	code = r.codes()[pick.Log(r.space.logPrior, random.Float64())]
	mask, theta := r.space.masks[r.index(code)], make([]float64, r.Dim())
	for _, j := range r.hyperparameters(mask) {
		switch c := r.coordinates[j]; c.kind {
		case sdCoordinate:
			theta[j] = r.coordinateOf(j, math.Abs(random.NormFloat64())*c.scale)
		case partialCoordinate:
			w := math.Atanh(2*distuv.Beta{Alpha: c.betaOf(mask), Beta: c.betaOf(mask), Src: random}.Rand() - 1)
			theta[j] = math.Copysign(math.Sqrt(4*c.beta*(math.Sqrt(1+w*w)-1)), w)
		default:
			theta[j] = c.mean + c.sd*random.NormFloat64()
		}
	}
	prior, v, y := r.joint().prior(mask, theta, r.sdsAt(theta)), make([]float64, r.joint().effects), make([]float64, rows)
	for k := range v {
		v[k] = random.NormFloat64()
	}
	eta := prior.predictor(prior.effectsOf(v))
	for slices.Min(y) == slices.Max(y) {
		r.responseAt(mask, theta).draws(eta, random, y)
	}
	return with(y), code
}

// reference computes the evidence of each model from its own proposal, with another seed.
func reference(t *testing.T, r *Regression) *integral {
	f := r.newIntegral(77)
	for _, m := range f.list {
		require.NoError(t, f.drawFirst(t.Context(), m, r.effort(), r.effort().first))
	}
	f.combine()
	return f
}

// The test draws tables of two crossed groupings from the priors, and answers them as the command
// "vti hbm infer" does. Probabilities and evidences of models in trusted answers agree with the
// function reference, and probabilities of terms are calibrated. The test logs lines for
// docs/benchmarks/calibration.md.
func TestInferredSelections(t *testing.T) {
	testkit.Long(t)
	kind, err := frame.ParseResponseKind(*inferredLikelihood)
	require.NoError(t, err)
	options := Options{Select: true, ResponseSD: 1, InterceptScale: 1, SDScale: 0.5}
	var trusted, wrong int
	var z, seconds []float64
	var bins [5]struct{ n, in, sum float64 }
	for k := range *inferredTables {
		r, code := drawnSelection(t, frame.Options{Formula: inferredFormula, Response: kind}, options, stream.Rand(*inferredSeed, fmt.Sprint("inferred/", k)))
		result := r.newResult(open(t, gpu.CPU), uint64(k), MarginalFamily, "")
		start := processorSeconds(t)
		require.NoError(t, r.answerIntegral(t.Context(), result, run.NewClock()))
		seconds = append(seconds, processorSeconds(t)-start)
		if result.Certificate.Verdict != vti.Trusted {
			t.Log(k, result.Certificate.Verdict, result.Certificate.Reasons)
			continue
		}
		trusted++
		want := &integral{}
		if k%*inferredCompared == 0 {
			want = reference(t, r)
		}
		for i, m := range want.list {
			got := result.Models[slices.IndexFunc(result.Models, func(s ModelSummary) bool { return s.Formula == r.FormulaOf(m.code) })]
			difference, se := float64(got.Certified)-want.Probability[i], math.Hypot(float64(got.SE), want.SE[i])
			apart := float64(*got.LogEvidence) - m.weights.LogMean - r.LogJacobian()
			if far := math.Abs(apart) - 4*math.Hypot(float64(*got.LogEvidenceSE), m.weights.LogMeanSE); far > 0.05 {
				t.Logf("%d: the log evidence of %s is %.3f ± %.3f, and %.3f off", k, got.Formula, *got.LogEvidence, *got.LogEvidenceSE, apart)
				wrong++
			}
			if want.Probability[i] > notableModel && want.Probability[i] < 1-notableModel {
				z = append(z, difference/se)
			}
			if math.Abs(difference) > 4*se+1e-4 {
				wrong++
				t.Logf("%d: %s has the probability %.4f ± %.4f, and %.4f ± %.4f by its own proposal", k, got.Formula, got.Certified, got.SE, want.Probability[i], want.SE[i])
			}
		}
		for _, state := range result.Terms {
			site := slices.IndexFunc(r.questions, func(q question) bool { return q.name == state.Term })
			bin := &bins[min(int(5*state.Prob), 4)]
			bin.n, bin.sum = bin.n+1, bin.sum+float64(state.Prob)
			if r.questions[site].state(code[site], r.groups) == state.State {
				bin.in++
			}
		}
	}
	slices.Sort(seconds)
	t.Logf("%s: %d trusted of %d, %d probabilities or log evidences wrong, processor seconds %.2f (median) to %.2f", kind, trusted, *inferredTables, wrong, seconds[len(seconds)/2], seconds[len(seconds)-1])
	t.Logf("sd of z of %d probabilities %.2f", len(z), math.Sqrt(dot(z, z)/float64(len(z))))
	for _, bin := range bins {
		t.Logf("of %.0f states of mean probability %.3f, %.3f were true", bin.n, bin.sum/bin.n, bin.in/bin.n)
		require.InDelta(t, bin.sum, bin.in, 4*math.Sqrt(bin.n)/2+1)
	}
	require.Zero(t, wrong)
	require.GreaterOrEqual(t, 10*trusted, 9**inferredTables)
}

// Under a Student likelihood a model without effects needs larger noise than the largest model.
// With draws from the proposal of the largest model, the log evidence of y ~ 1 for this table is
// 373 nats too low, with a stated error of 1. The tolerance is four standard errors and 0.05 nats:
// a false alarm in 16,000 runs.
func TestImprobableModelsHaveTheirNoise(t *testing.T) {
	testkit.Slow(t)
	options := Options{Select: true, ResponseSD: 1, InterceptScale: 1, SDScale: 0.5}
	r, _ := drawnSelection(t, frame.Options{Formula: inferredFormula, Response: likelihood.StudentKind}, options, stream.Rand(4804, "inferred/0"))
	found, err := r.integrate(t.Context(), r.effort().opened(), 0, nil)
	require.NoError(t, err)
	smallest := func(m *modelIntegral) bool { return r.FormulaOf(m.code) == "y ~ 1" }
	got := found.list[slices.IndexFunc(found.list, smallest)].weights
	alone := r.newIntegral(77)
	m := alone.list[slices.IndexFunc(alone.list, smallest)]
	require.NoError(t, alone.drawFirst(t.Context(), m, r.effort(), r.effort().first))
	require.InDelta(t, m.weights.LogMean, got.LogMean, 4*math.Hypot(m.weights.LogMeanSE, got.LogMeanSE)+0.05)
	require.Less(t, got.LogMeanSE, 0.2)
}

// coordinateOf returns coordinate j of θ for the value that its variable has in a model with
// plates: a standard deviation, the noise, or the coordinate of a correlation.
func (r *Regression) coordinateOf(j int, value float64) float64 {
	switch c := r.coordinates[j]; c.kind {
	case noiseCoordinate:
		return math.Log(value)
	case sdCoordinate:
		return ratioAt(math.Log(value / c.unit))
	}
	return value
}

// ratioAt returns the τ for which scaleRatio returns logRatio. log r(τ) increases with τ.
func ratioAt(logRatio float64) float64 {
	low, high := -64.0, math.Exp(logRatio)+2
	for range 64 {
		middle := (low + high) / 2
		if value, _ := scaleRatio(middle); value < logRatio {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
