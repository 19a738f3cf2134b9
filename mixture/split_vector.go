package mixture

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// Splits of normal components of several columns keep the total weight, mean m and covariance Σ,
// like splits in one column (Richardson and Green 1997, section 3.2). With Σ = L Lᵀ and d columns
// the numbers of a split are
//
//	u₁   the share of the left component in the weight
//	a    [d], in the unit ball, a₁ > 0: the means lie at m ∓ √((1−u₁)/u₁)^{±1} L a
//	B    [d,d], symmetric, B and I − B positive definite: with S = Σ − L a aᵀ Lᵀ = L′ L′ᵀ, the
//	     covariances are L′ B L′ᵀ / u₁ and L′ (I − B) L′ᵀ / (1 − u₁)
//
// The slice u holds u₁, a, and the lower triangle of B by rows.

// vectorNumbers is the proposal of the numbers of a split for the number of columns d that it
// holds: u₁ ~ Beta(2, 2), |a| ~ Beta(2, 2) in a uniform direction, and B from a matrix beta
// distribution with mean u₁ I.
type vectorNumbers int

// betaDegrees sets the concentration of B about u₁ I. The two parameters of its matrix beta
// distribution exceed (d + 1)/2, below which the density has poles, by (d + 1) betaDegrees times u₁
// and 1 − u₁. Half or twice this value gives the same answers (docs/benchmarks/constants.md).
const betaDegrees = 2

// degrees returns the two parameters of the matrix beta distribution of B, given the share u₁.
func (d vectorNumbers) degrees(share float64) (p, q float64) {
	least := float64(d+1) / 2
	return least * (1 + 2*betaDegrees*share), least * (1 + 2*betaDegrees*(1-share))
}

func (d vectorNumbers) draw(random *rand.Rand) []float64 {
	size := int(d)
	u := append(make([]float64, 0, 1+size+size*(size+1)/2), beta(2, 2, random))
	direction, square := make([]float64, size), 0.0
	for j := range direction {
		direction[j] = random.NormFloat64()
		square += direction[j] * direction[j]
	}
	scale := beta(2, 2, random) / math.Sqrt(square)
	if direction[0] < 0 {
		scale = -scale
	}
	for _, x := range direction {
		u = append(u, scale*x)
	}
	p, q := d.degrees(u[0])
	one, other := bartlett(size, 2*p, random), bartlett(size, 2*q, random)
	var both mat.Dense
	both.Augment(one, other)
	root := solveLower(factor(&both), one)
	var b mat.SymDense
	b.SymOuterK(1, root)
	return appendLower(u, &b)
}

// log returns the log density of u with respect to u₁, a and the lower triangle of B.
func (d vectorNumbers) log(u []float64) float64 {
	if !(u[0] > 0 && u[0] < 1 && u[1] > 0) {
		return math.Inf(-1)
	}
	size := float64(d)
	radius := floats.Norm(u[1:1+d], 2)
	if !(radius < 1) {
		return math.Inf(-1)
	}
	_, _, logB, logRest, ok := d.roots(u)
	if !ok {
		return math.Inf(-1)
	}
	// Half of the unit sphere has the area π^{d/2}/Γ(d/2).
	logs := logBeta2(u[0]) + logBeta2(radius) - (size-1)*math.Log(radius) - size/2*math.Log(math.Pi) + logsum.Gamma(size/2)
	p, q := d.degrees(u[0])
	least := (size + 1) / 2
	return logs + d.logGamma(p+q) - d.logGamma(p) - d.logGamma(q) + (p-least)*logB + (q-least)*logRest
}

// logGamma returns the log of the multivariate gamma function.
func (d vectorNumbers) logGamma(x float64) float64 {
	total := float64(d*(d-1)) / 4 * math.Log(math.Pi)
	for j := range int(d) {
		total += logsum.Gamma(x - float64(j)/2)
	}
	return total
}

// roots returns the Cholesky factors and the log determinants of B and I − B. ok is false if a
// factor does not exist.
func (d vectorNumbers) roots(u []float64) (b, rest *mat.TriDense, logB, logRest float64, ok bool) {
	size := int(d)
	matrices := [2]*mat.SymDense{mat.NewSymDense(size, nil), mat.NewSymDense(size, nil)}
	at := 1 + size
	for i := range size {
		for j := range i + 1 {
			matrices[0].SetSym(i, j, u[at])
			matrices[1].SetSym(i, j, -u[at])
			at++
		}
		matrices[1].SetSym(i, i, 1-matrices[0].At(i, i))
	}
	var triangles [2]mat.TriDense
	var logs [2]float64
	for k, m := range matrices {
		var root mat.Cholesky
		if !root.Factorize(m) {
			return nil, nil, 0, 0, false
		}
		root.LTo(&triangles[k])
		logs[k] = root.LogDet()
	}
	return &triangles[0], &triangles[1], logs[0], logs[1], true
}

