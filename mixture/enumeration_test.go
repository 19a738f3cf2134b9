package mixture

import (
	gocontext "context"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// A sum over all assignments of the rows to components gives reference values of p(k | data) for
// the samplers. Given β, the probability of an assignment is a Dirichlet-multinomial probability
// times a product over components: the density of the rows of a component, integrated over its mean
// and variance. One-dimensional trapezoidal rules compute the integrals over β and, where there is
// no closed form, over variances.

// lanes is the number of values of β for which sums are computed together.
const lanes = 8

// byNode holds a number for each of the lanes values of β, the nodes of a quadrature.
type byNode [lanes]float64

// grid holds the nodes of a trapezoidal rule for integrals over the logarithm of a positive number.
type grid struct{ from, to, step float64 }

func (g grid) nodes() (list []float64) {
	for x := g.from; x <= g.to; x += g.step {
		list = append(list, math.Exp(x))
	}
	return list
}

// Outside the ranges of betaGrid and varianceGrid the integrands are less than 1e-9 of their
// maximum.
func betaGrid() grid     { return grid{-14, 2, 0.4} }
func varianceGrid() grid { return grid{-19, 8, 0.25} }

// enumerate returns p(k | data) for k from 1 to 3.
func (p *Problem) enumerate(betas, variances grid) (probability [3]float64) {
	o, n := p.Options, p.Rows()
	rising := make([]float64, n+1) // Γ(δ+m)/Γ(δ)
	for m := range rising {
		rising[m] = math.Exp(logsum.Gamma(o.Concentration+float64(m)) - logsum.Gamma(o.Concentration))
	}
	add := func(bySet []byNode, weight byNode) {
		for set := range bySet {
			for l := range bySet[set] {
				bySet[set][l] *= rising[bits.OnesCount(uint(set))]
			}
		}
		for k, sum := range [3]byNode{bySet[len(bySet)-1], overTwo(bySet), overThree(bySet)} {
			size := float64(k+1) * o.Concentration
			for l := range sum {
				probability[k] += weight[l] * sum[l] * math.Exp(logsum.Gamma(size)-logsum.Gamma(size+float64(n)))
			}
		}
	}
	if o.Family == Poisson {
		add(p.countMarginals(), byNode{1})
	} else {
		for list := range slices.Chunk(betas.nodes(), lanes) {
			var weight byNode
			for l, b := range list {
				weight[l] = math.Pow(b, o.ScaleShape) * math.Exp(-o.ScaleRate*b)
			}
			add(p.marginals(list, variances), weight)
		}
	}
	total := probability[0] + probability[1] + probability[2]
	for k := range probability {
		probability[k] /= total
	}
	return probability
}

// overTwo returns Σ bySet[S] bySet[all rows but S] over all sets S of rows. The bits of the index S
// are the rows of the set. overTwo computes twice the sum over the sets S that contain the first
// row.
func overTwo(bySet []byNode) (sum byNode) {
	all := len(bySet) - 1
	for set := 1; set < len(bySet); set += 2 {
		a, b := &bySet[set], &bySet[all^set]
		for l := range sum {
			sum[l] += 2 * a[l] * b[l]
		}
	}
	return sum
}

// overThree returns Σ bySet[S] bySet[T] bySet[U] over all ways to divide the rows into three sets
// S, T and U. By symmetry it is three times the sum in which S contains the first row, and twice
// the part of this sum in which T contains the first row outside S.
func overThree(bySet []byNode) (sum byNode) {
	all := len(bySet) - 1
	for left := 0; left < len(bySet); left += 2 { // left is the set of rows outside S
		var pairs byNode
		if left == 0 {
			for l, x := range bySet[0] {
				pairs[l] = x * x
			}
		} else {
			first := left & -left
			rest := left ^ first
			for t := rest; ; t = (t - 1) & rest {
				a, b := &bySet[t|first], &bySet[rest^t]
				for l := range pairs {
					pairs[l] += 2 * a[l] * b[l]
				}
				if t == 0 {
					break
				}
			}
		}
		for l, x := range bySet[all^left] {
			sum[l] += 3 * x * pairs[l]
		}
	}
	return sum
}

// countMarginals returns the marginal likelihood of the counts of every set of rows.
func (p *Problem) countMarginals() []byNode {
	o, y := p.Options, p.columns[0].y
	bySet := make([]byNode, 1<<len(y))
	for set := range bySet {
		total, size, logs := 0.0, 0.0, 0.0
		for i, v := range y {
			if set>>i&1 == 1 {
				total, size, logs = total+v, size+1, logs-logsum.Gamma(v+1)
			}
		}
		logs += o.RateShape*math.Log(o.RateExposure) - logsum.Gamma(o.RateShape) + logsum.Gamma(o.RateShape+total) - (o.RateShape+total)*math.Log(o.RateExposure+size)
		bySet[set][0] = math.Exp(logs)
	}
	return bySet
}

// marginals returns the marginal likelihood of every set of rows in one component, by value of β.
func (p *Problem) marginals(betas []float64, variances grid) []byNode {
	bySet, a := make([]byNode, 1<<p.Rows()), p.Options.PrecisionShape
	for _, v := range variances.nodes() {
		var weight byNode
		for l, b := range betas {
			weight[l] = variances.step * math.Exp(a*math.Log(b/v)-logsum.Gamma(a)-b/v)
		}
		likelihood := p.overMeans
		if p.Options.Family == Normal {
			likelihood = p.overNormalMeans
		}
		for set, x := range likelihood(v) {
			for l := range weight {
				bySet[set][l] += weight[l] * x
			}
		}
	}
	return bySet
}

// overNormalMeans returns ∫ Π N(y_i; m, v) N(m; 0, MeanSD²) dm for every set of rows, the product
// being over the rows of the set.
func (p *Problem) overNormalMeans(v float64) []float64 {
	y, prior := p.columns[0].y, p.Options.MeanSD*p.Options.MeanSD
	size := 1 << len(y)
	sum, square, bySet := make([]float64, size), make([]float64, size), make([]float64, size)
	bySet[0] = 1
	for set := 1; set < size; set++ {
		i, n := bits.TrailingZeros(uint(set)), float64(bits.OnesCount(uint(set)))
		sum[set], square[set] = sum[set&(set-1)]+y[i], square[set&(set-1)]+y[i]*y[i]
		mean := sum[set] / n
		about := math.Max(0, square[set]-n*mean*mean)
		bySet[set] = math.Exp(-0.5 * (n*math.Log(2*math.Pi*v) + math.Log1p(n*prior/v) + about/v + mean*mean/(prior+v/n)))
	}
	return bySet
}

// overMeans returns ∫ Π p(y_i; m, v) N(m; 0, MeanSD²) dm for every set of rows, where p is any
// density of a row. It uses Gauss's rule of three points between nodes, which are dense near the
// rows.
func (p *Problem) overMeans(v float64) []float64 {
	y, sd := p.columns[0].y, p.Options.MeanSD
	var places []float64
	for x := -6.0; x <= 6; x += 0.1 {
		places = append(places, x*sd)
	}
	for t := -8.0; t <= 8; t += 0.25 {
		for _, centre := range y {
			places = append(places, centre+0.5*math.Sqrt(v)*math.Sinh(t))
		}
	}
	slices.Sort(places)
	bySet, product := make([]float64, 1<<len(y)), make([]float64, 1<<len(y))
	for at := 1; at < len(places); at++ {
		low, high := places[at-1], places[at]
		if low < -6*sd || high > 6*sd {
			continue
		}
		for q, root := range []float64{-math.Sqrt(0.6), 0, math.Sqrt(0.6)} {
			m := (low+high)/2 + root*(high-low)/2
			product[0] = []float64{5. / 9, 8. / 9, 5. / 9}[q] * (high - low) / 2 * math.Exp(-0.5*m*m/(sd*sd)) / (sd * math.Sqrt(2*math.Pi))
			bySet[0] += product[0]
			for i := range y {
				density := math.Exp(p.family.logDensity(i, component{mean: m, variance: v}))
				for set := range 1 << i {
					product[set|1<<i] = product[set] * density
					bySet[set|1<<i] += product[set|1<<i]
				}
			}
		}
	}
	return bySet
}

// overTwo and overThree, which sum over pairs and triples of sets of rows, give the same as sums
// over all assignments of rows to two and three components.
func TestSumsOverSets(t *testing.T) {
	bySet := make([]byNode, 1<<5)
	random := stream.Rand(1, "sets")
	for set := range bySet {
		bySet[set][2] = random.Float64()
	}
	for k, got := range map[int]byNode{2: overTwo(bySet), 3: overThree(bySet)} {
		want := 0.0
		for code := range int(math.Pow(float64(k), 5)) {
			var sets [3]int
			for i, rest := 0, code; i < 5; i, rest = i+1, rest/k {
				sets[rest%k] |= 1 << i
			}
			product := 1.0
			for _, set := range sets[:k] {
				product *= bySet[set][2]
			}
			want += product
		}
		require.InEpsilon(t, want, got[2], 1e-12)
	}
}

// Integrals over means by quadrature equal the closed form where one exists, from narrow to wide
// components. p(k | data) does not depend on the step lengths of the quadratures.
func TestIntegralsAreExact(t *testing.T) {
	p := problemOf(t, Options{MaxComponents: 3}, small(3, 8))
	for _, v := range []float64{1e-7, 1e-3, 0.05, 3} {
		want, got := p.overNormalMeans(v), p.overMeans(v)
		for set := range want {
			require.InDelta(t, want[set], got[set], 1e-4*want[set]+1e-12, "variance %g, set %b", v, set)
		}
	}
	got := p.enumerate(betaGrid(), varianceGrid())
	fine := p.enumerate(grid{-17, 3, 0.25}, grid{-23, 10, 0.15})
	require.InDeltaSlice(t, fine[:], got[:], 1e-6)
}

// small returns n values from a mixture of up to three components.
func small(seed uint64, n int) []float64 {
	random := stream.Rand(seed, "small")
	k := 1 + random.IntN(3)
	means, sds := make([]float64, k), make([]float64, k)
	for j := range means {
		means[j], sds[j] = 4*random.NormFloat64(), 0.3+random.Float64()
	}
	y := make([]float64, n)
	for i := range y {
		j := random.IntN(k)
		y[i] = means[j] + sds[j]*random.NormFloat64()
	}
	return y
}

// checkSums compares p(k | data) by both samplers with sums over all assignments, for small tables.
// The tolerance is 4.5 standard errors plus 10⁻⁴, because the standard errors of probabilities
// below 10⁻⁴ are unknown, and at most 0.01. About one comparison in 10⁵ fails by chance.
func checkSums(t *testing.T, family Family, tables, n int, config SampleConfig) {
	worst, sigmas := 0.0, 0.0
	for seed := range tables {
		y := small(uint64(seed), n)
		if family == Poisson {
			for i := range y {
				y[i] = math.Round(3 * math.Exp(y[i]/4))
			}
		}
		p := problemOf(t, Options{MaxComponents: 3, Family: family}, y)
		s, err := p.Sample(gocontext.Background(), config)
		require.NoError(t, err)
		want := p.enumerate(betaGrid(), varianceGrid())
		t.Logf("%s, table %d: sums %.4f; jumps %.4f ± %.4f; partitions %.4f ± %.4f", family, seed, want, s.jumping.probability, s.jumping.se, s.cluster.probability, s.cluster.se)
		for k := range want {
			for _, e := range []*estimate{&s.jumping, &s.cluster} {
				off := math.Abs(want[k] - e.probability[k])
				worst, sigmas = math.Max(worst, off), math.Max(sigmas, off/(1e-4+e.se[k]))
				require.Less(t, off, math.Min(0.01, 1e-4+4.5*e.se[k]), "table %d, k = %d", seed, k+1)
			}
		}
	}
	t.Logf("%s: largest difference %.4f, in standard errors %.1f", family, worst, sigmas)
}

// p(k | data) of small mixtures equals the sum over all assignments. The quality test has ten
// tables of each family, with up to 20 rows.
func TestSmallMixturesAgreeWithSums(t *testing.T) {
	testkit.Slow(t)
	for _, family := range []Family{Normal, Student, Poisson} {
		checkSums(t, family, 1, 10, SampleConfig{Sweeps: 8000})
	}
}
