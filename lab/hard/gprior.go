package hard

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/exact"
)

// gPrior returns the exact posterior of a model under Zellner's g-prior with the given g. log σ and
// the coefficients that are in every model have flat priors; let X₀ hold the columns of these
// coefficients. The other p coefficients have the prior β ~ N(0, g σ² (X'X)⁻¹), where X holds the
// residuals of their columns after regression on X₀. Let N be the number of rows minus the number
// of columns of X₀, S the sum of squares of the response after regression on X₀, and r the share of
// S that X explains. Then the log evidence is (Liang et al. 2008, equation 6)
//
//	log Γ(N/2) − log 2 − (N/2) log(π S) − log |X₀'X₀|/2
//	    + (N − p)/2 log(1 + g) − N/2 log(1 + g (1 − r)).
func (p *regressionProblem) gPrior(g float64) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		n, fixed := len(p.y), len(p.always)
		size, degrees := len(coordinates)-fixed, float64(n-fixed)
		if size < 0 || !slices.Equal(coordinates[:fixed], p.always) || n <= len(coordinates) || p.offset != nil {
			return modelMoments{}, errors.New("no exact answer for this g-prior, want fewer columns than rows, no offset and columns that are in every model first")
		}
		y := mat.NewDense(n, 1, slices.Clone(p.y))
		x := mat.NewDense(n, max(size, 1), nil)
		for k, j := range coordinates[fixed:] {
			x.SetCol(k, mat.Col(nil, j, p.x))
		}
		logDetFixed := 0.0
		for _, j := range p.always {
			column := mat.Col(nil, j, p.x)
			if floats.Max(column) != floats.Min(column) {
				return modelMoments{}, errors.New("no exact answer for this g-prior, want no column in every model except the intercept")
			}
			logDetFixed += math.Log(floats.Norm(column, 2))
			centre(x)
			centre(y)
		}
		squares := floats.Dot(y.RawMatrix().Data, y.RawMatrix().Data)
		shrink, share := g/(1+g), 0.0
		m := modelMoments{mean: slices.Repeat([]float64{math.NaN()}, fixed), variance: slices.Repeat([]float64{math.NaN()}, fixed)}
		var svd mat.SVD
		if size > 0 && !svd.Factorize(x, mat.SVDThin) {
			return m, errors.New("the singular values did not converge")
		}
		var u, v, along mat.Dense
		if size > 0 {
			svd.UTo(&u)
			svd.VTo(&v)
			along.Mul(u.T(), y)
			explained := floats.Dot(along.RawMatrix().Data, along.RawMatrix().Data)
			share = explained / squares
		}
		rate := squares * (1 - shrink*share) / 2 // the posterior of σ² is InvGamma(N/2, rate)
		meanSquare := rate / (degrees/2 - 1)
		if degrees <= 2 {
			meanSquare = math.NaN()
		}
		for k := range size {
			mean, spread := 0.0, 0.0
			for i, s := range svd.Values(nil) {
				mean += shrink * v.At(k, i) * along.At(i, 0) / s
				spread += shrink * meanSquare * v.At(k, i) * v.At(k, i) / (s * s)
			}
			m.mean, m.variance = append(m.mean, mean), append(m.variance, spread)
		}
		half, _ := math.Lgamma(degrees / 2)
		lower, _ := math.Lgamma((degrees - 1) / 2)
		sigma := math.Exp(lower-half) * math.Sqrt(rate)
		m.mean, m.variance = append(m.mean, sigma), append(m.variance, meanSquare-sigma*sigma)
		m.logEvidence = half - math.Ln2 - degrees/2*math.Log(math.Pi*squares) - logDetFixed +
			(degrees-float64(size))/2*math.Log1p(g) - degrees/2*math.Log1p(g*(1-share))
		return m, nil
	}
}

func centre(x *mat.Dense) {
	rows, columns := x.Dims()
	for j := range columns {
		column := mat.Col(nil, j, x)
		floats.AddConst(-floats.Sum(column)/float64(rows), column)
		x.SetCol(j, column)
	}
}

// drawSlab sets a g-prior with a random g for some of the problems for which gPrior has an exact
// answer. It returns a description of the prior, or "" if the problem keeps its prior.
func drawSlab(p *calibrate.VarselProblem, columns []*hardColumn, rows int, random *rand.Rand) string {
	factors := slices.ContainsFunc(columns, func(c *hardColumn) bool { return c.levels != nil })
	model := &p.Record.Model
	if model.Likelihood != likelihood.GaussianKind || model.Sigma != 0 || factors || rows <= len(columns)+1 || random.Float64() < 0.5 {
		return ""
	}
	model.Slab = exact.Slab{Kind: exact.FixedG, G: math.Pow(10, uniform(random, -3, 5))}
	p.Flags = append(p.Flags, "--slab "+model.Slab.String())
	return fmt.Sprintf(", slab g:%.1g", model.Slab.G)
}
