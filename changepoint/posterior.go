package changepoint

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/run"
)

// Posterior is the exact posterior of a problem.
type Posterior struct {
	// LogEvidence is log p(data) in nats, in the units of the table, over all numbers of changes.
	LogEvidence float64
	// LogEvidences[k] is log p(data | k), and Probabilities[k] is p(k | data).
	LogEvidences  []float64
	Probabilities []float64
	// Error bounds the error of p(k | data) that quadrature causes. It is computed from the change
	// of p(k | data) when half the nodes are left out.
	Error float64

	problem *Problem
	nodes   []*node
	places  segments
	moments *moments  // the data of events; nil for series
	prior   []float64 // log p(k)
	// shares[q][k] is the joint posterior probability of k changes and quadrature node q of the
	// shared parameter.
	shares [][]float64
}

// Sums over quadrature nodes leave out nodes whose joint probability with any number of changes is
// at most negligibleShare.
const negligibleShare = 1e-10

// Posterior computes the posterior from sums over all numbers and places of changes. For n rows it
// takes O(n² MaxChanges) operations for each node of the quadrature, and memory for a few hundred
// numbers per row.
func (p *Problem) Posterior(ctx gocontext.Context) (*Posterior, error) {
	if p.Options.Kind == Events {
		return p.eventPosterior(ctx)
	}
	nodes, err := p.seriesNodes(ctx)
	if err != nil {
		return nil, err
	}
	post := p.newPosterior(nodes)
	post.places = p.rows(nil)
	if len(nodes) > 1 {
		half := apply.UpTo((len(nodes)+1)/2, func(i int) *node { return nodes[2*i] })
		// The error of the trapezoidal rule is about the square of the error with half the nodes.
		post.Error = square(floats.Distance(post.Probabilities, p.newPosterior(half).Probabilities, math.Inf(1)))
	}
	return post, post.both(ctx)
}

func square(x float64) float64 { return x * x }

// seriesNodes returns the nodes of the quadrature over the shared parameter. There is a single node
// if no parameter is shared.
func (p *Problem) seriesNodes(ctx gocontext.Context) ([]*node, error) {
	s := newSums(p.y, p.unitTimes())
	switch p.Options.Kind {
	case Mean, Slope:
		return p.integrate(ctx, p.noise(s))
	case Variance:
		return p.integrate(ctx, p.commonMean(s))
	case Both:
		return p.alone(ctx, normals{s, levelWeight, varianceShape, varianceScale})
	}
	logs := make([]float64, len(p.y)+1)
	for i, y := range p.y {
		logs[i+1] = logs[i] + logsum.Gamma(y+1)
	}
	return p.alone(ctx, rates{s, logs, p.Options.RateShape, p.Options.RateExposure})
}

// alone returns the only node that a family without a shared parameter needs.
func (p *Problem) alone(ctx gocontext.Context, f family) ([]*node, error) {
	r, err := newRecursion(ctx, p.rows(f), p.Options.MaxChanges)
	return []*node{{recursion: r}}, err
}

// firstNodes is the number of quadrature nodes between neighbouring events at the start. mostPlaces
// is the largest number of nodes in all: with 30 changes the sums over 6,000 nodes have 5·10⁸
// terms.
const (
	firstNodes = 2
	mostPlaces = 6000
)

// placeError is the accepted difference of a probability between a quadrature and a quadrature with
// half the nodes. It is a fiftieth of 0.005, the default standard error of commands that sample.
const placeError = 1e-4

// eventPosterior doubles the number of nodes between events until all p(k | data) are stable, or
// until there would be more than mostPlaces nodes.
func (p *Problem) eventPosterior(ctx gocontext.Context) (*Posterior, error) {
	from, to := p.window()
	var last *Posterior
	for count := firstNodes; ; count *= 2 {
		m := newMoments(p.times, from, to, count, p.Options.RateShape, p.Options.RateExposure, p.Options.Places == Spaced)
		r, err := newRecursion(ctx, m, p.Options.MaxChanges)
		if err != nil {
			return nil, err
		}
		post := p.newPosterior([]*node{{recursion: r}})
		post.places, post.moments, post.Error = m, m, 1
		if last != nil {
			post.Error = floats.Distance(post.Probabilities, last.Probabilities, math.Inf(1))
		}
		last = post
		if post.Error < placeError || 2*m.places() > mostPlaces {
			return post, post.both(ctx)
		}
	}
}

