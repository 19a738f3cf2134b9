package mixture

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// students is the family of Student t components with known degrees of freedom. Locations have the
// prior of normal means, and squared scales the prior of normal variances. Both are split like
// means and variances of normal components.
type students struct {
	normals
	constant float64 // the part of the log density that depends on the degrees of freedom only
}

func newStudents(y []float64, o Options) students {
	df := o.DF
	return students{newNormals(y, o), logsum.Gamma((df+1)/2) - logsum.Gamma(df/2) - 0.5*math.Log(math.Pi*df)}
}

// update draws a precision factor of every row, given which the row is normal, and then the
// parameters.
func (f students) update(c component, rows []int, beta []float64, random *rand.Rand) component {
	n, sum, square, df := 0.0, 0.0, 0.0, f.o.DF
	for _, i := range rows {
		d := f.y[i] - c.mean
		w := 2 * stream.Gamma((df+1)/2, random) / (df + d*d/c.variance)
		n += w
		sum += w * f.y[i]
		square += w * f.y[i] * f.y[i]
	}
	return f.updateSums(c, float64(len(rows)), n, sum, square, beta, random)
}

func (f students) fill(density []float64, c component) {
	factor := 1 / (f.o.DF * c.variance)
	for i, y := range f.y {
		d := y - c.mean
		density[i] = d * d * factor
	}
	constant, power := math.Log(c.weight)+f.constant-0.5*math.Log(c.variance), -0.5*(f.o.DF+1)
	f.vectors.Log1p(density, density)
	f.vectors.MulScalar(density, density, power)
	f.vectors.AddScalar(density, density, constant)
	f.vectors.Exp(density, density)
}

func (f students) logDensity(row int, c component) float64 { return f.log(f.y[row], c) }

func (f students) log(y float64, c component) float64 {
	d := y - c.mean
	return f.constant - 0.5*math.Log(c.variance) - 0.5*(f.o.DF+1)*math.Log1p(d*d/(f.o.DF*c.variance))
}

func (f students) marginal(_ int, y float64, c component) (density, cumulative float64) {
	t := distuv.StudentsT{Mu: c.mean, Sigma: math.Sqrt(c.variance), Nu: f.o.DF}
	return math.Exp(f.log(y, c)), t.CDF(y)
}

func (f students) simulate(c component, row []float64, random *rand.Rand) {
	w := 2 * stream.Gamma(f.o.DF/2, random) / f.o.DF
	row[0] = c.mean + math.Sqrt(c.variance/w)*random.NormFloat64()
}
