package likelihood

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// testPoint is a linear predictor with a scale at which densities are tested.
type testPoint struct{ eta, scale float64 }

// likelihoods calls the function each for every kind, with the default shape and other shapes, and
// with test points.
func likelihoods(t *testing.T, each func(t *testing.T, kind Kind, l Likelihood, places []testPoint)) {
	shapes := map[Kind][]Shape{
		StudentKind: {{}, {Degrees: 1.5}, {Degrees: 30}},
		RobustKind:  {{}, {Outlier: 0.4, Ratio: 2}, {Outlier: 0.2, Ratio: 0.3}},
	}
	for _, kind := range Kinds() {
		if kind.HasCategories() {
			continue // ordered_test.go and unordered_test.go test kinds with categories
		}
		var places []testPoint
		for _, eta := range []float64{-3, 0, 0.7, 4} {
			switch {
			case kind.Scale() == "":
				places = append(places, testPoint{eta, 1})
			case !kind.Continuous():
				if kind == BetaKind && eta < 1 { // at larger η shares are too near 1 for float64
					places = append(places, testPoint{eta, 7}, testPoint{eta, 300})
				} else if kind != BetaKind {
					places = append(places, testPoint{eta, 0.4}, testPoint{eta, 7}, testPoint{eta, 300})
				}
			}
		}
		switch {
		case kind == LogNormalKind:
			places = []testPoint{{-3, 0.01}, {0, 1}, {2, 2}}
		case kind.Continuous():
			places = []testPoint{{-3, 0.01}, {0, 1}, {2, 30}}
		case kind == NegativeBinomialKind:
			places = append(places, testPoint{math.Log(5e3), 200}, testPoint{math.Log(1e5), 1e6})
		case kind.Discrete() && kind.Link() == LogLink: // rates to a million
			places = append(places, testPoint{math.Log(5e3), 1}, testPoint{math.Log(1e6), 1})
		}
		list := shapes[kind]
		if list == nil {
			list = []Shape{{}}
		}
		for _, shape := range list {
			t.Run(fmt.Sprint(kind, shape), func(t *testing.T) { each(t, kind, New(kind, shape), places) })
		}
	}
}

// responses returns valid responses around the mean at a point, with weights that turn sums into
// integrals over the response.
func responses(kind Kind, l Likelihood, p testPoint) (y, weights []float64) {
	switch {
	case kind.Binary():
		return []float64{0, 1}, []float64{1, 1}
	case kind.Discrete():
		sd := math.Sqrt(l.Variance(p.eta, p.scale))
		reach := 40 + 12*sd
		switch {
		case kind.Scale() == zeroOdds:
			reach = 40 + 12*math.Exp(p.eta/2)
		case kind == NegativeBinomialKind:
			reach += 40 * math.Exp(p.eta) / p.scale // the tail is exponential
		}
		for count := math.Max(0, math.Floor(math.Exp(p.eta)-reach)); count < math.Exp(p.eta)+reach; count++ {
			y, weights = append(y, count), append(weights, 1)
		}
		if first := y[0]; first > 0 && l.LogKernelAt(0, p.eta, p.scale) > -40 { // excess zeros, although Poisson counts near zero are too improbable to be listed
			y, weights = append([]float64{0}, y...), append([]float64{1}, weights...)
		}
	case kind == BetaKind: // y = 1/(1 + exp −x), for x up to 30: y is then still distinct from 1 in float64
		const step = 0.005
		for x := -600.0; x <= 30; x += step {
			v := 1 / (1 + math.Exp(-x))
			y, weights = append(y, v), append(weights, v*(1-v)*step)
		}
	default:
		// The trapezoid rule in x, with y = η + σ sinh x, reaches tails at e^40 scales.
		const step = 0.01
		for x := -40.0; x <= 40; x += step {
			v, w := p.eta+p.scale*math.Sinh(x), p.scale*math.Cosh(x)*step
			if !kind.Continuous() || kind.Logarithmic() { // integrate over log y
				if !kind.Logarithmic() {
					unit := 1 / math.Max(p.scale, 1)
					v, w = p.eta+unit*math.Sinh(x), unit*math.Cosh(x)*step
				}
				if math.Abs(v) > 700 {
					continue
				}
				v = math.Exp(v)
				w *= v
			}
			y, weights = append(y, v), append(weights, w)
		}
	}
	return y, weights
}

