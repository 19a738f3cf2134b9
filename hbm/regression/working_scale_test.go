package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// A positive response in another unit has another intercept, and a density that differs by the
// Jacobian, for all values of all other parameters.
func TestUnitsOfPositiveResponses(t *testing.T) {
	const unit = 1000
	random := rand.New(rand.NewPCG(3, 16))
	texts := [2]string{"y,x,g\n", "y,x,g\n"}
	const rows = 12
	for i := range rows {
		y, x := random.ExpFloat64(), random.NormFloat64()
		for k, scale := range []float64{1, unit} {
			texts[k] += fmt.Sprintf("%.17g,%g,g%d\n", y*scale, x, i%4)
		}
	}
	for _, kind := range []likelihood.Kind{likelihood.GammaKind, likelihood.ExponentialKind, likelihood.WeibullKind} {
		var values [2]float64
		theta := []float64(nil)
		for k, text := range texts {
			r := newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ x + (1 | g)", Response: kind}), Options{})
			if theta == nil {
				for range r.Dim() {
					theta = append(theta, random.NormFloat64())
				}
			} else {
				theta[0] += math.Log(unit)
			}
			rule := newInnerRule(r, quadratureNodes)
			values[k] = logJointAt(rule, r.logConstants()+r.LogJacobian(), r.space.masks[0], theta)
		}
		require.InDelta(t, values[0]-rows*math.Log(unit), values[1], 1e-8, "%s", kind)
	}
}

// Columns of a table may have the names of results, such as sigma, and names and labels may have
// several lines. In the answer all names are distinct and take one line each.
func TestNamesOfResults(t *testing.T) {
	text := "y,(Intercept),sigma,\"two\nlines\",\"the\ngroup\"\n1,2,3,u,\"a\nb\"\n2,3,1,v,\"a\nb\"\n4,1,2,w,c\n3,5,4,u,c\n2.5,1,1,v,d\n6,2,2,w,d\n"
	f := frameOf(t, text, frame.Options{Formula: "y ~ `(Intercept)` + sigma + `two lines` + (1 | `the group`)"})
	r := newRegression(t, f, Options{})
	var names []string
	for _, c := range f.Columns {
		names = append(names, c.Name)
	}
	names = append(append(names, r.sdNames...), f.Groupings[0].Levels...)
	require.Equal(t, []string{"(Intercept)", "`(Intercept)`", "`sigma`", "two lines=v", "two lines=w",
		"sd((Intercept) | the group)", "sigma", "\"a\\nb\"", "c", "d"}, names)
	result, _ := runRegression(t, f, Options{}, vti.Config{})
	require.Equal(t, "`(Intercept)`", result.Effects[1].Name)
}

// repeatedRows returns a table of few distinct rows: counts n, binary b, categories k, times t that
// may be censored, and an exposure o, by herd and period.
func repeatedRows() string {
	random := stream.Rand(5, "repeated")
	var text strings.Builder
	text.WriteString("n,b,k,t,c,o,period,herd,farm\n")
	for i := range 240 {
		herd, period := i%6, i/6%3
		fmt.Fprintf(&text, "%d,%d,%d,%d,%d,%d,p%d,h%d,f%d\n", random.IntN(3)+herd/3, random.IntN(2), 1+random.IntN(3), 1+random.IntN(3), random.IntN(2), 1+herd%2, period, herd, (herd+period)%4)
	}
	return text.String()
}

// plainly returns the regression of f in which equal rows are not merged.
func plainly(t *testing.T, f *frame.Frame) *Regression {
	r := newRegression(t, f, Options{})
	r.distinct = func() *Regression { return r }
	r.joint = sync.OnceValue(func() *jointEffects { return newJointEffects(r) })
	return r
}

var repeatedFrames = map[string]frame.Options{
	"logistic":   {Formula: "b ~ period + (1 + period | herd)", Response: likelihood.LogisticKind},
	"crossed":    {Formula: "b ~ period + (1 | herd) + (1 | farm)", Response: likelihood.LogisticKind},
	"poisson":    {Formula: "n ~ period + offset(log(o)) + (1 | herd)", Response: likelihood.PoissonKind},
	"counted":    {Formula: "n | weights(o) ~ period + (1 | herd)", Response: likelihood.PoissonKind},
	"negative":   {Formula: "n ~ period + (1 | herd) + (1 | farm)", Response: likelihood.NegativeBinomialKind},
	"inflated":   {Formula: "n ~ period + (1 | herd)", Response: likelihood.ZeroInflatedKind},
	"censored":   {Formula: "t | cens(c) ~ period + (1 | herd)", Response: likelihood.WeibullKind},
	"student":    {Formula: "t ~ period + (1 | herd)", Response: likelihood.StudentKind},
	"ordered":    {Formula: "k ~ period + (1 | herd)", Response: likelihood.CumulativeLogitKind},
	"probit":     {Formula: "k ~ period + (1 | herd)", Response: likelihood.CumulativeProbitKind},
	"population": {Formula: "n ~ period", Response: likelihood.PoissonKind},
}

