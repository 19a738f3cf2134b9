package effects

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/report"
)

// Parameter is the posterior of the effect of one node on another given that the edge is there: the
// slope of the mechanism, in units of the table (or of its logarithms), averaged over the rows. For
// linear mechanisms it is the coefficient.
type Parameter struct {
	From string        `json:"from"`
	To   string        `json:"to"`
	Prob report.Number `json:"prob"`
	Mean report.Number `json:"mean"`
	// MeanSE is the Monte Carlo error of Mean, 0 of closed forms summed over all graphs. It takes
	// estimated evidences of families as they are.
	MeanSE report.Number `json:"mean_se"`
	SD     report.Number `json:"sd"`
	Q025   report.Number `json:"q025"`
	Q975   report.Number `json:"q975"`
}

// Sizes of summaries by draws.
const (
	linearDraws     = 4000 // of a parameter; of networks, whose slopes take longer:
	networkDraws    = 400
	slopeRows       = 200  // rows that the slope of a network is averaged over
	leastParameter  = 0.01 // edges less probable than this have no summary
	checkDraws      = 200
	checkReplicates = 400
)

// ParameterDraws is the number of draws behind the summary of a parameter.
func ParameterDraws(p *score.Problem) int {
	if p.Model.Mechanism == sem.Linear {
		return linearDraws
	}
	return networkDraws
}

// Parameters summarises the mechanisms by edge: quantiles by draws, and means and standard
// deviations too unless their exact values are given. Draws miss the improbable and far, which can
// make most of a variance. graphs is the number of independent draws that the graphs behind the
// posterior are worth, and infinite where it is a sum over all.
func Parameters(p *score.Problem, ctx gocontext.Context, posterior score.Mixture, source score.ParameterSource, exact EdgeMoments, graphs float64, random *rand.Rand) (list []Parameter, err error) {
	probabilities, draws := posterior.Edges(p.Data.Nodes()), ParameterDraws(p)
	for _, e := range dgraph.OrderedPairs(p.Data.Nodes()) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped while summarising mechanisms: %w", err)
		}
		if probabilities[e.From][e.To] < leastParameter {
			continue
		}
		families := posterior.Draws(random, func(f dgraph.Family) bool { return f.Node == e.To && f.Parents.Has(e.From) })
		slopes := make([]float64, draws)
		for i := range slopes {
			theta := source(families())
			slopes[i] = slope(p, theta, e) * p.Data.Scale[e.To] / p.Data.Scale[e.From]
		}
		slices.Sort(slopes)
		effect := Parameter{From: p.Data.Names[e.From], To: p.Data.Names[e.To], Prob: report.Number(probabilities[e.From][e.To])}
		mean, sd := stat.MeanStdDev(slopes, nil)
		between, drawn := sd, sd/math.Sqrt(float64(draws))
		if exact != nil {
			unit := p.Data.Scale[e.To] / p.Data.Scale[e.From]
			weight, variance, ofMeans := exact(e)
			mean, sd, between, drawn = weight*unit, math.Sqrt(variance)*unit, math.Sqrt(ofMeans)*unit, 0
		}
		se := math.Hypot(drawn, between/math.Sqrt(graphs*probabilities[e.From][e.To]))
		effect.Mean, effect.MeanSE, effect.SD = report.Number(mean), report.Number(se), report.Number(sd)
		effect.Q025, effect.Q975 = report.Number(slopes[draws*25/1000]), report.Number(slopes[draws*975/1000])
		list = append(list, effect)
	}
	return list, nil
}

// EdgeMoments are the posterior mean and variance of the weight of an edge given that it is there,
// on the working scale, and the part of the variance that is between families.
type EdgeMoments func(e dgraph.Edge) (mean, variance, between float64)

// negligibleShare is the share in the probability of an edge below which a family changes no digit
// of mean and variance: weights have a prior with a standard deviation of about 1, and variances of
// 1e-12 are as small as the table can make them.
const negligibleShare = 1e-18

// ExactMoments averages closed forms over families; nil where weights have none.
func ExactMoments(p *score.Problem, posterior score.Mixture) EdgeMoments {
	if !p.Model.Mechanism.Closed() || p.Model.Mechanism.Integrated() {
		return nil
	}
	type moments struct{ means, variances []float64 }
	known := map[dgraph.Family]moments{}
	forms := p.Forms()
	familyMoments := func(f dgraph.Family) moments {
		moments, ok := known[f]
		if !ok {
			moments.means, moments.variances = forms[f.Node].Moments(f.Parents)
			known[f] = moments
		}
		return moments
	}
	return func(e dgraph.Edge) (mean, variance, between float64) {
		var shares, means, variances []float64
		for k, f := range posterior.Families {
			if f.Node == e.To && f.Parents.Has(e.From) && posterior.Shares[k] > negligibleShare {
				moments, at := familyMoments(f), f.Parents.And(dgraph.Below(e.From)).Len()
				shares, means, variances = append(shares, posterior.Shares[k]), append(means, moments.means[at]), append(variances, moments.variances[at])
			}
		}
		mean = stat.Mean(means, shares)
		between = stat.MomentAbout(2, means, mean, shares)
		return mean, stat.Mean(variances, shares) + between, between
	}
}