// few returns 41 values at equal distances in a list, among them the first and the last.
func few(values []float64) (some []float64) {
	for i := range 41 {
		some = append(some, values[i*(len(values)-1)/40])
	}
	return some
}

// The density of every likelihood integrates to one, and has the mean and variance that Mean and
// Variance return.
func TestDensityIntegratesToOne(t *testing.T) {
	likelihoods(t, func(t *testing.T, kind Kind, l Likelihood, places []testPoint) {
		for _, p := range places {
			var total, mean, variance float64
			y, weights := responses(kind, l, p)
			centre, unit := l.Mean(p.eta, p.scale), 1.0
			if kind.Continuous() {
				centre, unit = p.eta, p.scale
			}
			if kind.Logarithmic() {
				centre, unit = l.Mean(p.eta, p.scale), math.Sqrt(l.Variance(p.eta, p.scale))
			}
			for i := range y {
				require.Empty(t, kind.Expected(y[i]))
				mass := weights[i] * math.Exp(l.LogKernelAt(y[i], p.eta, p.scale)+l.LogConstant(y[i]))
				deviation := (y[i] - centre) / unit
				if kind.Survival() && mass == 0 {
					continue // a time whose square overflows
				}
				total, mean, variance = total+mass, mean+mass*deviation, variance+mass*deviation*deviation
			}
			require.InDelta(t, 1, total, 1e-9, p)
			want := l.Variance(p.eta, p.scale) / (unit * unit)
			require.InDelta(t, 0, mean, 1e-8*math.Sqrt(math.Min(want, 1e6)), p)
			if math.IsInf(want, 1) {
				require.Greater(t, variance, 1e6, p) // an infinite variance, cut off at the end of the range of summation
			} else {
				require.InEpsilon(t, want, variance, 1e-6, p)
			}
		}
	})
}

// Draws have the mean and the variance of the density. The limit of 5 standard errors gives a false
// alarm in one of 1e6 comparisons.
func TestDrawsHaveMomentsOfDensity(t *testing.T) {
	const n, limit = 20000, 5
	likelihoods(t, func(t *testing.T, kind Kind, l Likelihood, places []testPoint) {
		random := stream.Rand(1, t.Name())
		for _, p := range places {
			want := l.Variance(p.eta, p.scale)
			if math.IsInf(want, 1) {
				want = math.NaN() // medians are compared below instead
			}
			y, squares, below := make([]float64, n), make([]float64, n), 0.0
			mean := l.Mean(p.eta, p.scale)
			if math.IsNaN(mean) {
				mean = p.eta // the median of a distribution without a mean
			}
			for i := range y {
				y[i] = l.Draw(p.eta, p.scale, random)
				require.Empty(t, kind.Expected(y[i]))
				squares[i] = (y[i] - mean) * (y[i] - mean)
				if y[i] < p.eta || kind.Logarithmic() && y[i] < math.Exp(p.eta) {
					below++
				}
			}
			if kind.Continuous() {
				require.InDelta(t, 0.5, below/n, limit*0.5/math.Sqrt(n), "median at %v", p)
			}
			if !math.IsNaN(want) {
				require.InDelta(t, mean, stat.Mean(y, nil), limit*math.Sqrt(want/n), "mean at %v", p)
				spread, sd := stat.MeanStdDev(squares, nil)
				require.InDelta(t, want, spread, limit*sd/math.Sqrt(n)+1e-12, "variance at %v", p)
			}
		}
	})
}

