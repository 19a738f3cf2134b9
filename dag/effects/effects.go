package effects

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/stream"
)

// Parameter is the posterior of the direct effect of one node on another, given that the edge
// between them is in the graph: the slope of the mechanism, in units of the table (or of its
// logarithms), averaged over the rows. For linear mechanisms it is the coefficient.
type Parameter struct {
	// From is the parent and To the node that depends on it. Prob is the probability of the edge
	// between them, and Mean the posterior mean of the effect given this edge.
	From string        `json:"from"`
	To   string        `json:"to"`
	Prob report.Number `json:"prob"`
	Mean report.Number `json:"mean"`
	// MeanSE is the Monte Carlo error of Mean. It is 0 for closed forms summed over all graphs. For
	// networks it includes the differences between independent groups of particles and the errors
	// of evidences.
	MeanSE report.Number `json:"mean_se"`
	// SD is the posterior standard deviation of the effect, and Q025 and Q975 are its quantiles at
	// 2.5 and 97.5 percent.
	SD   report.Number `json:"sd"`
	Q025 report.Number `json:"q025"`
	Q975 report.Number `json:"q975"`
}

// These constants are the sizes of summaries that are computed from draws.
const (
	linearDraws     = 4000 // draws from which a parameter is summarised
	networkDraws    = 400  // the same number for networks, whose slopes take longer
	slopeRows       = 200  // number of rows over which the slope of a network is averaged
	leastParameter  = 0.01 // least probability of an edge with a summary
	checkDraws      = 200
	checkReplicates = 400
	// checkRows is the largest number of rows whose residuals are checked, evenly spaced. Skewness
	// and kurtosis of so many normal numbers have standard errors of 0.025 and 0.05.
	checkRows = 10000
)

