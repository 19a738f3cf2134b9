package integrate

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
)

// component is a multivariate Student t distribution, with its share of a mixture.
type component struct {
	share, degrees float64
	location       []float64
	factor         mat.TriDense // L of the scale matrix L Lᵀ
	logConstant    float64      // log of the density's normalising constant
}

// newComponent returns a component. ok is false if the scale matrix is not positive definite.
func newComponent(share, degrees float64, location []float64, scale *mat.SymDense) (*component, bool) {
	var cholesky mat.Cholesky
	if !cholesky.Factorize(scale) {
		return nil, false
	}
	c := &component{share: share, degrees: degrees, location: location}
	cholesky.LTo(&c.factor)
	d := float64(len(location))
	c.logConstant = logsum.Gamma((degrees+d)/2) - logsum.Gamma(degrees/2) - d/2*math.Log(math.Pi*degrees) - cholesky.LogDet()/2
	return c, true
}

// distance returns (x − location)ᵀ scale⁻¹ (x − location). work [dim] is scratch memory.
func (c *component) distance(x, work []float64) (sum float64) {
	for i := range x {
		rest := x[i] - c.location[i]
		for k := range i {
			rest -= c.factor.At(i, k) * work[k]
		}
		work[i] = rest / c.factor.At(i, i)
		sum += work[i] * work[i]
	}
	return sum
}

func (c *component) logDensity(x, work []float64) float64 {
	return c.logConstant - (c.degrees+float64(len(x)))/2*math.Log1p(c.distance(x, work)/c.degrees)
}

func (c *component) draw(random *rand.Rand) []float64 {
	dim := len(c.location)
	noise, x := make([]float64, dim), make([]float64, dim)
	for i := range noise {
		noise[i] = random.NormFloat64()
	}
	chi := 0.0 // a χ² draw; the number of degrees of freedom is an integer
	for range int(c.degrees) {
		z := random.NormFloat64()
		chi += z * z
	}
	stretch := math.Sqrt(c.degrees / chi)
	for i := range x {
		sum := 0.0
		for k := range i + 1 {
			sum += c.factor.At(i, k) * noise[k]
		}
		x[i] = c.location[i] + stretch*sum
	}
	return x
}

type mixture []*component

// logDensity returns the log density at x. It writes the log of each component's share and density
// to terms.
func (m mixture) logDensity(x, work, terms []float64) float64 {
	for i, c := range m {
		terms[i] = math.Log(c.share) + c.logDensity(x, work)
	}
	return logsum.Of(terms)
}

func (m mixture) draw(random *rand.Rand) []float64 {
	u := random.Float64()
	for _, c := range m[:len(m)-1] {
		if u -= c.share; u < 0 {
			return c.draw(random)
		}
	}
	return m[len(m)-1].draw(random)
}

// fit moves the components of a mixture towards a weighted sample by one step of the EM algorithm
// for mixtures of t distributions (Peel and McLachlan 2000; for importance sampling Cappé et al.
// 2008). The weights must sum to one. Components whose share becomes too small are removed.
func (m mixture) fit(points [][]float64, weights []float64, least *mat.SymDense) mixture {
	dim := len(m[0].location)
	work, terms := make([]float64, dim), make([]float64, len(m))
	mass, scaled := make([]float64, len(m)), make([]float64, len(m))
	means, squares := make([][]float64, len(m)), make([]*mat.SymDense, len(m))
	responsibility := make([][]float64, len(m)) // weight of each point for each component
	for i := range m {
		means[i], squares[i], responsibility[i] = make([]float64, dim), mat.NewSymDense(dim, nil), make([]float64, len(points))
	}
	for n, x := range points {
		if weights[n] == 0 {
			continue
		}
		total := m.logDensity(x, work, terms)
		for i, c := range m {
			share := weights[n] * math.Exp(terms[i]-total)
			mass[i] += share
			share *= (c.degrees + float64(dim)) / (c.degrees + c.distance(x, work))
			responsibility[i][n] = share
			scaled[i] += share
			floats.AddScaled(means[i], share, x)
		}
	}
	var next mixture
	kept := 0.0
	for i, c := range m {
		if mass[i] < leastShare {
			continue
		}
		floats.Scale(1/scaled[i], means[i])
		for n, x := range points {
			floats.SubTo(work, x, means[i])
			squares[i].SymRankOne(squares[i], responsibility[i][n], mat.NewVecDense(dim, work))
		}
		squares[i].ScaleSym(1/mass[i], squares[i])
		for a := range dim {
			for b := range a + 1 {
				squares[i].SetSym(a, b, squares[i].At(a, b)+shrink*least.At(a, b))
			}
		}
		moved, ok := newComponent(mass[i], c.degrees, means[i], squares[i])
		if !ok {
			moved = c
			moved.share = mass[i]
		}
		next = append(next, moved)
		kept += moved.share
	}
	if len(next) == 0 {
		return m
	}
	for _, c := range next {
		c.share /= kept
	}
	return next
}
