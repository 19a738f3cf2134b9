package score

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
)

// Scores holds the log evidences of F families (nodes with sets of parents). All slices have length
// F, in the order of Families.
type Scores struct {
	// Families holds the nodes with sets of parents to which the log evidences belong.
	Families []dgraph.Family
	// LogEvidence is ℓ_j(pa) = log p(x_j | x_pa) in nats, and SE its standard error, which is zero
	// for exact scores.
	LogEvidence, SE []float64
	// KHat is the Pareto shape of the importance weights behind an estimate, and Missed an estimate
	// of the share of the evidence that comes from weights larger than any drawn (psis.TailShare).
	// They are nil for exact scores.
	KHat, Missed []float64
}

// Posterior is the distribution over graphs given by scores (log evidences of nodes given their
// parents) and a prior. It is exact up to the errors of the scores.
type Posterior struct {
	// Structure is the set of possible graphs, and Scores holds the log evidences.
	Structure dgraph.Structure
	Scores    Scores
	// LogEvidence is log Σ_A p(A) p(x | A) over graphs A, and LogEvidenceSE its standard error.
	LogEvidence, LogEvidenceSE float64
	// Marginals holds the posterior probabilities of the families (nodes with parents) [F].
	Marginals []float64

	sum      dgraph.Sum
	logTotal float64
	drawn    float64 // effective number of draws if graphs were drawn; 0 if they were summed
}

// NewPosterior sums over all graphs that the structure allows. scores must have all its families
// (nodes with sets of parents), in the order of structure.Families. Sums are possible for up to 14
// nodes with the prior over graphs, and up to 20 with the prior over orders. status, if not nil, is
// called with the progress. The error wraps the error of ctx.
func NewPosterior(ctx gocontext.Context, structure dgraph.Structure, scores Scores, status func(string)) (*Posterior, error) {
	if err := structure.Validate(); err != nil {
		return nil, err
	}
	if limit := structure.ExactLimit(); structure.Nodes > limit {
		return nil, fmt.Errorf("%d nodes: sums over %s are exact for up to %d", structure.Nodes, structure.PriorName(), limit)
	}
	families := structure.Families()
	if !slices.Equal(families, scores.Families) || len(scores.LogEvidence) != len(families) || len(scores.SE) != len(families) {
		return nil, fmt.Errorf("dag.NewPosterior: the structure has %d families, the scores are for %d others", len(families), len(scores.Families))
	}
	for i, score := range scores.LogEvidence {
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return nil, fmt.Errorf("the score of node %d with the parents %v is %g", families[i].Node, families[i].Parents.List(), score)
		}
	}
	told := time.Now()
	pass := func(number int) func(done, total int) bool {
		return func(done, total int) bool {
			if status != nil && time.Since(told) > sumPause {
				told = time.Now()
				status(fmt.Sprintf("summing over %s, %d%%", structure.PriorName(), 100*(number*total+done)/(3*total)))
			}
			return ctx.Err() == nil
		}
	}
	prior := structure.Sum(families, make([]float64, len(families)), pass(0)).LogTotal()
	p := PosteriorOf(structure, scores, structure.Sum(families, scores.LogEvidence, pass(1)), prior, 0, pass(2))
	if err := ctx.Err(); err != nil { // the sum is incomplete
		return nil, fmt.Errorf("stopped while summing over %s: %w", structure.PriorName(), err)
	}
	return p, nil
}

// PosteriorOf returns the posterior given a sum over all or some of the graphs, or draws of graphs
// in the form of a sum. logMass is the log of the sum of the prior weights of all graphs. The
// argument drawn is the effective number of draws, and 0 for a sum. For draws, the LogEvidence of
// the posterior is NaN. The function on is called with the progress, and returns whether to
// continue.
func PosteriorOf(structure dgraph.Structure, scores Scores, sum dgraph.Sum, logMass, drawn float64, on func(done, total int) bool) *Posterior {
	p := &Posterior{Structure: structure, Scores: scores, sum: sum, logTotal: sum.LogTotal(), drawn: drawn}
	p.LogEvidence, p.Marginals = p.logTotal-logMass, sum.Marginals(len(scores.Families), on)
	for i, share := range p.Marginals {
		p.LogEvidenceSE = math.Hypot(p.LogEvidenceSE, share*scores.SE[i])
	}
	return p
}

// sumPause is the time between two reports of progress.
const sumPause = 2 * time.Second