// Slopes and curvatures agree with finite differences of the density, except where NewtonAt returns
// a lower bound in place of a small curvature. Quadratics with the curvature of BoundAt stay below
// the log density on the way to its mode.
func TestNewtonAgainstDifferences(t *testing.T) {
	likelihoods(t, func(t *testing.T, kind Kind, l Likelihood, places []testPoint) {
		for _, p := range places {
			unit := math.Min(p.scale, 1)
			if kind.Scale() == shapeName {
				unit = math.Min(1/p.scale, 1)
			}
			mean, sd := l.Mean(p.eta, p.scale), math.Sqrt(l.Variance(p.eta, p.scale))
			if kind.Continuous() && !kind.Logarithmic() {
				mean, sd = p.eta, p.scale+math.Sqrt(math.Abs(p.eta))
			}
			all, _ := responses(kind, l, p)
			for _, y := range few(all) {
				if math.Abs(y-mean) > 1e3*sd || !(l.LogKernelAt(y, p.eta, p.scale) > -1e6) {
					continue // finite differences have too few digits
				}
				density := func(eta float64) float64 { return l.LogKernelAt(y, eta, p.scale) }
				slope, curvature := l.NewtonAt(y, p.eta, p.scale)
				h := 1e-4 * unit
				size := math.Abs(slope) + curvature*unit + 1/unit
				require.InDelta(t, (density(p.eta+h)-density(p.eta-h))/(2*h), slope, 1e-6*size, "%v, y %v", p, y)
				above, _ := l.NewtonAt(y, p.eta+h, p.scale)
				below, _ := l.NewtonAt(y, p.eta-h, p.scale)
				same, bound := l.BoundAt(y, p.eta, p.scale)
				require.Equal(t, slope, same)
				require.Positive(t, bound)
				require.Positive(t, curvature)
				actual := -(above - below) / (2 * h)
				if heavy, ok := l.(HeavyTailed); ok {
					sameSlope, negative := heavy.CurvatureAt(y, p.eta, p.scale)
					require.InDelta(t, slope, sameSlope, 1e-12*size)
					require.InDelta(t, actual, negative, 1e-5*(bound+size/unit), "%v, y %v", p, y)
				}
				if actual > leastCurvature*bound {
					require.InDelta(t, actual, curvature, 1e-5*(curvature+size/unit), "%v, y %v", p, y)
				}
				for share := 0.0; share <= 1 && kind != BetaKind; share += 0.1 {
					step := share * slope / bound
					quadratic := density(p.eta) + slope*step - bound*step*step/2
					tolerance := 1e-12 * (1 + math.Abs(quadratic) + math.Abs(density(p.eta)))
					if kind == PoissonKind && slope < 0 {
						break // for too large a rate BoundAt returns the curvature of NewtonAt, which need not be a bound
					}
					require.GreaterOrEqual(t, density(p.eta+step), quadratic-tolerance, "%v, y %v, step %v", p, y, step)
				}
			}
		}
	})
}

// evaluate computes a graph in the float type dtype, for rows (y, η) and one σ. It returns the
// kernels, slopes and curvatures of the rows, the gradient of the sum of kernels in η and in log σ,
// and this sum.
func evaluate(t *testing.T, l Likelihood, y, eta []float64, scale float64, dtype dtypes.DType) (kernel, slope, curvature, gradient []float64, byScale, sum float64) {
	outputs := MustExecOnceN(testkit.Backend(t), func(eta, logScale *Node) []*Node {
		eta, logScale = ConvertDType(eta, dtype), ConvertDType(logScale, dtype)
		values := ConvertDType(Const(eta.Graph(), [][]float64{y}), dtype)
		kernel := l.LogKernel(values, eta, logScale)
		slope, curvature := SlopeAndCurvature(l, values, eta, logScale)
		sum := LogDensity(l, y, nil, eta, logScale)
		gradients := Gradient(ReduceAllSum(Add(sum, Reshape(MulScalar(logScale, 0), 1))), eta, logScale)
		all := []*Node{kernel, slope, curvature, gradients[0], gradients[1], sum}
		for i := range all {
			all[i] = ConvertDType(all[i], dtypes.Float64)
		}
		return all
	}, [][]float64{eta}, [][]float64{{math.Log(scale)}})
	values := make([][]float64, len(outputs))
	for i, output := range outputs {
		values[i] = tensors.MustCopyFlatData[float64](output)
	}
	return values[0], values[1], values[2], values[3], values[4][0], values[5][0]
}

