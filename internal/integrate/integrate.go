// Package integrate finds the integral of a density of a few coordinates, and draws from it, by
// importance sampling from a mixture that adapts to it.
//
// The mixture starts from the modes and a wide distribution, and follows weighted draws from itself
// (adaptive multiple importance sampling; Cornuet et al. 2012, Cappé et al. 2008). Then it is
// frozen: the draws of the estimate are independent of each other and of the adaptation, so that
// their standard error is right, and Pareto's k̂ judges them. The wide distribution keeps a share
// of the mixture, which bounds the weights wherever the density has no heavier tail.
//
//	integrate.go  adaptation
//	modes.go      where adaptation starts, and components that are divided
//	sample.go     draws, estimates
//	mixture.go    mixtures of Student t distributions, and how they are fitted
//	neighbour.go  proposals for a density similar to one already integrated
package integrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
)

// These constants control the adaptation. They were checked on the densities of the tests: other
// choices reduce the number of effective draws but do not bias the estimate.
const (
	starts        = 3   // number of searches for modes
	rounds        = 5   // number of rounds of adaptation
	perRound      = 400 // number of draws in a round, to which perDim is added for each coordinate
	perDim        = 200
	mostParts     = 6    // largest number of components other than the wide and the loose one
	wideShare     = 0.1  // share of the wide component in the mixture
	looseShare    = 0.15 // share of the loose component, which covers the whole density
	looseness     = 2.5  // width of the loose component, in standard deviations of the density
	wideDegrees   = 3    // degrees of freedom of these two components, for heavy tails
	narrowDegrees = 5    // degrees of freedom of the other components: tails heavier than normal tails
	leastShare    = 0.01 // share below which a component is removed
	shrink        = 0.02 // share of the covariance of all draws, added to the covariance of each component
	emSteps       = 5
	dearGain      = 0.05 // rise of the log density, in nats, below which an expensive search ends
)

// Problem describes a density to integrate.
type Problem struct {
	// Centre and Width [D] describe a wide distribution: most mass lies within a few Widths.
	Centre, Width []float64
	// LogDensity returns the unnormalised log density at x [D], and −Inf outside of the support. It
	// is called from several goroutines at once.
	LogDensity func(x []float64) float64
	// LogScales, if not nil, returns logarithms of functions of x, such as standard deviations,
	// whose mean squares under the density are estimated too. The proposal then also covers the
	// regions in which the density times each square has its mass. They can be far from the mass of
	// the density itself.
	LogScales func(x []float64) []float64
	// Noise is the approximate error of LogDensity. Searches for modes stop at this accuracy, and
	// curvature is computed from differences that are larger than it. 0 stands for rounding error.
	Noise float64
	// Dear marks a density that is expensive to evaluate. There is then only one search for a mode,
	// from the best of the first draws, and it ends when it gains little. Draws find modes that it
	// misses.
	Dear bool
	// PerRound is the number of draws in each round of adaptation; 0 stands for 400 plus 200 for
	// each coordinate.
	PerRound int
}

// Proposal is a distribution that approximates a density, to draw from.
type Proposal struct {
	problem Problem
	mixture mixture
}

// Adapt finds a proposal for a problem with at least one coordinate. If ctx is cancelled, it stops
// with an error that wraps ctx.Err().
func Adapt(ctx context.Context, problem Problem, random *rand.Rand) (*Proposal, error) {
	dim := len(problem.Centre)
	if dim == 0 || len(problem.Width) != dim {
		panic(fmt.Sprintf("integrate.Adapt: got a centre of %d coordinates and %d widths, want as many, at least 1", dim, len(problem.Width)))
	}
	widest, err := problem.widest()
	if err != nil {
		return nil, err
	}
	alone := *widest
	alone.share = 1
	p := &Proposal{problem: problem, mixture: mixture{&alone}}
	all := &Sample{}
	draws := cmp.Or(problem.PerRound, perRound+perDim*dim)
	if err := p.Draw(ctx, all, draws, random); err != nil {
		return nil, err
	}
	parts, err := p.modes(ctx, all)
	if err != nil {
		return nil, err
	}
	return p, p.adapt(ctx, all, parts, mixture{widest}, rounds, draws, random)
}

// wide returns the scale matrix of the wide distribution, and widest the wide distribution as a
// component of a mixture.
func (p *Problem) wide() *mat.SymDense {
	wide := mat.NewSymDense(len(p.Width), nil)
	for i, width := range p.Width {
		wide.SetSym(i, i, width*width)
	}
	return wide
}

func (p *Problem) widest() (*component, error) {
	widest, ok := newComponent(wideShare, wideDegrees, p.Centre, p.wide())
	if !ok {
		return nil, fmt.Errorf("integrate: widths %v, want positive numbers", p.Width)
	}
	return widest, nil
}