// EdgeProbabilities returns the probabilities of all entries of the adjacency matrix [N][N].
func (p *Posterior) EdgeProbabilities() [][]float64 { return p.Mixture().Edges(p.Structure.Nodes) }

// Mixture returns the nodes with sets of parents (families) and their posterior probabilities.
func (p *Posterior) Mixture() Mixture {
	return Mixture{Families: p.Scores.Families, Shares: p.Marginals, SE: p.Scores.SE}
}

// Draw is one of the different graphs that were drawn from the posterior.
type Draw struct {
	Graph    *dgraph.Graph
	Families []int // for each node, the index in Scores.Families of the node with its parents
	Count    int   // number of times the graph was drawn
	// Probability is the posterior probability of the graph, and SE its standard error from the
	// errors of the scores. Probability is the fraction of draws that are this graph if there was
	// no sum over graphs, and for the prior over orders with more than mostCounted nodes.
	Probability, SE float64
}

// Sample draws graphs, whose number is count, and returns the different graphs among them, the most
// probable graph first. The error wraps the error of ctx.
func (p *Posterior) Sample(ctx gocontext.Context, random *rand.Rand, count int) ([]Draw, error) {
	graphs := make([][]int, count)
	for k := range graphs {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped while drawing graphs: %w", err)
		}
		graphs[k] = make([]int, p.Structure.Nodes)
		p.sum.Draw(random, graphs[k])
	}
	draws := CountDraws(p.Mixture(), graphs)
	for k := range draws {
		p.describe(&draws[k], count)
	}
	slices.SortFunc(draws, func(a, b Draw) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), slices.Compare(a.Families, b.Families))
	})
	return draws, nil
}

// mostCounted is the largest number of nodes of graphs whose topological orders are counted.
// Counting them takes some hundredths of a second for each graph.
const mostCounted = 20

// describe sets the probability and the standard error of a draw. The probability stays the
// fraction of draws if the sum over graphs is unknown, or if topological orders cannot be counted.
func (p *Posterior) describe(d *Draw, count int) {
	logWeight := -p.logTotal
	// Errors dℓ_f of the scores of nodes with parents f change the probability of a graph A by d
	// log p(A) = Σ_f (1[f in A] − p(f)) dℓ_f.
	variance := dgraph.Square(p.LogEvidenceSE)
	for j, f := range d.Families {
		logWeight += p.Scores.LogEvidence[f] + p.Structure.Prior.LogWeight(j, p.Scores.Families[f].Parents)
		variance += dgraph.Square(p.Scores.SE[f]) * (dgraph.Square(1-p.Marginals[f]) - dgraph.Square(p.Marginals[f]))
	}
	d.SE = math.Sqrt(math.Max(variance, 0))
	if math.IsNaN(p.logTotal) || p.Structure.Orders && p.Structure.Nodes > mostCounted {
		independent := float64(count)
		if p.drawn > 0 {
			independent = math.Min(independent, p.drawn)
		}
		d.SE = math.Hypot(d.Probability*d.SE, ShareError(d.Probability, independent))
		return
	}
	if p.Structure.Orders {
		logWeight += math.Log(d.Graph.Orders())
	}
	d.Probability = math.Exp(logWeight)
	d.SE *= d.Probability
}

// Probability returns the fraction of draws whose graph satisfies event. Its standard error covers
// the number of draws and the errors of the scores. An error of the score of a family (node with
// parents) changes the probability by the error times the covariance of the event with the family.
func (p *Posterior) Probability(draws []Draw, event func(*dgraph.Graph) bool) (probability, se float64) {
	var total float64
	for _, d := range draws {
		total += float64(d.Count)
		probability += float64(d.Count) * dgraph.Indicator(event(d.Graph))
	}
	probability /= total
	return probability, math.Hypot(ShareError(probability, total), math.Sqrt(p.scoreVariance(probability, draws, -1, event)))
}

// scoreVariance returns the variance of the probability of an event due to the errors of the scores
// of all nodes except the node whose number is the argument named but; −1 excludes no node. It is
// Σ_f Cov(event, f)² SE_f² over families f (nodes with sets of parents), with covariances over
// draws. For a large error the product Cov SE is bounded by [Swing], because probabilities stay
// between 0 and 1.
func (p *Posterior) scoreVariance(probability float64, draws []Draw, but int, event func(*dgraph.Graph) bool) (variance float64) {
	total, joint := 0.0, map[int]float64{}
	for _, d := range draws {
		total += float64(d.Count)
		if event(d.Graph) {
			for _, f := range d.Families {
				joint[f] += float64(d.Count)
			}
		}
	}
	for f, share := range p.Marginals {
		se := p.Scores.SE[f]
		if se == 0 || share == 0 && joint[f] == 0 || p.Scores.Families[f].Node == but {
			continue
		}
		if share > 0 && share < 1 {
			se = math.Min(se, Swing(share, se)/(share*(1-share)))
		}
		variance += dgraph.Square((joint[f]/total - probability*share) * se)
	}
	return variance
}

