package integrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
)

// modes returns t distributions at modes, with scales from the curvature there. Searches start at
// the centre and at the best draws.
func (p *Proposal) modes(ctx context.Context, all *Sample) (mixture, error) {
	dim := len(p.problem.Centre)
	best := rank.Order(len(all.Points), func(a, b int) int { return cmp.Compare(all.LogDensity[b], all.LogDensity[a]) })
	from := [][]float64{p.problem.Centre}
	for _, i := range best[:min(starts-1, len(best))] {
		from = append(from, all.Points[i])
	}
	if p.problem.Dear {
		from = from[1:2]
	}
	var found mixture
	minus := func(x []float64) float64 { return finiteOr(-p.problem.LogDensity(x), 1e100) }
	results := make([]*optimize.Result, len(from))
	err := parallel.For(ctx, len(from), func(k int) error {
		settings := &optimize.Settings{FuncEvaluations: 300 * (dim + 1)}
		if p.problem.Noise > 0 {
			settings.Converger = &optimize.FunctionConverge{Absolute: 10 * p.problem.Noise, Iterations: 10 * dim}
		} else if p.problem.Dear {
			settings.Converger = &optimize.FunctionConverge{Absolute: dearGain, Iterations: 5 * dim}
		}
		results[k], _ = optimize.Minimize(optimize.Problem{
			Func: minus, Status: func() (optimize.Status, error) {
				if ctx.Err() != nil {
					return optimize.Failure, ctx.Err()
				}
				return optimize.NotTerminated, nil
			},
		}, slices.Clone(from[k]), settings, &optimize.NelderMead{}) // failures are skipped below
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("the search for modes %w", err)
	}
	for _, result := range results {
		if result == nil || !(result.F < 1e100) {
			continue
		}
		known := slices.ContainsFunc(found, func(c *component) bool { return c.distance(result.X, make([]float64, dim)) < 0.25 })
		if known {
			continue
		}
		if c, ok := newComponent(1, narrowDegrees, result.X, curvature(minus, result.X, p.problem)); ok {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		c, _ := newComponent(1, narrowDegrees, p.problem.Centre, p.problem.wide())
		found = mixture{c}
	}
	return found, nil
}

// curvature returns the inverse Hessian of a function at a minimum. In no direction is it wider
// than the problem's widths.
func curvature(minus func([]float64) float64, minimum []float64, problem Problem) *mat.SymDense {
	dim, width := len(minimum), problem.Width
	step := math.Max(1e-3, math.Sqrt(math.Sqrt(problem.Noise)))
	scaled := make([]float64, dim) // a point in units of the widths
	hessian := mat.NewSymDense(dim, nil)
	fd.Hessian(hessian, func(u []float64) float64 {
		x := apply.UpTo(dim, func(i int) float64 { return minimum[i] + u[i]*width[i] })
		return minus(x)
	}, scaled, &fd.Settings{Step: step})
	var eigen mat.EigenSym
	if slices.ContainsFunc(hessian.RawSymmetric().Data, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) || !eigen.Factorize(hessian, true) {
		return problem.wide()
	}
	covariance := mat.NewSymDense(dim, nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	for a := range dim {
		for b := range a + 1 {
			sum := 0.0
			for k, value := range values {
				sum += vectors.At(a, k) * vectors.At(b, k) / math.Max(value, 1)
			}
			covariance.SetSym(a, b, sum*width[a]*width[b])
		}
	}
	return covariance
}

// split adds components at weighted points far from the other components. The new components have
// the covariance of the sample.
func split(parts mixture, points [][]float64, weights []float64, spread *mat.SymDense, random *rand.Rand) mixture {
	for len(parts) < mostParts {
		u, pick := random.Float64(), 0
		for i, w := range weights {
			if u -= w; u < 0 {
				pick = i
				break
			}
		}
		c, ok := newComponent(1, narrowDegrees, slices.Clone(points[pick]), spread)
		if !ok {
			return parts
		}
		parts = append(parts, c)
	}
	for _, c := range parts {
		c.share = 1 / float64(len(parts))
	}
	return parts
}