// adapt draws in rounds from a mixture of the components parts and defence, and fits both to all
// draws so far. The last fit becomes the mixture of p. Before the first round, the sample all must
// hold the draws of one round from the mixture of p.
func (p *Proposal) adapt(ctx context.Context, all *Sample, parts, defence mixture, rounds, draws int, random *rand.Rand) error {
	proposals := []mixture{p.mixture}
	for round := range rounds {
		p.mixture = defended(parts, defence)
		if err := p.Draw(ctx, all, draws, random); err != nil {
			return err
		}
		proposals = append(proposals, p.mixture)
		weights := p.balanced(all, proposals, draws, round > 0)
		if weights == nil {
			return fmt.Errorf("integrate: the density is zero at %d points within %v of %v", len(all.Points), p.problem.Width, p.problem.Centre)
		}
		if round == 1 {
			_, spread := moments(all.Points, weights)
			parts = split(parts, all.Points, weights, spread, random)
		}
		parts, defence = parts.fitted(all.Points, weights, defence[0])
	}
	p.mixture = defended(parts, defence)
	return nil
}

// fitted returns the components of m after some steps of the EM algorithm, and the defence: the
// component widest and a broad component around all points, which bound the weights far from the
// other components.
func (m mixture) fitted(points [][]float64, weights []float64, widest *component) (parts, defence mixture) {
	mean, spread := moments(points, weights)
	for range emSteps {
		m = m.fit(points, weights, spread)
	}
	defence = mixture{widest}
	spread.ScaleSym(looseness*looseness, spread)
	if loose, ok := newComponent(looseShare, wideDegrees, mean, spread); ok {
		defence = append(defence, loose)
	}
	return m, defence
}

func defended(parts, defence mixture) mixture {
	total, left := 0.0, 1.0
	for _, c := range parts {
		total += c.share
	}
	for _, c := range defence {
		left -= c.share
	}
	m := slices.Clone(defence)
	for _, c := range parts {
		reduced := *c
		reduced.share = left * c.share / total
		m = append(m, &reduced)
	}
	return m
}

// balanced returns weights of points drawn in equal numbers from several proposals in turn. A
// weight is the density divided by the mean density of the proposals. If few points have all the
// weight, the weights are tempered. balanced returns nil if no point has weight. The weighted
// density is the mean of the normalised density, of its normalised products with each square of
// LogScales and, if missed is set, of its product with its ratio to the last proposal. The integral
// of this last product is the mean square of the weights. It is large at a wall, where the support
// ends, or at a ridge that no component follows, because weights have a heavy tail there.
func (p *Proposal) balanced(all *Sample, proposals []mixture, draws int, missed bool) []float64 {
	logWeights, ratio := make([]float64, len(all.Points)), make([]float64, len(all.Points))
	for i, x := range all.Points {
		work, logs := make([]float64, len(x)), make([]float64, len(proposals))
		for k, m := range proposals {
			logs[k] = m.logDensity(x, work, make([]float64, len(m)))
		}
		logWeights[i] = all.LogDensity[i] - logsum.Of(logs)
		ratio[i] = all.LogDensity[i] - logs[len(logs)-1]
		if math.IsNaN(logWeights[i]) || math.IsInf(logWeights[i], 1) {
			logWeights[i] = math.Inf(-1)
		}
	}
	combined := tempered(logWeights, draws)
	if combined == nil {
		return nil
	}
	terms := 1.0
	product := make([]float64, len(logWeights))
	with := func(factor func(i int) float64) {
		for i, l := range logWeights {
			if product[i] = l; !math.IsInf(l, -1) {
				product[i] += factor(i)
			}
		}
		if weights := tempered(product, draws); weights != nil {
			floats.Add(combined, weights)
			terms++
		}
	}
	if missed {
		with(func(i int) float64 { return ratio[i] })
	}
	if p.problem.LogScales != nil {
		scales := apply.To(all.Points, p.problem.LogScales)
		for k := range scales[0] {
			with(func(i int) float64 { return 2 * scales[i][k] })
		}
	}
	floats.Scale(1/terms, combined)
	return combined
}

// tempered returns normalised weights raised to the largest power at which enough points for a
// covariance have weight, or nil if there is none.
func tempered(logWeights []float64, draws int) []float64 {
	weights := make([]float64, len(logWeights))
	for power := 1.0; power > 1e-3; power *= 0.7 {
		floats.ScaleTo(weights, power, logWeights)
		if logsum.Effective(weights) >= float64(draws)/20 {
			return logsum.Shares(weights)
		}
	}
	return nil
}

func moments(points [][]float64, weights []float64) (mean []float64, c *mat.SymDense) {
	dim := len(points[0])
	mean, c = make([]float64, dim), mat.NewSymDense(dim, nil)
	for n, x := range points {
		floats.AddScaled(mean, weights[n], x)
	}
	offset := make([]float64, dim)
	for n, x := range points {
		floats.SubTo(offset, x, mean)
		c.SymRankOne(c, weights[n], mat.NewVecDense(dim, offset))
	}
	return mean, c
}

func finiteOr(x, fallback float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fallback
	}
	return x
}
