package regression

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

func termPriors(t *testing.T, texts ...string) (priors []TermPrior) {
	t.Helper()
	for _, text := range texts {
		p, err := ParseTermPrior(text)
		require.NoError(t, err)
		require.Equal(t, text, p.String())
		priors = append(priors, p)
	}
	return priors
}

// Priors of single terms are given in the units of the table. Here x has its own coefficient prior,
// the standard deviations of intercepts and of slopes of z have priors of other families, and all
// other parameters have the default priors.
func TestTermPriors(t *testing.T) {
	f := frameOf(t, grouped18, frame.Options{Formula: "y ~ x + z + (1 + z | g)"})
	r := newRegression(t, f, Options{Terms: termPriors(t, "b:x=normal(0.5,0.25)", "sd:(Intercept)|g=exponential(2)", "sd:z|g=half-cauchy(3)")})
	plain := newRegression(t, f, Options{})
	column := make([]float64, f.Rows())
	for i := range column {
		column[i] = f.X.At(i, 1)
	}
	sx, sy := stat.StdDev(column, nil), stat.StdDev(f.Y, nil)
	require.InDelta(t, 0.5, r.coordinates[1].mean*sy/sx, 1e-12)
	require.InDelta(t, 0.25, r.coordinates[1].sd*sy/sx, 1e-12)
	require.Equal(t, plain.coordinates[0], r.coordinates[0])
	require.Equal(t, plain.coordinates[2], r.coordinates[2])
	lines := r.Priors()
	require.Contains(t, lines, "effect of x: ~ N(0.5, 0.25²)")
	require.Contains(t, lines, "sd of (Intercept) by g: ~ exponential(2), mean 0.5")
	require.Contains(t, lines, "sd of z by g: ~ half-cauchy(3)")
	result := &Result{}
	r.describe(result, &posteriorSample{})
	require.Contains(t, result.Priors, PriorSummary{"sd((Intercept) | g)", "exponential", 0, 0.5})

	// the density of τ is the density of s times ds/dτ, with s in the units of the table
	mask, random := r.space.masks[0], stream.Rand(3, "terms")
	theta := make([]float64, r.Dim())
	for range 4 {
		sds := []float64{0, 0}
		want := 0.0
		for c, at := range r.groups[0].sd {
			theta[at] = random.NormFloat64()
			logRatio, logSlope := scaleRatio(theta[at])
			sds[c] = math.Exp(logRatio) * r.coordinates[at].unit * r.ySD / r.groups[0].zSD[c]
			want += logRatio + logSlope + math.Log(r.coordinates[at].unit*r.ySD/r.groups[0].zSD[c])
		}
		want += math.Log(2) - 2*sds[0] + math.Log(2/(math.Pi*3)) - math.Log1p(sds[1]*sds[1]/9)
		only := make([]bool, len(mask))
		for _, at := range r.groups[0].sd {
			only[at] = true
		}
		require.InDelta(t, want, r.logPriorOfHyperparameters(only, theta), 1e-10)
	}
}

func TestTermPriorErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x":                      "no =",
		"b:x=normal(1)":          "normal of 1 number is no prior",
		"b:x=normal(0,-1)":       "positive number last",
		"b:x=cauchy(0,1)":        "cauchy of 2 numbers",
		"sd:g=normal(1)":         "unknown prior of standard deviations",
		"sd:g=exponential(1,a)":  `"a" is no number`,
		"sigma:g=half-normal(1)": "is no prior of",
		"b:=normal(0,1)":         "not of that form",
		"sd:g=half-normal(1":     "not of that form",
	} {
		_, err := ParseTermPrior(text)
		require.ErrorContains(t, err, want, text)
	}
	f := frameOf(t, grouped18, frame.Options{Formula: "y ~ x + (1 | g)"})
	for _, text := range []string{"b:z=normal(0,1)", "b:(Intercept)=normal(0,1)", "sd:h=exponential(1)", "sd:x|g=exponential(1)"} {
		_, err := New(f, Options{Terms: termPriors(t, text)})
		require.ErrorContains(t, err, "there is no such term", text)
	}
}

// The prior of the correlations of a model with some of the varying terms is the LKJ prior for its
// own columns, for any order of terms in the formula. The density of a correlation matrix R is
// |R|^(η−1) divided by a constant. Here two of three columns vary.
func TestSubmodelsHaveTheirOwnLKJPrior(t *testing.T) {
	const eta = 2.0
	random := stream.Rand(1, "lkj")
	for _, formula := range []string{"y ~ x + z + (1 + x + z | g)", "y ~ x + z + (0 + x + z | g) + (1 | h)", "y ~ z + x + (1 + z + x | g)"} {
		r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: formula}), Options{Select: true, Correlation: eta})
		g := r.groups[0]
		for index, code := range r.codes() {
			mask := r.space.masks[index]
			var used [][2]int
			for a := range g.Columns {
				for b := range a {
					if at := g.partial[a][b]; at >= 0 && mask[at] {
						used = append(used, [2]int{a, b})
					}
				}
			}
			if len(used) != 1 || math.IsInf(r.space.logPrior[index], -1) {
				continue
			}
			theta := make([]float64, r.Dim())
			for range 5 {
				for j := range theta {
					theta[j] = 1.5 * random.NormFloat64()
				}
				at := g.partial[used[0][0]][used[0][1]]
				// p(z) = p(ρ) dρ/dz, with p(ρ) ∝ (1 − ρ²)^(η−1), whose integral for η = 2 is 4/3
				w, logSlope := partialAt(theta[at], r.coordinates[at].beta)
				rho := math.Tanh(w)
				want := math.Log((1-rho*rho)*3/4) + math.Log(1-rho*rho) + logSlope
				without := append([]bool(nil), mask...)
				without[at] = false
				got := r.logPriorOfHyperparameters(mask, theta) - r.logPriorOfHyperparameters(without, theta)
				require.InDelta(t, want, got, 1e-10, r.FormulaOf(code))
			}
		}
	}
}