// Log densities computed in graphs agree with the log densities on the host, and their gradients
// with the slopes on the host.
func TestGraphAgainstHost(t *testing.T) {
	likelihoods(t, func(t *testing.T, kind Kind, l Likelihood, places []testPoint) {
		for _, p := range places {
			all, _ := responses(kind, l, p)
			var y, eta []float64
			for i, v := range few(all) {
				switch {
				case kind.Logarithmic():
					v = math.Exp(p.eta + p.scale*10*math.Sin(float64(i)))
				case kind.Continuous():
					v = p.eta + p.scale*10*math.Sin(float64(i))
				case kind == BetaKind:
					v = LogitLink.Mean(p.eta + 3*math.Sin(float64(i)))
				case !kind.Discrete():
					v = math.Exp(p.eta + 3*math.Sin(float64(i))/math.Sqrt(p.scale))
				}
				location := p.eta + p.scale*math.Cos(float64(3*i))
				if !kind.Continuous() {
					location = p.eta + math.Cos(float64(3*i))/math.Sqrt(math.Max(p.scale, 1))
				}
				y, eta = append(y, v), append(eta, location)
				if kind.Survival() {
					y, eta = append(y, -v), append(eta, location)
				}
			}
			kernel, slope, curvature, gradient, byScale, sum := evaluate(t, l, y, eta, p.scale, dtypes.Float64)
			for i := range y {
				want := l.LogKernelAt(y[i], eta[i], p.scale)
				require.InDelta(t, want, kernel[i], 1e-11*(1+math.Abs(want)))
				hostSlope, _ := l.NewtonAt(y[i], eta[i], p.scale)
				_, bound := l.BoundAt(y[i], eta[i], p.scale)
				size := math.Abs(hostSlope) + math.Abs(y[i]) + bound*math.Max(p.scale, 1)
				require.InDelta(t, hostSlope, slope[i], 1e-9*size)
				require.InDelta(t, hostSlope, gradient[i], 1e-9*size)
				require.GreaterOrEqual(t, curvature[i], 0.0)
			}
			want := LogDensityAt(l, y, nil, eta, p.scale)
			require.InDelta(t, want, sum, 1e-11*(1+math.Abs(want)))
			if kind.Scale() != "" {
				h := 1e-5
				difference := (LogDensityAt(l, y, nil, eta, p.scale*math.Exp(h)) - LogDensityAt(l, y, nil, eta, p.scale*math.Exp(-h))) / (2 * h)
				require.InDelta(t, difference, byScale, 1e-6*(100+math.Abs(difference))+1e-14*math.Abs(want)/h)
			}
		}
	})
}

// Densities and gradients stay finite in float32 for extreme responses and linear predictors.
func TestFarOutIsFinite(t *testing.T) {
	likelihoods(t, func(t *testing.T, kind Kind, l Likelihood, _ []testPoint) {
		far := []float64{-1e4, -100, -1, 0, 1, 100, 1e4}
		var y, eta []float64
		for _, a := range append([]float64{1e9, 1e-3, 0.5, 0.999, 1e-60, 1 - 1e-12}, far...) {
			for _, b := range far {
				if kind.Expected(a) == "" && !(kind.Continuous() && a == 1e9) {
					y, eta = append(y, a), append(eta, b)
				}
			}
		}
		require.NotEmpty(t, y)
		scales := []float64{1}
		if kind.Scale() != "" {
			scales = []float64{math.Exp(-20), 1, math.Exp(20)}
		}
		for _, scale := range scales {
			kernel, slope, curvature, gradient, byScale, sum := evaluate(t, l, y, eta, scale, dtypes.Float32)
			for name, values := range map[string][]float64{"kernel": kernel, "slope": slope, "curvature": curvature, "gradient": gradient, "sum": {byScale, sum}} {
				for i, v := range values {
					require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s %d is %v at σ = %v", name, i, v, scale)
				}
			}
			for i := range y {
				a, b := l.NewtonAt(y[i], eta[i], scale)
				c, d := l.BoundAt(y[i], eta[i], scale)
				for _, v := range []float64{a, b, c, d, l.LogKernelAt(y[i], eta[i], scale), l.LogConstant(y[i])} {
					require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "host at y %v, η %v, σ %v", y[i], eta[i], scale)
				}
			}
		}
	})
}