// EdgeErrors returns the standard errors of the edge probabilities [N][N]. They come from the
// errors of the scores and, if graphs were drawn instead of summed, from the number of draws. A
// family is a node with a set of parents. The changes of the probabilities of edges into a node by
// errors of the scores of this node's families are computed exactly, and not from covariances over
// draws. Rare families with very uncertain scores thus count even if no draw contains them.
func (p *Posterior) EdgeErrors(draws []Draw) [][]float64 {
	nodes := p.Structure.Nodes
	errors, probabilities := dgraph.Zeros(nodes), p.EdgeProbabilities()
	if p.drawn == 0 && slices.Max(p.Scores.SE) == 0 {
		return errors // sums over all graphs of exact evidences have no errors
	}
	into := dgraph.Zeros(nodes) // variances of edges due to the families of the node that they lead to
	for f, share := range p.Marginals {
		family, swing := p.Scores.Families[f], Swing(share, p.Scores.SE[f])
		if swing == 0 {
			continue
		}
		for i := range nodes {
			// the probability of the edge given this set of parents, less its probability without
			// it
			effect := (dgraph.Indicator(family.Parents.Has(i)) - probabilities[i][family.Node]) / (1 - share)
			into[i][family.Node] += dgraph.Square(swing * effect)
		}
	}
	for _, e := range dgraph.OrderedPairs(nodes) {
		variance := p.scoreVariance(probabilities[e.From][e.To], draws, e.To, func(g *dgraph.Graph) bool { return g.Has(e.From, e.To) })
		errors[e.From][e.To] = math.Sqrt(variance + into[e.From][e.To])
		if p.drawn > 0 {
			errors[e.From][e.To] = math.Hypot(errors[e.From][e.To], ShareError(probabilities[e.From][e.To], p.drawn))
		}
	}
	return errors
}

// MissedEdges returns the possible errors of edge probabilities [N][N] due to the shares of
// evidences that importance sampling missed, which it takes for errors of log evidences.
func (p *Posterior) MissedEdges(draws []Draw) [][]float64 {
	missed := *p
	missed.Scores.SE, missed.drawn = p.Scores.Missed, 0
	return missed.EdgeErrors(draws)
}

// Weighted returns the drawn graphs, each with its share of the draws as its probability.
func Weighted(draws []Draw) []dgraph.Weighted {
	var total float64
	for _, d := range draws {
		total += float64(d.Count)
	}
	return apply.To(draws, func(d Draw) dgraph.Weighted {
		return dgraph.Weighted{Graph: d.Graph, Probability: float64(d.Count) / total}
	})
}

// Swing returns the root mean square of the change of a probability p if its log odds have a normal
// error with standard deviation se, by a Gauss–Hermite rule with five points. For a small se it is
// p (1 − p) se. For a large se it differs from that product: an estimated probability of 0.0005 may
// be 0.05 if the log evidence behind it is off by several nats.
func Swing(p, se float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	logOdds, squares := math.Log(p)-math.Log1p(-p), 0.0
	for _, point := range [...]struct{ node, weight float64 }{{1.355626179974266, 0.2220759220056126}, {2.856970013872806, 0.0112574113277207}} {
		for _, sign := range [...]float64{-1, 1} {
			squares += point.weight * dgraph.Square(1/(1+math.Exp(-logOdds-sign*point.node*se))-p)
		}
	}
	return math.Sqrt(squares)
}

// ShareError returns the standard error of a fraction (share) of independent draws. A fraction
// closer to 0 or 1 than half a draw is replaced by half a draw, since an event is not certain only
// because no draw contradicts it.
func ShareError(share, draws float64) float64 {
	draws = math.Max(draws, 1)
	half := 0.5 / (draws + 1)
	share = math.Min(math.Max(share, half), 1-half)
	return math.Sqrt(share * (1 - share) / draws)
}

// SumOfScores is a function that computes the posterior over graphs from scores, like NewPosterior.
type SumOfScores func(ctx gocontext.Context, structure dgraph.Structure, scores Scores, status func(string)) (*Posterior, error)