// Parameters summarises the direct effect along each edge. Quantiles come from draws. Means and
// standard deviations come from the function named exact, or from draws if it is nil; draws miss
// improbable values far away, which can make up most of a variance. The argument graphs is the
// effective number of graphs that were drawn for the posterior, infinite for a sum over all graphs.
// The draws for each node have their own random stream under the seed.
func Parameters(p *score.Problem, ctx gocontext.Context, posterior score.Mixture, sources score.ParameterSources, exact EdgeMoments, graphs float64, seed uint64) (list []Parameter, err error) {
	nodes := p.Data.Nodes()
	probabilities, ofNodes := posterior.Edges(nodes), posterior.OfNodes(nodes)
	effects := apply.UpTo(nodes, func(int) []*Parameter { return make([]*Parameter, nodes) }) // by cause and effect
	err = parallel.For(ctx, nodes, func(j int) error {
		random := stream.Rand(seed, "parameters/"+p.Data.Names[j])
		source := sources(random)
		for i := range nodes {
			if probability := probabilities[i][j]; probability >= leastParameter {
				families := posterior.Draws(random, posterior.With(i, ofNodes[j]))
				effects[i][j] = parameterOf(p, dgraph.Edge{From: i, To: j}, probability, graphs, exact, posterior.SE, func() (family int, theta []float64, island int) {
					family = families()
					theta, island = source(family)
					return family, theta, island
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stopped while summarising mechanisms: %w", err)
	}
	for _, effect := range slices.Concat(effects...) {
		if effect != nil {
			list = append(list, *effect)
		}
	}
	return list, nil
}

// parameterOf summarises the direct effect along an edge of the given probability. The argument
// draw draws a family (a node with its parents) that has the edge. It also returns the parameters
// of the family and their island, an independent group of particles.
func parameterOf(p *score.Problem, e dgraph.Edge, probability, graphs float64, exact EdgeMoments, evidence []float64, draw func() (family int, theta []float64, island int)) *Parameter {
	count := networkDraws
	if p.Model.Mechanism == sem.Linear {
		count = linearDraws
	}
	slopes, errors := make([]float64, count), meanErrors{}
	unit := p.Data.Scale[e.To] / p.Data.Scale[e.From]
	for k := range slopes {
		family, theta, island := draw()
		slopes[k] = slope(p, theta, e) * unit
		errors.add(family, island, slopes[k])
	}
	slices.Sort(slopes)
	mean, sd := stat.MeanStdDev(slopes, nil)
	between, drawn := sd, 0.0
	if exact == nil {
		drawn = errors.se(mean, evidence)
	} else {
		weight, variance, ofMeans := exact(e)
		mean, sd, between = weight*unit, math.Sqrt(variance)*unit, math.Sqrt(ofMeans)*unit
	}
	se := math.Hypot(drawn, between/math.Sqrt(graphs*probability))
	return &Parameter{
		From: p.Data.Names[e.From], To: p.Data.Names[e.To], Prob: report.Number(probability),
		Mean: report.Number(mean), MeanSE: report.Number(se), SD: report.Number(sd),
		Q025: report.Number(slopes[len(slopes)*25/1000]), Q975: report.Number(slopes[len(slopes)*975/1000]),
	}
}

// EdgeMoments returns the posterior mean and variance of the weight of an edge, given that the edge
// is in the graph, for the scaled columns. The result named between is the part of the variance
// that comes from different sets of parents. It can be called at the same time for edges into
// different nodes.
type EdgeMoments func(e dgraph.Edge) (mean, variance, between float64)

// negligibleShare is the posterior probability below which a node's set of parents changes no digit
// of the mean and variance of a weight. Weights have a prior standard deviation of about 1, and the
// smallest variances that occur are about 1e-12.
const negligibleShare = 1e-18

// ExactMoments returns a function that computes the posterior mean and variance of the weight of an
// edge. The function averages the closed forms for single sets of parents over the posterior.
// ExactMoments returns nil for mechanisms whose weights have no closed forms.
func ExactMoments(p *score.Problem, posterior score.Mixture) EdgeMoments {
	if !p.Model.Mechanism.Closed() || p.Model.Mechanism.Integrated() {
		return nil
	}
	type moments struct{ means, variances []float64 }
	known := apply.UpTo(p.Data.Nodes(), func(int) dgraph.Known[moments] { return dgraph.Known[moments]{} })
	forms, ofNodes := p.Forms(), posterior.OfNodes(p.Data.Nodes())
	compute := func(f dgraph.Family) (m moments) {
		m.means, m.variances = forms[f.Node].Moments(f.Parents)
		return m
	}
	return func(e dgraph.Edge) (mean, variance, between float64) {
		var shares, means, variances []float64
		for _, k := range posterior.With(e.From, ofNodes[e.To]) {
			if f := posterior.Families[k]; posterior.Shares[k] > negligibleShare {
				moments, at := known[f.Node].Of(f, math.MaxInt, compute), f.Parents.And(dgraph.Below(e.From)).Len()
				shares, means, variances = append(shares, posterior.Shares[k]), append(means, moments.means[at]), append(variances, moments.variances[at])
			}
		}
		mean = stat.Mean(means, shares)
		between = stat.MomentAbout(2, means, mean, shares)
		return mean, stat.Mean(variances, shares) + between, between
	}
}

// slope returns the derivative of the mechanism of e.To with respect to its parent e.From, averaged
// over evenly spaced rows.
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
			if l.Input(theta, row, h) > 0 {
				slope += theta[l.W2()+h] * theta[e.From*l.Hidden+h] / float64(rows)
			}
		}
	}
	return slope
}

// means sets dst, which has the length of rows, to the fitted values of a node in the given rows,
// for the scaled columns. An intercept has its estimated value.
func means(p *score.Problem, node int, rows []int, theta, dst []float64) {
	l, centers := p.Layout(), make([]float64, p.Data.Nodes())
	if p.Centers != nil {
		centers = p.Centers[node]
	}
	if l.Mechanism == sem.Linear {
		clear(dst)
		for i, weight := range theta[:l.Nodes] { // most of the weights are zero, because few nodes are parents
			if weight == 0 {
				continue
			}
			for k, row := range rows {
				dst[k] += weight * (p.Data.X.At(row, i) - centers[i])
			}
		}
		floats.AddConst(centers[node], dst)
		return
	}
	scratch := make([]float64, l.Nodes)
	for k, row := range rows {
		copy(scratch, p.Data.X.RawRowView(row))
		floats.Sub(scratch, centers)
		dst[k] = centers[node] + l.Mean(theta, scratch)
	}
}

// NodeCheck compares the residuals of a node, (x − f)/σ with the fitted value f, with their
// distribution in the model: independent standard normals. Each number is the posterior predictive
// probability that a statistic is at least as large as the statistic of the data. The model does
// not fit if the number is near 0 or 1.
type NodeCheck struct {
	Node     string        `json:"node"`
	Spread   report.Number `json:"spread"`   // standard deviation
	Skewness report.Number `json:"skewness"` // third moment
	Kurtosis report.Number `json:"kurtosis"` // fourth moment: heavy tails
}

// CheckNodes returns the posterior predictive checks of the residuals of all nodes, in at most
// 10,000 rows. The draws for each node have their own random stream under the seed.
func CheckNodes(p *score.Problem, ctx gocontext.Context, posterior score.Mixture, sources score.ParameterSources, seed uint64) ([]NodeCheck, error) {
	l, ofNodes := p.Layout(), posterior.OfNodes(p.Data.Nodes())
	checks := make([]NodeCheck, p.Data.Nodes())
	err := parallel.For(ctx, len(checks), func(j int) error {
		check := &checks[j]
		check.Node = p.Data.Names[j]
		random := stream.Rand(seed, "residuals/"+check.Node)
		source := sources(random)
		counted := p.Data.CountedRows(j)
		if all := counted; len(all) > checkRows {
			counted = apply.UpTo(checkRows, func(k int) int { return all[k*len(all)/checkRows] })
		}
		fitted := make([]float64, len(counted))
		residuals := make([]float64, len(counted))
		replicated := apply.UpTo(checkReplicates, func(int) [3]float64 { return statistics(stream.Normals(random, len(counted))) })
		families := posterior.Draws(random, ofNodes[j])
		for range checkDraws {
			theta, _ := source(families())
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
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stopped while checking residuals: %w", err)
	}
	return checks, nil
}

// statistics returns the standard deviation of residuals, and their standardised moments of order 3
// and 4.
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
