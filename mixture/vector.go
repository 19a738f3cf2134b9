package mixture

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// vectors is the family of normal components of several columns, each with range 1 on the working
// scale. The priors are means ~ N(0, MeanSD² I), covariances inverse Wishart with scale matrix 2
// diag β and 2 PrecisionShape + d − 1 degrees of freedom, d the number of columns, and every β_j ~
// Gamma(ScaleShape, ScaleRate). The marginal prior of each column is then the prior of normal
// components of one column.
type vectors struct {
	rows [][]float64 // [n][d]
	o    Options
}

// vector holds the parameters of a component of several columns.
type vector struct {
	mean  []float64
	lower *mat.TriDense // L with covariance L Lᵀ
	log   float64       // log |L|
}

func (f vectors) dim() int { return len(f.rows[0]) }

func (f vectors) degrees() float64 { return 2*f.o.PrecisionShape + float64(f.dim()) - 1 }

func componentOf(mean []float64, lower *mat.TriDense) component {
	v := &vector{mean: mean, lower: lower}
	for i := range mean {
		v.log += math.Log(lower.At(i, i))
	}
	return component{mean: mean[0], variance: lower.At(0, 0) * lower.At(0, 0), vector: v}
}

// standard solves L z = y − mean for z.
func (v *vector) standard(y, z []float64) {
	for i := range z {
		z[i] = y[i] - v.mean[i]
		for j := range i {
			z[i] -= v.lower.At(i, j) * z[j]
		}
		z[i] /= v.lower.At(i, i)
	}
}

// precision returns the diagonal of the inverse covariance.
func (v *vector) precision() []float64 {
	d := len(v.mean)
	var inverse mat.TriDense
	_ = inverse.InverseTri(v.lower) // diagonals are positive
	diagonal := make([]float64, d)
	for j := range d {
		for i := j; i < d; i++ {
			diagonal[j] += inverse.At(i, j) * inverse.At(i, j)
		}
	}
	return diagonal
}

func (f vectors) logHyper(beta []float64) (total float64) {
	for _, b := range beta {
		total += normals{o: f.o}.logHyper([]float64{b})
	}
	return total
}

func (f vectors) logPrior(c component, beta []float64) float64 {
	d, nu, sd := float64(f.dim()), f.degrees(), f.o.MeanSD
	total := -0.5*nu*d*math.Ln2 - d*(d-1)/4*math.Log(math.Pi) - (nu+d+1)*c.vector.log
	for j, precision := range c.vector.precision() {
		m := c.vector.mean[j]
		total += -0.5*math.Log(2*math.Pi*sd*sd) - 0.5*m*m/(sd*sd) + 0.5*nu*math.Log(2*beta[j]) - logsum.Gamma((nu-float64(j))/2) - beta[j]*precision
	}
	return total
}

// inverseWishart draws the factor L of an inverse Wishart matrix L Lᵀ with the scale matrix C Cᵀ.
// The argument scale is C.
func inverseWishart(scale *mat.TriDense, degrees float64, random *rand.Rand) *mat.TriDense {
	d, _ := scale.Dims()
	// Let A Aᵀ be a standard Wishart matrix. The covariance is then M Mᵀ with M = C A⁻ᵀ.
	var inverse mat.TriDense
	_ = inverse.InverseTri(bartlett(d, degrees, random))
	var root mat.Dense
	root.Mul(scale, inverse.T())
	return factor(&root)
}

// factor returns the lower triangle L with L Lᵀ = M Mᵀ. It uses rotations, which lose no digits.
func factor(m *mat.Dense) *mat.TriDense {
	d, _ := m.Dims()
	upper := dense.R(m.T())
	lower := mat.NewTriDense(d, mat.Lower, nil)
	for i := range d {
		sign := 1.0
		if upper.At(i, i) < 0 {
			sign = -1
		}
		for j := i; j < d; j++ {
			lower.SetTri(j, i, sign*upper.At(i, j))
		}
	}
	return lower
}

// scaleOf returns the factor C of the scale matrix 2 diag β + Σ (y − mean)(y − mean)ᵀ over rows y.
func (f vectors) scaleOf(beta, mean []float64, rows []int) *mat.TriDense {
	d := f.dim()
	m := mat.NewDense(d, d+len(rows), nil)
	for j, b := range beta {
		m.Set(j, j, math.Sqrt(2*b))
		for k, i := range rows {
			m.Set(j, d+k, f.rows[i][j]-mean[j])
		}
	}
	return factor(m)
}

func (f vectors) draw(beta []float64, random *rand.Rand) component {
	mean := stream.Normals(random, f.dim())
	floats.Scale(f.o.MeanSD, mean)
	return componentOf(mean, inverseWishart(f.scaleOf(beta, mean, nil), f.degrees(), random))
}