func (p *Problem) newPosterior(nodes []*node) *Posterior {
	post := &Posterior{problem: p, nodes: nodes, prior: p.logPriorCount()}
	evidence, logs := make([]models.Evidence, len(post.prior)), make([]float64, len(nodes))
	for k := range evidence {
		for q, n := range nodes {
			logs[q] = n.logWeight + n.recursion.logEvidence[k]
		}
		evidence[k] = models.Closed(logsum.Of(logs))
		post.LogEvidences = append(post.LogEvidences, evidence[k].Log+p.logJacobian())
	}
	sum := models.Combine(post.prior, evidence)
	post.Probabilities, post.LogEvidence = sum.Probability, sum.LogEvidence+p.logJacobian()
	if floats.HasNaN(post.LogEvidences) {
		post.LogEvidence = math.NaN()
	}
	post.shares = matrix(len(nodes), len(post.prior))
	for q, n := range nodes {
		for k, prior := range post.prior {
			post.shares[q][k] = math.Exp(prior + n.logWeight + n.recursion.logEvidence[k] - sum.LogEvidence)
		}
	}
	return post
}

// logJacobian returns the log density of the values in the units of the table, less their log
// density on the working scale (mean 0, standard deviation 1).
func (p *Problem) logJacobian() float64 { return -float64(len(p.y)) * math.Log(p.scale) }

// both computes the backward sums of all quadrature nodes whose joint probability with some number
// of changes is above negligibleShare. It drops the other nodes.
func (post *Posterior) both(ctx gocontext.Context) error {
	if math.IsNaN(post.LogEvidence) || math.IsInf(post.LogEvidence, 0) {
		return &run.Unanswerable{Err: fmt.Errorf("the log evidence is %g: the values are out of range", post.LogEvidence)}
	}
	var kept []*node
	var shares [][]float64
	for q, n := range post.nodes {
		if slices.Max(post.shares[q]) > negligibleShare {
			kept, shares = append(kept, n), append(shares, post.shares[q])
		}
	}
	post.nodes, post.shares = kept, shares
	return parallel.Do(len(kept), func(q int) error { return kept[q].recursion.both(ctx) })
}

// Expected returns the posterior mean of the number of changes.
func (post *Posterior) Expected() (mean float64) {
	for k, p := range post.Probabilities {
		mean += float64(k) * p
	}
	return mean
}

// Anywhere returns the probability of a change at each candidate place, averaged over numbers of
// changes.
func (post *Posterior) Anywhere() []float64 {
	curve := make([]float64, post.places.places())
	for q, n := range post.nodes {
		for k, share := range post.shares[q] {
			if k == 0 || share < negligibleShare {
				continue
			}
			for j := 1; j <= k; j++ {
				for i := range curve {
					curve[i] += share * math.Exp(n.recursion.place(k, j, i+1)-n.recursion.logEvidence[k])
				}
			}
		}
	}
	return curve
}

// Place returns the distribution over candidate places of the j-th of k changes, 1 ≤ j ≤ k.
func (post *Posterior) Place(k, j int) []float64 {
	probabilities := make([]float64, post.places.places())
	total := 0.0
	for q := range post.nodes {
		total += post.shares[q][k]
	}
	for q, n := range post.nodes {
		for i := range probabilities {
			probabilities[i] += post.shares[q][k] / total * math.Exp(n.recursion.place(k, j, i+1)-n.recursion.logEvidence[k])
		}
	}
	return probabilities
}

// draw is one draw from the posterior.
type draw struct {
	places []int // boundary numbers of the places of changes
	levels []level
	// logP is log p(k, places, shared parameter, data) with levels integrated out, on the working
	// scale of the problem.
	logP float64
}

func (post *Posterior) sample(count int, random *rand.Rand) []draw {
	draws, counts := make([]draw, count), len(post.Probabilities)
	shares := pick.NewTable(slices.Concat(post.shares...))
	for d := range draws {
		at := shares.Index(random.Float64())
		draws[d] = post.sampleGiven(at/counts, at%counts, random)
	}
	return draws
}

func (post *Posterior) sampleGiven(q, k int, random *rand.Rand) draw {
	n, data := post.nodes[q], post.nodes[q].recursion.data
	d := draw{places: n.recursion.sample(k, random), logP: n.logPrior + post.prior[k] + data.logConstant(k)}
	bounds := post.bounds(d.places)
	for j, from := range bounds[:k+1] {
		to := bounds[j+1]
		d.logP += data.logSegment(from, to)
		d.levels = append(d.levels, data.draw(from, to, random))
	}
	return d
}

// bounds returns the boundary numbers of the start, the places of changes, and the end.
func (post *Posterior) bounds(places []int) []int {
	return append(append([]int{0}, places...), post.places.places()+1)
}