// The log prior density of a computation graph equals the log prior density computed on the host,
// in every model, at random coordinates.
func TestSubmodelPriorsOfGraphsAndHost(t *testing.T) {
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x + z + (1 + x + z | g)"}), Options{Select: true, Correlation: 1.3, Terms: termPriors(t, "b:x=normal(1,2)", "sd:z|g=exponential(4)")})
	random := stream.Rand(2, "lkj")
	var masks [][]bool
	var thetas [][]float64
	var want []float64
	for index := range r.space.masks {
		mask, theta := r.space.masks[index], make([]float64, r.Dim())
		sum := 0.0
		for j, c := range r.coordinates {
			if mask[j] {
				theta[j] = random.NormFloat64()
				if index%3 == 0 && c.kind == partialCoordinate {
					theta[j] = 0
				}
				if c.kind == populationCoordinate {
					z := (theta[j] - c.mean) / c.sd
					sum -= z*z/2 + math.Log(c.sd) + halfLog2Pi
				}
			}
		}
		masks, thetas, want = append(masks, mask), append(thetas, theta), append(want, sum+r.logPriorOfHyperparameters(mask, theta))
	}
	out := graph.MustExecOnce(testkit.Backend(t), func(mask, theta *graph.Node) *graph.Node {
		used := graph.ConvertDType(mask, theta.DType())
		return r.logPriorDensity(mask, theta, r.columns(theta, used))
	}, masks, thetas)
	require.InDeltaSlice(t, want, out.Value(), 1e-9)
}

// The evidence of a model in a selection is the evidence of a regression with its formula. It
// depends neither on the order of terms nor on the other terms of the selection.
func TestEvidencesOfSubmodelsAreTheirOwn(t *testing.T) {
	testkit.Long(t)
	formulas := []string{
		"y ~ x + z + (1 + x | g) + (1 | h)", "y ~ z + x + (1 | h) + (1 + x | g)", "y ~ x + s + (1 + s + x | g) + (1 | h)", "y ~ x + z + x:z + (1 + x + z | g)",
	}
	type answer struct{ logEvidence, se float64 }
	found := map[string]map[string]answer{} // by model, and formula of the selection
	for _, source := range formulas {
		r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: source}), Options{Select: true, Correlation: 1.5})
		all := r.newIntegral(1)
		for _, m := range all.list {
			name, ok := map[string]string{
				"y ~ 1 + x + (1 + x | g)": "slopes", "y ~ 1 + x + (1 + x | g) + (1 | h)": "both", "y ~ 1 + x + (1 | h) + (1 + x | g)": "both", "y ~ 1 + x + (1 | g)": "levels", "y ~ 1 + x": "none",
			}[r.FormulaOf(m.code)]
			if !ok {
				continue
			}
			require.NoError(t, all.drawFirst(t.Context(), m, exactEffort, exactEffort.first))
			if found[name] == nil {
				found[name] = map[string]answer{}
			}
			found[name][source] = answer{m.weights.LogMean + r.LogJacobian(), m.weights.LogMeanSE}
		}
	}
	for name, want := range map[string]int{"slopes": 4, "both": 3, "levels": 4, "none": 4} {
		require.Len(t, found[name], want, "%s: %v", name, found)
		first := found[name][formulas[0]]
		for source, other := range found[name] {
			require.Less(t, other.se, 0.02, "%s from %s", name, source)
			require.InDelta(t, first.logEvidence, other.logEvidence, 4*math.Hypot(first.se, other.se)+1e-9, "%s from %s", name, source)
		}
	}
}

// An offset that looks like an exposure instead of its logarithm is an error, which shows the
// formula to write.
func TestOffsetsOfExposures(t *testing.T) {
	const pumps = "failures,hours,pump\n5,94.3,a\n1,15.7,a\n5,62.9,b\n14,125.8,b\n3,5.24,c\n19,31.4,c\n"
	exposures := frameOf(t, pumps, frame.Options{Formula: "failures ~ offset(hours) + (1 | pump)", Response: likelihood.PoissonKind})
	_, err := New(exposures, Options{})
	require.ErrorContains(t, err, "from 5.24 to 125.8")
	require.ErrorContains(t, err, "for exposures write log(hours)")
	newRegression(t, frameOf(t, pumps, frame.Options{Formula: "failures ~ offset(log(hours)) + (1 | pump)", Response: likelihood.PoissonKind}), Options{})
}