func (f vectors) proposal() proposal { return vectorNumbers(f.dim()) }

func (f vectors) split(one component, u []float64) (left, right component) {
	d, u1 := f.dim(), u[0]
	left.weight, right.weight = one.weight*u1, one.weight*(1-u1)
	apart := make([]float64, d) // L a
	means := [2][]float64{make([]float64, d), make([]float64, d)}
	for i := range d {
		for j := range i + 1 {
			apart[i] += one.vector.lower.At(i, j) * u[1+j]
		}
		means[0][i] = one.vector.mean[i] - apart[i]*math.Sqrt((1-u1)/u1)
		means[1][i] = one.vector.mean[i] + apart[i]*math.Sqrt(u1/(1-u1))
	}
	b, rest, _, _, ok := vectorNumbers(d).roots(u)
	if !ok { // by rounding errors; the proposal density is 0 at such u
		return one, one
	}
	// root is the Cholesky factor of I − a aᵀ.
	ball := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			ball.SetSym(i, j, -u[1+i]*u[1+j])
		}
		ball.SetSym(i, i, 1-u[1+i]*u[1+i])
	}
	var root mat.Cholesky
	if !root.Factorize(ball) {
		return one, one
	}
	var within, k mat.TriDense
	root.LTo(&k)
	within.MulTri(one.vector.lower, &k)
	for side, half := range []*mat.TriDense{b, rest} {
		var lower mat.TriDense
		lower.MulTri(&within, half)
		c, share := &left, u1
		if side == 1 {
			c, share = &right, 1-u1
		}
		lower.ScaleTri(1/math.Sqrt(share), &lower)
		weight := c.weight
		*c = componentOf(means[side], &lower)
		c.weight = weight
	}
	return left, right
}

func (f vectors) merge(left, right component) (one component, u []float64) {
	d, w := f.dim(), left.weight+right.weight
	u1 := left.weight / w
	mean := make([]float64, d)
	first, second := math.Sqrt(u1), math.Sqrt(1-u1)
	columns := mat.NewDense(d, 2*d+1, nil) // the covariance is the sum of the outer products of these columns
	for i := range d {
		mean[i] = u1*left.vector.mean[i] + (1-u1)*right.vector.mean[i]
		for j := range i + 1 {
			columns.Set(i, j, first*left.vector.lower.At(i, j))
			columns.Set(i, d+j, second*right.vector.lower.At(i, j))
		}
		columns.Set(i, 2*d, (right.vector.mean[i]-left.vector.mean[i])*first*second)
	}
	one = componentOf(mean, factor(columns))
	one.weight = w
	u = append(u, u1)
	for i := range d { // a solves L a = apart
		a := columns.At(i, 2*d)
		for j := range i {
			a -= one.vector.lower.At(i, j) * u[1+j]
		}
		u = append(u, a/one.vector.lower.At(i, i))
	}
	within := factor(mat.DenseCopyOf(columns.Slice(0, d, 0, 2*d)))
	root := solveLower(within, mat.DenseCopyOf(columns.Slice(0, d, 0, d)))
	var b mat.SymDense
	b.SymOuterK(1, root)
	return one, appendLower(u, &b)
}

// logJacobian returns the sum of the logs of three factors: w for the weights, where w is the
// weight of the component that is split, |L| / √(u₁(1−u₁))^d for the means, and |S|^{(d+1)/2} /
// (u₁(1−u₁))^{d(d+1)/2} for the covariances. Replacing Σ by S, given the difference of the means,
// has the factor 1.
func (f vectors) logJacobian(one, _, _ component, u []float64) float64 {
	d := float64(f.dim())
	offset := u[1 : 1+f.dim()]
	logS := 2*one.vector.log + math.Log1p(-floats.Dot(offset, offset))
	return math.Log(one.weight) + one.vector.log + (d+1)/2*logS - d/2*(d+2)*(math.Log(u[0])+math.Log1p(-u[0]))
}

// solveLower returns L⁻¹ M.
func solveLower(lower *mat.TriDense, m mat.Matrix) *mat.Dense {
	var out mat.Dense
	_ = out.Solve(lower, m) // ignore the error of an ill-conditioned L: the density of such a proposal is nearly 0
	return &out
}

// appendLower appends the lower triangle of a matrix by rows.
func appendLower(list []float64, m *mat.SymDense) []float64 {
	for i := range m.SymmetricDim() {
		for j := range i + 1 {
			list = append(list, m.At(i, j))
		}
	}
	return list
}

// bartlett draws the lower factor of a standard Wishart matrix by Bartlett's decomposition.
func bartlett(d int, degrees float64, random *rand.Rand) *mat.TriDense {
	a := mat.NewTriDense(d, mat.Lower, nil)
	for i := range d {
		a.SetTri(i, i, math.Sqrt(2*stream.Gamma((degrees-float64(i))/2, random)))
		for j := range i {
			a.SetTri(i, j, random.NormFloat64())
		}
	}
	return a
}