// The density from distinct rows and their numbers is the density of all rows.
func TestDistinctRows(t *testing.T) {
	for name, opt := range repeatedFrames {
		t.Run(name, func(t *testing.T) {
			f := frameOf(t, repeatedRows(), opt)
			counted, all := newRegression(t, f, Options{}), plainly(t, f)
			reduced := counted.distinct()
			require.Less(t, 2*len(reduced.y), len(all.y))
			require.InDelta(t, f.Rows(), sum(reduced.times), 0)
			require.Equal(t, all.y, reduced.ofTable(reduced.y))
			random := stream.Rand(3, name)
			for range 3 {
				theta := make([]float64, all.Dim())
				for j := range theta {
					theta[j] = 0.5 * random.NormFloat64()
				}
				mask := all.space.masks[0]
				require.InDeltaSlice(t, predictorAt(all, mask, theta), reduced.ofTable(predictorAt(reduced, mask, theta)), 1e-12)
				if all.categories == nil {
					point := mat.NewDense(1, len(theta), theta)
					want := logJoints(t, all.Target(), all.codes()[:1], point)[0]
					require.InDelta(t, want, logJoints(t, counted.Target(), all.codes()[:1], point)[0], 1e-10)
				}
				if all.inner == nil {
					continue
				}
				rule, ownRule := newInnerRule(all, quadratureNodes), newInnerRule(reduced, quadratureNodes)
				require.InDelta(t, rule.logDensity(mask, theta)+all.logConstants(), ownRule.logDensity(mask, theta)+reduced.logConstants(), 1e-10)
				point, ownPoint := pointAt(rule, mask, theta), pointAt(ownRule, mask, theta)
				for level := range all.inner.Levels {
					one, other := point.draw(level, stream.Rand(1, "effects")), ownPoint.draw(level, stream.Rand(1, "effects"))
					require.InDeltaSlice(t, one, other, 1e-10)
				}
			}
		})
	}
}

// predictorAt returns the linear predictors at θ without the effects of the inner grouping.
func predictorAt(r *Regression, mask []bool, theta []float64) []float64 {
	prior, _, effects := newJointEffects(r).effectsAt(mask, theta)
	return prior.predictor(effects)
}

// pointAt returns the point at which the levels of the inner grouping are integrated at θ.
func pointAt(l *innerRule, mask []bool, theta []float64) *innerPoint {
	prior, _, effects := newJointEffects(l.r).effectsAt(mask, theta)
	return l.pointAt(prior, effects, l.r.responseAt(mask, theta))
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// Answers by distinct rows are the answers by all rows, one by one: evidences with their
// normalising constants, draws, and the results that have a value for each row.
func TestAnswersOfDistinctRows(t *testing.T) {
	testkit.Long(t)
	device := open(t, gpu.CPU)
	for _, name := range []string{"crossed", "counted", "ordered"} {
		t.Run(name, func(t *testing.T) {
			f := frameOf(t, repeatedRows(), repeatedFrames[name])
			var results []*Result
			for _, r := range []*Regression{newRegression(t, f, Options{}), plainly(t, f)} {
				said := 0
				result, err := r.Run(t.Context(), device, Run{Status: func(string) { said++ }})
				require.NoError(t, err)
				require.Positive(t, said, "says what it does")
				results = append(results, result)
			}
			got, want := results[0], results[1]
			require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 1e-10)
			require.Len(t, got.ModelCheck.Fitted, f.Rows())
			require.Equal(t, want.Checks, got.Checks)
			for k, s := range want.Effects {
				require.InDelta(t, float64(s.Mean), float64(got.Effects[k].Mean), 1e-9, s.Name)
				require.InDelta(t, float64(s.SD), float64(got.Effects[k].SD), 1e-9, s.Name)
			}
		})
	}
}

// Rows that differ in a value on which their density depends are not merged. Equal rows are not
// merged if they are few, or if the response is gaussian.
func TestRowsThatDiffer(t *testing.T) {
	opt := frame.Options{Formula: "n ~ x + offset(o) + (0 + z | g)", Response: likelihood.PoissonKind}
	base := []string{"1", "0.5", "2", "1", "a"}
	text := "n,x,o,z,g\n" + strings.Repeat(strings.Join(base, ",")+"\n", 9)
	for k, other := range []string{"2", "0.6", "3", "-1", "b"} {
		row := slices.Clone(base)
		row[k] = other
		text += strings.Join(row, ",") + "\n"
	}
	r := newRegression(t, frameOf(t, text, opt), Options{})
	require.Equal(t, []float64{9, 1, 1, 1, 1, 1}, r.distinct().times)
	opt.Response = likelihood.GaussianKind
	gaussian := newRegression(t, frameOf(t, text, opt), Options{})
	require.Same(t, gaussian, gaussian.distinct())
	few := newRegression(t, frameOf(t, counts18, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind}), Options{})
	require.Same(t, few, few.distinct())
}