// slope is the derivative of the mechanism of e.To with respect to its parent e.From, averaged over
// rows that are spread evenly.
func slope(p *score.Problem, theta []float64, e dgraph.Edge) (slope float64) {
	l := p.Layout()
	if l.Mechanism == sem.Linear {
		return theta[e.From]
	}
	rows := min(p.Data.Rows(), slopeRows)
	row := make([]float64, p.Data.Nodes())
	for k := range rows {
		p.Data.RowFor(e.To, k*p.Data.Rows()/rows, row)
		for h := range l.Hidden {
			var input float64
			for i, x := range row {
				input += theta[i*l.Hidden+h] * x
			}
			if l.Bias {
				input += theta[l.B1()+h]
			}
			if input > 0 {
				slope += theta[l.W2()+h] * theta[e.From*l.Hidden+h] / float64(rows)
			}
		}
	}
	return slope
}

// means writes the values that the mechanism of a node gives it in some rows, on the working scale.
// An intercept is at its estimate. dst is [rows].
func means(p *score.Problem, node int, rows []int, theta, dst []float64) {
	intercept, l := 0.0, p.Layout()
	center := func(int) float64 { return 0 }
	if p.Centers != nil {
		intercept = p.Centers[node][node]
		center = func(i int) float64 { return p.Centers[node][i] }
	}
	if l.Mechanism == sem.Linear {
		clear(dst)
		for i, weight := range theta[:l.Nodes] { // of many columns few are parents
			if weight == 0 {
				continue
			}
			mean := center(i)
			for k, row := range rows {
				dst[k] += weight * (p.Data.X.At(row, i) - mean)
			}
		}
		floats.AddConst(intercept, dst)
		return
	}
	scratch := make([]float64, l.Nodes)
	for k, row := range rows {
		copy(scratch, p.Data.X.RawRowView(row))
		if p.Centers != nil {
			floats.Sub(scratch, p.Centers[node])
		}
		dst[k] = intercept + l.Mean(theta, scratch)
	}
}

// NodeCheck compares the residuals of a node, (x − f)/σ, with their distribution in the model:
// independent standard normals. Each number is the posterior predictive probability of a statistic
// at least as large as the statistic of the data; near 0 or 1 the model does not fit.
type NodeCheck struct {
	Node     string        `json:"node"`
	Spread   report.Number `json:"spread"`   // standard deviation
	Skewness report.Number `json:"skewness"` // third moment
	Kurtosis report.Number `json:"kurtosis"` // fourth moment: heavy tails
}

// CheckNodes makes the posterior-predictive checks.
func CheckNodes(p *score.Problem, ctx gocontext.Context, posterior score.Mixture, source score.ParameterSource, random *rand.Rand) (checks []NodeCheck, err error) {
	l := p.Layout()
	for j, name := range p.Data.Names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped while checking residuals: %w", err)
		}
		counted := p.Data.CountedRows(j)
		fitted := make([]float64, len(counted))
		residuals := make([]float64, len(counted))
		replicated := make([][3]float64, checkReplicates)
		for r := range replicated {
			for k := range residuals {
				residuals[k] = random.NormFloat64()
			}
			replicated[r] = statistics(residuals)
		}
		families := posterior.Draws(random, func(f dgraph.Family) bool { return f.Node == j })
		check := NodeCheck{Node: name}
		for range checkDraws {
			theta := source(families())
			sigma := math.Exp(l.LogSigma(theta))
			means(p, j, counted, theta, fitted)
			for k, row := range counted {
				residuals[k] = (p.Data.X.At(row, j) - fitted[k]) / sigma
			}
			observed := statistics(residuals)
			for _, other := range replicated {
				const share = 1.0 / (checkDraws * checkReplicates)
				for k, to := range []*report.Number{&check.Spread, &check.Skewness, &check.Kurtosis} {
					*to += report.Number(share * dgraph.Indicator(other[k] >= observed[k]))
				}
			}
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// statistics are the standard deviation of residuals, and their standardised moments of order 3 and
// 4.
func statistics(x []float64) (s [3]float64) {
	mean, sd := stat.PopMeanStdDev(x, nil)
	s[0] = sd
	for _, value := range x {
		z := (value - mean) / sd
		s[1] += z * z * z / float64(len(x))
		s[2] += z * z * z * z / float64(len(x))
	}
	return s
}