// Log densities of large counts lose no digits: log p(y+1) − log p(y) equals η − log(y+1). The
// textbook form, y η − exp η − log y!, is off by more than 1e-7 at 10⁹.
func TestLargeCountsLoseNoDigits(t *testing.T) {
	l := New(PoissonKind, Shape{})
	logProb := func(y, eta float64) float64 { return l.LogKernelAt(y, eta, 1) + l.LogConstant(y) }
	textbook := func(y, eta float64) float64 {
		logFactorial, _ := math.Lgamma(y + 1)
		return y*eta - math.Exp(eta) - logFactorial
	}
	worst, worstTextbook := 0.0, 0.0
	for _, mean := range []float64{1, 50, 99, 100, 1e4, 1e6, 1e9} {
		for _, z := range []float64{-3, -1, 0, 2} {
			y := math.Round(mean + z*math.Sqrt(mean))
			if y < 0 {
				continue
			}
			eta := math.Log(mean)
			want := eta - math.Log(y+1)
			worst = math.Max(worst, math.Abs(logProb(y+1, eta)-logProb(y, eta)-want))
			worstTextbook = math.Max(worstTextbook, math.Abs(textbook(y+1, eta)-textbook(y, eta)-want))
		}
	}
	assert.Less(t, worst, 1e-9)
	assert.Greater(t, worstTextbook, 1e-7)

	// The sum of the log densities of ten counts near a million is correct to 0.1 nat in float32,
	// and to 1e-9 in float64.
	var y, eta []float64
	for i := range 10 {
		eta = append(eta, math.Log(1e6)+0.02*float64(i))
		y = append(y, math.Round(math.Exp(eta[i])*(1+1e-3*math.Sin(float64(i)))))
	}
	want := LogDensityAt(l, y, nil, eta, 1)
	_, _, _, _, _, wide := evaluate(t, l, y, eta, 1, dtypes.Float64)
	_, _, _, _, _, narrow := evaluate(t, l, y, eta, 1, dtypes.Float32)
	assert.InDelta(t, want, wide, 1e-9)
	assert.InDelta(t, want, narrow, 0.1)
}

// LogKernels, Newtons and Bounds, which take many rows at once, give the same as a loop over rows,
// with repeated rows too. Groups of rows have counts up to a million, or below 10.
func TestRowsTogether(t *testing.T) {
	const group = 50
	random := stream.Rand(1, "kernels")
	for _, kind := range Kinds() {
		if kind.HasCategories() {
			continue // ordered_test.go and unordered_test.go test kinds with categories
		}
		l := New(kind, Shape{})
		for round := range 150 {
			scale := []float64{0.05, 1.3, 200}[round%3]
			var y, eta, times, slope, curvature, bound [group]float64
			var sum, repeated, size float64
			for i := range y {
				switch {
				case kind.Binary():
					y[i] = float64(i % 2)
				case kind.Discrete() && round%2 == 0:
					y[i] = math.Floor(10 * random.Float64())
				case kind.Discrete():
					y[i] = math.Floor(math.Exp(15*random.Float64())) - 1
				case kind == BetaKind:
					y[i] = LogitLink.Mean(3 * random.NormFloat64())
				case kind.Continuous() && !kind.Logarithmic():
					y[i] = 3 * random.NormFloat64()
				default:
					y[i] = math.Exp(random.NormFloat64())
				}
				require.Empty(t, kind.Expected(y[i]))
				if kind.Survival() && i%3 == 0 {
					y[i] *= -1 // a censored time
				}
				eta[i] = 4 * random.NormFloat64()
				if i == 7 && round%10 == 0 {
					eta[i] *= 20 // far tails
				}
				times[i] = float64(i % 4)
				one := l.LogKernelAt(y[i], eta[i], scale)
				sum, repeated, size = sum+one, repeated+times[i]*one, size+math.Abs(one)
			}
			require.InDelta(t, sum, LogKernels(l, y[:], nil, eta[:], scale), 1e-11*(1+size), "%s, scale %v", kind, scale)
			require.InDelta(t, repeated, LogKernels(l, y[:], times[:], eta[:], scale), 3e-11*(1+size), "%s, scale %v", kind, scale)
			Bounds(l, y[:], times[:], eta[:], scale, slope[:], bound[:])
			Newtons(l, y[:], times[:], eta[:], scale, slope[:], curvature[:])
			for i, v := range y {
				wantSlope, wantCurvature := l.NewtonAt(v, eta[i], scale)
				_, wantBound := l.BoundAt(v, eta[i], scale)
				for k, values := range [][2]float64{{wantSlope, slope[i]}, {wantCurvature, curvature[i]}, {wantBound, bound[i]}} {
					require.InDelta(t, times[i]*values[0], values[1], 1e-11*(1+math.Abs(times[i]*values[0])), "%s, scale %v, row %d, %d", kind, scale, i, k)
				}
			}
		}
	}
}

