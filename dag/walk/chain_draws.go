package walk

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
)

// ShareOf returns a function that computes the probability of an event, as the fraction of draws
// whose graph satisfies it, with its standard error. independent is the effective number of draws.
func ShareOf(draws []score.Draw, independent float64) func(event func(*dgraph.Graph) bool) (probability, se float64) {
	return func(event func(*dgraph.Graph) bool) (probability, se float64) {
		for _, d := range draws {
			if event(d.Graph) {
				probability += d.Probability
			}
		}
		return probability, score.ShareError(probability, independent)
	}
}

// comparedGraphs is about the number of graphs that Some returns, for comparisons one by one. They
// are evenly spread over all draws. Their number is limited because equivalence classes take long
// to find.
const comparedGraphs = 3000

// Some returns the families (nodes with a set of parents) in all draws, with the fraction of draws
// that have each. For about comparedGraphs evenly spaced draws it also returns the index of the
// family of each node in posterior.Families, and the number of the chain, from 1.
func (s *Graphs) Some() (posterior score.Mixture, families [][]int, chain []int32) {
	all := slices.Concat(s.Graphs...)
	posterior, families = score.FamiliesOf(all)
	every := max(1, len(all)/comparedGraphs)
	families = score.EachOf(families, every)
	return posterior, families, apply.UpTo(len(families), func(k int) int32 { return int32(k*every/len(s.Graphs[0]) + 1) })
}

// Sample returns all draws with their parameters, ordered by time, and at each time by chain.
func (s *Graphs) Sample() (d score.Sample) {
	for k := range KeptGraphs {
		for c := range s.Graphs {
			d.Parents, d.Thetas, d.Chain = append(d.Parents, s.Graphs[c][k]), append(d.Thetas, s.thetas[c][k]), append(d.Chain, int32(c+1))
		}
	}
	return d
}

// Edges holds the probabilities of edges and their standard errors [N][N].
type Edges struct {
	// Probabilities and Errors are indexed by cause and effect.
	Probabilities, Errors [][]float64
	// Worst holds the largest standard error of an edge. Its R-hat is the largest, and its ESS the
	// smallest, among the log density and the edges whose probability is not close to 0 or 1.
	Worst rjmcmc.Summary
	// Unsettled lists the edges about which the chains disagree, the worst first, if they are few
	// (mostUnsettled); nil otherwise. Settled is Worst without these edges and without the log
	// density, on which they act.
	Unsettled []dgraph.Edge
	Settled   rjmcmc.Summary
}

// rareEdge is the distance of the probability of an edge from 0 or 1 below which diagnostics ignore
// the edge, because the R-hat of an edge that occurs in few draws is noise.
const rareEdge = 0.02

// mostUnsettled is the largest number of unsettled edges, as a fraction of the expected number of
// edges, with which an answer is doubtful and does not fail. In large graphs a few edges may stay
// unsettled for long, and their standard errors say so. In graphs of fewer than 20 edges a single
// unsettled edge makes the answer fail.
const mostUnsettled = 0.05

// Summarise combines the summaries of the log density and of every edge. The autocorrelation of an
// edge that almost never changed is unknown, so that its error is at least the error for the
// smallest effective number of draws. Unsettled edges count only for edges that share a node with
// them.
func Summarise(nodes int, density rjmcmc.Summary, summarise func(e dgraph.Edge) rjmcmc.Summary) Edges {
	all := Edges{Probabilities: dgraph.Zeros(nodes), Errors: dgraph.Zeros(nodes), Worst: density, Settled: rjmcmc.Summary{ESS: math.Inf(1)}}
	all.Worst.MCSE = 0
	var rare []dgraph.Edge
	unsettled, expected := map[dgraph.Edge]rjmcmc.Summary{}, 0.0
	for _, e := range dgraph.OrderedPairs(nodes) {
		summary := summarise(e)
		all.Probabilities[e.From][e.To], all.Errors[e.From][e.To] = summary.Mean, summary.MCSE
		expected += summary.Mean
		isRare := summary.SD == 0 || math.Abs(summary.Mean-0.5) > 0.5-rareEdge
		if isRare {
			rare = append(rare, e)
		}
		lower(&all.Worst, summary, isRare)
		if !isRare && (!(summary.RHat <= verdict.FailedRHat) || summary.ESS < verdict.FailedESS) {
			unsettled[e] = summary
		} else {
			lower(&all.Settled, summary, isRare)
		}
	}
	doubtful := dgraph.Set{} // the ends of unsettled edges
	if float64(len(unsettled)) <= mostUnsettled*expected {
		for e := range unsettled {
			all.Unsettled, doubtful = append(all.Unsettled, e), doubtful.With(e.From).With(e.To)
		}
		slices.SortFunc(all.Unsettled, func(a, b dgraph.Edge) int {
			return cmp.Or(cmp.Compare(unsettled[a].ESS, unsettled[b].ESS), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		})
	}
	for _, e := range rare {
		ess := all.Worst.ESS
		if all.Unsettled != nil && !math.IsInf(all.Settled.ESS, 1) && !doubtful.Has(e.From) && !doubtful.Has(e.To) {
			ess = all.Settled.ESS
		}
		se := &all.Errors[e.From][e.To]
		*se = math.Max(*se, score.ShareError(all.Probabilities[e.From][e.To], ess))
	}
	return all
}

// lower makes worst at least as bad as the summary of an edge. The diagnostics of rare edges do not
// count.
func lower(worst *rjmcmc.Summary, summary rjmcmc.Summary, isRare bool) {
	if summary.SD > 0 {
		worst.MCSE = math.Max(worst.MCSE, summary.MCSE)
	}
	if !isRare {
		worst.RHat, worst.ESS = math.Max(worst.RHat, summary.RHat), math.Min(worst.ESS, summary.ESS)
	}
}

// namedEdges is the largest number of unsettled edges that a reason names.
const namedEdges = 5

// Judge judges Markov chains over graphs, each with the given number of draws, by the worst R-hat,
// effective number of draws and standard error among their summaries. If few edges are unsettled,
// the verdict is at best doubtful, and the other edges decide. names are the names of the nodes.
func (e Edges) Judge(chains, draws int, names []string) *verdict.Judgement {
	if e.Unsettled == nil {
		return verdict.Judge(Measured(chains, draws, e.Worst))
	}
	j := verdict.Judge(Measured(chains, draws, e.Settled))
	list := apply.To(e.Unsettled[:min(len(e.Unsettled), namedEdges)], func(edge dgraph.Edge) string { return names[edge.From] + " → " + names[edge.To] })
	if more := len(e.Unsettled) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	j.Lower(verdict.Doubtful, "the chains disagree about %d edges, whose standard errors are up to %.2g: %s", len(e.Unsettled), e.Worst.MCSE, strings.Join(list, ", "))
	return j
}