func (f vectors) update(c component, rows []int, beta []float64, random *rand.Rand) component {
	d, n := f.dim(), float64(len(rows))
	// Given the covariance, mean ~ N(m, P⁻¹) with P = n Σ⁻¹ + I/MeanSD² and P m = Σ⁻¹ Σ y.
	var inverse mat.TriDense
	_ = inverse.InverseTri(c.vector.lower)
	var precision mat.SymDense
	precision.SymOuterK(n, inverse.T())
	for j := range d {
		precision.SetSym(j, j, precision.At(j, j)+1/(f.o.MeanSD*f.o.MeanSD))
	}
	sum, right := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	for _, i := range rows {
		for j, y := range f.rows[i] {
			sum.SetVec(j, sum.AtVec(j)+y)
		}
	}
	right.MulVec(&inverse, sum)
	right.MulVec(inverse.T(), mat.VecDenseCopyOf(right))
	var root mat.Cholesky
	mean := make([]float64, d)
	if root.Factorize(&precision) {
		var centre, noise mat.VecDense
		_ = root.SolveVecTo(&centre, right) // ignore the warning that the matrix is ill-conditioned
		var upper mat.TriDense
		root.UTo(&upper)
		_ = noise.SolveVec(&upper, mat.NewVecDense(d, stream.Normals(random, d)))
		for j := range mean {
			mean[j] = centre.AtVec(j) + noise.AtVec(j)
		}
	} else {
		copy(mean, c.vector.mean)
	}
	return componentOf(mean, inverseWishart(f.scaleOf(beta, mean, rows), f.degrees()+n, random))
}

func (f vectors) updateHyper(components []component, random *rand.Rand) []float64 {
	beta, rate := make([]float64, f.dim()), make([]float64, f.dim())
	for _, c := range components {
		for j, precision := range c.vector.precision() {
			rate[j] += precision
		}
	}
	for j := range beta {
		beta[j] = stream.Gamma(f.o.ScaleShape+0.5*f.degrees()*float64(len(components)), random) / (f.o.ScaleRate + rate[j])
	}
	return beta
}

func (f vectors) start(rows []int) component {
	d := f.dim()
	mean, lower := make([]float64, d), mat.NewTriDense(d, mat.Lower, nil)
	for j := range d {
		low, high := math.Inf(1), math.Inf(-1)
		for _, i := range rows {
			mean[j] += f.rows[i][j] / float64(len(rows))
			low, high = math.Min(low, f.rows[i][j]), math.Max(high, f.rows[i][j])
		}
		lower.SetTri(j, j, high-low+0.05)
	}
	return componentOf(mean, lower)
}

func (f vectors) startHyper() []float64 {
	return slices.Repeat([]float64{f.o.ScaleShape / f.o.ScaleRate}, f.dim())
}

func (f vectors) fill(density []float64, c component) {
	z := make([]float64, f.dim())
	log := math.Log(c.weight)
	for i := range density {
		density[i] = math.Exp(log + f.log(f.rows[i], c, z))
	}
}

func (f vectors) logDensity(row int, c component) float64 {
	return f.log(f.rows[row], c, make([]float64, f.dim()))
}

func (f vectors) log(y []float64, c component, z []float64) float64 {
	c.vector.standard(y, z)
	total := -c.vector.log - 0.5*float64(len(z))*math.Log(2*math.Pi)
	for _, x := range z {
		total -= 0.5 * x * x
	}
	return total
}

// alone returns the marginal distribution of a component in a single column.
func (f vectors) alone(column int, c component) component {
	variance := 0.0
	for j := range column + 1 {
		variance += c.vector.lower.At(column, j) * c.vector.lower.At(column, j)
	}
	return component{mean: c.vector.mean[column], variance: variance}
}

func (f vectors) marginal(column int, y float64, c component) (density, cumulative float64) {
	return normals{}.marginal(0, y, f.alone(column, c))
}

func (f vectors) simulate(c component, row []float64, random *rand.Rand) {
	z := make([]float64, len(row))
	for j := range row {
		z[j] = random.NormFloat64()
		row[j] = c.vector.mean[j]
		for k := range j + 1 {
			row[j] += c.vector.lower.At(j, k) * z[k]
		}
	}
}

func (f vectors) summary(column int, c component) (location, scale float64) {
	return normals{}.summary(0, f.alone(column, c))
}

func (f vectors) correlation(a, b int, c component) float64 {
	product := 0.0
	for j := range min(a, b) + 1 {
		product += c.vector.lower.At(a, j) * c.vector.lower.At(b, j)
	}
	return product / math.Sqrt(f.alone(a, c).variance*f.alone(b, c).variance)
}