// The kernels of rows that fit exactly are finite at a scale whose square underflows.
func TestTinyScale(t *testing.T) {
	y := []float64{1, 2, 3}
	for _, kind := range []Kind{GaussianKind, StudentKind, RobustKind} {
		l := New(kind, Shape{})
		require.InEpsilon(t, 3*l.LogKernelAt(1, 1, 1e-170), LogKernels(l, y, nil, y, 1e-170), 1e-12, "%s", kind)
	}
}

// The likelihood of a censored time is the probability of a longer time.
func TestCensoredTimesAreTails(t *testing.T) {
	for _, kind := range []Kind{ExponentialKind, WeibullKind} {
		l := New(kind, Shape{})
		for _, shape := range []float64{0.6, 1, 3} {
			for _, after := range []float64{0.2, 1, 4} {
				const step = 1e-4
				tail := 0.0
				for x := math.Log(after) + step/2; x < 7; x += step {
					y := math.Exp(x)
					tail += step * y * math.Exp(l.LogKernelAt(y, 0.3, shape)+l.LogConstant(y))
				}
				require.InEpsilon(t, tail, math.Exp(l.LogKernelAt(-after, 0.3, shape)+l.LogConstant(-after)), 1e-5, "%s, shape %v after %v", kind, shape, after)
			}
		}
	}
}

// Densities agree with values of R: dnbinom(7, size = 3, mu = 5, log = TRUE), dgamma(2, 3, rate =
// 0.6), dbeta(0.3, 2, 6), dlnorm(2, 0.4, 0.8), and dweibull(2, 1.5, scale = 3) whose mean is 3
// Γ(5/3).
func TestDensitiesOfR(t *testing.T) {
	logDensity := func(kind Kind, y, eta, scale float64) float64 {
		l := New(kind, Shape{})
		return l.LogKernelAt(y, eta, scale) + l.LogConstant(y)
	}
	for _, c := range []struct {
		kind          Kind
		y, eta, scale float64
		want          float64
	}{
		{NegativeBinomialKind, 7, math.Log(5), 3, -2.6489942252992176},
		{GammaKind, 2, math.Log(5), 3, -2.0393296907380272},
		{BetaKind, 0.3, math.Log(2.0 / 6), 8, 0.75032209426377028},
		{LogNormalKind, 2, 0.4, 0.8, -1.4560790917240374},
		{WeibullKind, 2, math.Log(3 * math.Gamma(5.0/3)), 1.5, -1.4402107885658451},
		{ExponentialKind, 2, math.Log(3), 1, -1.7652789553347765},
		{ZeroInflatedKind, 0, math.Log(2), 0.5, math.Log(1.0/3 + math.Exp(-2)*2/3)},
		{HurdleKind, 3, math.Log(2), 0.5, math.Log(2.0 / 3 * math.Exp(-2) * 8 / 6 / (1 - math.Exp(-2)))},
	} {
		require.InDelta(t, c.want, logDensity(c.kind, c.y, c.eta, c.scale), 1e-12, "%s", c.kind)
	}
}
