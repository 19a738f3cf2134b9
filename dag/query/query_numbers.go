package query

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/report"
)

// givenNumbers answers queries about numbers with linear mechanisms. Given graph and parameters all
// nodes together are normally distributed, and so is each node given other nodes.
type givenNumbers struct {
	problem  *score.Problem
	query    resolvedQuery
	forms    []score.Form
	observed []int // ascending
	values   []float64
}

func newGivenNumbers(p *score.Problem, r resolvedQuery) *givenNumbers {
	g := &givenNumbers{problem: p, query: r, forms: p.Forms(), observed: slices.Sorted(maps.Keys(r.observed))}
	g.values = apply.To(g.observed, func(j int) float64 { return scaled(p.Data, j, r.observed[j]) })
	return g
}

func scaled(d *tables.Data, j int, x float64) float64 { return (x - d.Shift[j]) / d.Scale[j] }

func (g *givenNumbers) under(parents []dgraph.Set, thetas [][]float64, random *rand.Rand) (c conditional, err error) {
	means, covariance := g.joint(parents, thetas, random)
	target := g.query.target
	mean, variance := means[target], covariance.At(target, target)
	if k := len(g.observed); k > 0 {
		inner, cross, rest := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
		for a, i := range g.observed {
			for b, j := range g.observed[:a+1] {
				inner.SetSym(a, b, covariance.At(i, j))
			}
			cross.SetVec(a, covariance.At(i, target))
			rest.SetVec(a, g.values[a]-means[i])
		}
		var factor mat.Cholesky
		if !factor.Factorize(inner) {
			return c, fmt.Errorf("what is observed is without noise given other nodes that are observed or set: observe fewer nodes")
		}
		var weights, scaled mat.VecDense
		if err := cmp.Or(factor.SolveVecTo(&weights, cross), factor.SolveVecTo(&scaled, rest)); err != nil {
			return c, fmt.Errorf("what is observed is nearly without noise given other nodes: %w", err)
		}
		mean += mat.Dot(&weights, rest)
		variance -= mat.Dot(&weights, cross)
		c.logEvidence = -mat.Dot(rest, &scaled)/2 - factor.LogDet()/2
	}
	d := g.problem.Data
	c.mean = []float64{mean*d.Scale[target] + d.Shift[target]}
	c.sd = math.Sqrt(math.Max(variance, 0)) * d.Scale[target]
	return c, nil
}

// joint returns the means and covariances of all nodes on the scale of the scaled columns
// (tables.Data.X). Nodes that the query sets have their given values, whatever their parents are.
func (g *givenNumbers) joint(parents []dgraph.Set, thetas [][]float64, random *rand.Rand) ([]float64, *mat.SymDense) {
	l, nodes := g.problem.Layout(), len(parents)
	order, _ := dgraph.FromParents(parents).Order()
	means, covariance := make([]float64, nodes), mat.NewSymDense(nodes, nil)
	for at, j := range order {
		intercept := g.intercept(j, parents[j], thetas[j], random) // drawn even if the query sets node j, so that random numbers of other nodes do not depend on the query
		if x, set := g.query.do[j]; set {
			means[j] = scaled(g.problem.Data, j, x)
			continue
		}
		means[j] = intercept
		variance := math.Exp(2 * l.LogSigma(thetas[j]))
		for i := range parents[j].Nodes() {
			means[j] += thetas[j][i] * means[i]
		}
		for _, k := range order[:at] {
			sum := 0.0
			for i := range parents[j].Nodes() {
				sum += thetas[j][i] * covariance.At(i, k)
			}
			covariance.SetSym(j, k, sum)
		}
		for i := range parents[j].Nodes() {
			variance += thetas[j][i] * covariance.At(i, j)
		}
		covariance.SetSym(j, j, variance)
	}
	return means, covariance
}

// intercept draws the intercept of a mechanism given its other parameters, for mechanisms of the
// BGe score. For linear mechanisms with independent weights it returns the least-squares intercept
// if interventions make each node have its own column means, and zero otherwise.
func (g *givenNumbers) intercept(j int, parents dgraph.Set, theta []float64, random *rand.Rand) float64 {
	d := g.problem.Data
	form, normalWishart := score.FormsOf(g.forms[j])[0].(*score.BGe)
	if !normalWishart {
		if d.Centers == nil {
			return 0
		}
		return score.ResidualMean(d.Centers[j], j, parents, theta)
	}
	return form.Intercept(parents, theta, random)
}

// answerNumbers fills in an answer about a node that is a number. weights of draws add up to one.
func answerNumbers(a *Answer, r resolvedQuery, answers []conditional, weights []float64, graphs []int, independent float64) {
	values := make([]float64, len(answers))
	if r.sign != "" {
		values = apply.To(answers, func(one conditional) float64 { return one.below(r.value, 1-2*dgraph.Indicator(r.sign == ">")) })
		mean, se := weightedMean(values, weights, independent)
		a.Probabilities = []ProbabilityAnswer{{fmt.Sprintf("%s %g", r.sign, r.value), mean, se, spreadOf(values, graphs)}}
		return
	}
	low, high, squares := math.Inf(1), math.Inf(-1), 0.0
	for k, one := range answers {
		values[k] = one.mean[0]
		low, high = math.Min(low, values[k]-6*one.sd), math.Max(high, values[k]+6*one.sd)
		for _, row := range one.rows {
			low, high = math.Min(low, row.Mean-6*row.SD), math.Max(high, row.Mean+6*row.SD)
		}
	}
	mean, se := weightedMean(values, weights, independent)
	for k, one := range answers {
		squares += weights[k] * (dgraph.Square(one.sd) + dgraph.Square(values[k]-float64(mean)))
	}
	quantile := func(level float64) report.Number {
		from, to := low, high
		for range 60 {
			middle, below := from+(to-from)/2, 0.0
			for k, one := range answers {
				below += weights[k] * one.below(middle, 1)
			}
			if below < level {
				from = middle
			} else {
				to = middle
			}
		}
		return report.Number(to)
	}
	a.Expectation = &ExpectationAnswer{Mean: mean, SE: se, PredictiveSD: report.Number(math.Sqrt(squares)), PredictiveQ05: quantile(0.05), PredictiveQ95: quantile(0.95), Spread: spreadOf(values, graphs)}
}

// normalBelow returns the probability that a normal variable, whose variance may be zero, is at
// most x.
func normalBelow(x, mean, sd float64) float64 {
	if sd == 0 {
		return dgraph.Indicator(mean <= x)
	}
	return distuv.UnitNormal.CDF((x - mean) / sd)
}
