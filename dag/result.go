package dag

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// Result is the answer of a command in terms of the user's table: the object that --json prints.
// Fields that do not apply to a command are left out.
type Result struct {
	run.Origin
	// Data describes the analysed data.
	Data DataSummary `json:"data"`
	// Constraints describes which graphs are allowed; it is empty if all graphs are allowed.
	// Equivalence classes are formed without regard to the constraints.
	Constraints string `json:"constraints,omitempty"`
	// Steps is the number of training steps.
	Steps int `json:"steps,omitempty"`
	// Loss is the mean negative ELBO in nats at the end of training.
	Loss *Number `json:"loss,omitempty"`
	// Certificate is the verdict on the posterior over graphs.
	Certificate *Certificate `json:"certificate,omitempty"`
	// LogEvidence is log p(table), summed over all graphs, in nats.
	LogEvidence   Number `json:"log_evidence"`
	LogEvidenceSE Number `json:"log_evidence_se"`
	// ExpectedEdges is the posterior mean of the number of edges.
	ExpectedEdges Number `json:"expected_edges"`
	// Edges has one entry for each pair of nodes, for the more probable direction of an edge. With
	// more than 128 nodes, pairs that an edge joins with a probability below 0.01 are left out.
	Edges []Edge `json:"edges"`
	// Graphs lists the most probable graphs, and Classes the most probable equivalence classes.
	Graphs  []GraphReport `json:"graphs"`
	Classes []ClassReport `json:"classes"`
	// Parameters summarises the direct effects of parents on their children.
	Parameters []effects.Parameter `json:"parameters,omitempty"`
	// Effects lists the total causal effects, ordered by cause, for the pairs of nodes with a
	// directed path in at least one drawn graph.
	Effects []effects.Effect `json:"effects,omitempty"`
	// Asked lists the pairs of nodes whose effects were requested, cause first.
	Asked [][2]string `json:"effects_asked,omitempty"`
	// Checks has statistics of the residuals of each node.
	Checks []effects.NodeCheck `json:"checks,omitempty"`
	// Metrics compares the answer with the true graph, if it is known.
	Metrics *Metrics `json:"metrics,omitempty"`
	// Notes states omissions of the answer, such as constant columns that were left out.
	Notes []string `json:"notes,omitempty"`
}

// DataSummary describes the analysed data.
type DataSummary struct {
	Rows  int      `json:"rows"`
	Nodes []string `json:"nodes"`
}

// Edge is the posterior of the edge between two nodes.
type Edge struct {
	// From and To are the two nodes; from → to is the more probable direction.
	From string `json:"from"`
	To   string `json:"to"`
	// Prob and ProbReverse are the probabilities of from → to and of to → from, and ProbSE and
	// ProbReverseSE their standard errors. ProbNone is the probability of no edge between the two
	// nodes.
	Prob          Number `json:"prob"`
	ProbSE        Number `json:"prob_se"`
	ProbReverse   Number `json:"prob_reverse"`
	ProbReverseSE Number `json:"prob_reverse_se"`
	ProbNone      Number `json:"prob_none"`
	// These fields hold probabilities of equivalence classes. In a class counted by ClassForward
	// all graphs have from → to, and in one counted by ClassReverse all have to → from. In a class
	// counted by ClassUndirected all graphs have an edge between the nodes, but its direction
	// differs between graphs.
	ClassForward    Number `json:"class_forward"`
	ClassReverse    Number `json:"class_reverse"`
	ClassUndirected Number `json:"class_undirected"`
}

// GraphReport is a graph with its probability.
type GraphReport struct {
	Edges [][2]string `json:"edges"`
	Prob  Number      `json:"prob"`
	SE    Number      `json:"se"`
}

// ClassReport is an equivalence class with its probability. The graphs of a class state the same
// conditional independences. Directed lists the edges with the same direction in all graphs of the
// class, and Undirected the other edges.
type ClassReport struct {
	Directed   [][2]string `json:"directed"`
	Undirected [][2]string `json:"undirected"`
	Prob       Number      `json:"prob"`
	SE         Number      `json:"se"`
}

// Metrics compares the answer and two simple baselines with a true graph.
type Metrics struct {
	// TruthEdges is the number of edges of the true graph.
	TruthEdges int `json:"truth_edges"`
	// TruthCycle names the nodes of a cycle of the true graph, if it has one. BestSHD is then the
	// smallest structural Hamming distance between the true graph and any acyclic graph.
	TruthCycle []string `json:"truth_cycle,omitempty"`
	BestSHD    *int     `json:"best_possible_shd,omitempty"`
	// Answer compares the answer, GreedyBIC the graph of a greedy search by BIC, and Empty the
	// graph without edges.
	Answer    dgraph.MethodMetrics  `json:"answer"`
	GreedyBIC *dgraph.MethodMetrics `json:"greedy_bic,omitempty"`
	Empty     dgraph.MethodMetrics  `json:"empty_graph"`
}

// ExitStatus returns the exit status of the command: 3 if the answer must not be used, else 0.
func (r *Result) ExitStatus() int {
	if r.Certificate == nil {
		return 0
	}
	return r.Certificate.Verdict.ExitStatus()
}

const (
	// A run draws graphDraws graphs, and its result lists at most listedGraphs of them.
	graphDraws   = 10_000
	listedGraphs = 100
	// leastListed is the smallest probability of an edge between the two nodes of a pair with which
	// a result of more than [dgraph.ManyNodes] nodes lists the pair. Of 1,000 nodes, drawn graphs
	// join 130,000 pairs, nearly all in one or two graphs.
	leastListed = 0.01
)

// listed returns the number of graphs or classes that the result lists: the argument count if the
// problem asks for all of them, else at most the argument best.
func listed(p *score.Problem, count, best int) int {
	if p.AllModels {
		return count
	}
	return min(count, best)
}

// graphEstimates holds the posterior over graphs of N nodes that a method has estimated.
type graphEstimates struct {
	edges, edgeErrors [][]float64 // probabilities of edges and their standard errors [N][N]
	draws             []score.Draw
	// probabilityOf returns the probability that event is true for a graph, with its standard
	// error.
	probabilityOf func(event func(*dgraph.Graph) bool) (probability, se float64)
}

func fillGraphs(p *score.Problem, ctx gocontext.Context, r *Result, found graphEstimates, truth *dgraph.Graph) (err error) {
	judgeColumns(p, r.Certificate)
	r.Data = DataSummary{Rows: p.Data.Rows(), Nodes: p.Data.Names}
	r.Notes = p.Data.Notes()
	if size := r.Certificate.SearchedParents; size > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("parents that matter only together were looked for in all sets of up to %d columns; a larger set, each of whose columns says nothing without the others, may be missing", size))
	}
	r.Constraints = p.Constraints.String()
	r.Asked = apply.To(p.Asked, func(e dgraph.Edge) [2]string { return [2]string{p.Data.Names[e.From], p.Data.Names[e.To]} })
	classes := fillEdges(p, r, found)
	r.Graphs = apply.To(found.draws[:listed(p, len(found.draws), listedGraphs)], func(d score.Draw) GraphReport {
		return GraphReport{edgeNames(p, d.Graph, (*dgraph.Graph).Has), Number(d.Probability), Number(d.SE)}
	})
	r.Classes = classReports(p, found.probabilityOf, found.draws, classes)
	if truth != nil {
		r.Metrics, err = metrics(p, ctx, truth, score.Weighted(found.draws))
	}
	return err
}

// fillEdges fills in the edges of the result, and returns the equivalence class of each draw.
func fillEdges(p *score.Problem, r *Result, found graphEstimates) (classes []*dgraph.Graph) {
	targets, classes := p.Data.Targets(), make([]*dgraph.Graph, len(found.draws))
	forward := dgraph.Zeros(p.Data.Nodes()) // probability of equivalence classes in which the edge is directed
	undirected := dgraph.Zeros(p.Data.Nodes())
	parallel.Run(len(classes), func(k int) { classes[k] = found.draws[k].Graph.Essential(targets) })
	for k, drawn := range score.Weighted(found.draws) {
		for to := range p.Data.Nodes() {
			for _, from := range classes[k].Parents(to) {
				if classes[k].Has(to, from) {
					undirected[from][to] += drawn.Probability
				} else {
					forward[from][to] += drawn.Probability
				}
			}
		}
	}
	probabilities := found.edges
	for _, e := range dgraph.UnorderedPairs(p.Data.Nodes()) {
		a, b := e.From, e.To
		r.ExpectedEdges += Number(probabilities[a][b] + probabilities[b][a])
		if probabilities[a][b]+probabilities[b][a] < leastListed && p.Data.Nodes() > dgraph.ManyNodes {
			continue
		}
		if probabilities[b][a] > probabilities[a][b] {
			a, b = b, a
		}
		r.Edges = append(r.Edges, Edge{
			From: p.Data.Names[a], To: p.Data.Names[b],
			Prob: Number(probabilities[a][b]), ProbSE: Number(found.edgeErrors[a][b]),
			ProbReverse: Number(probabilities[b][a]), ProbReverseSE: Number(found.edgeErrors[b][a]),
			ProbNone:     Number(math.Max(0, 1-probabilities[a][b]-probabilities[b][a])),
			ClassForward: Number(forward[a][b]), ClassReverse: Number(forward[b][a]), ClassUndirected: Number(undirected[a][b]),
		})
	}
	return classes
}

func edgeNames(p *score.Problem, g *dgraph.Graph, kind func(g *dgraph.Graph, from, to int) bool) [][2]string {
	byCause := make([][][2]string, g.Nodes())
	for to, parents := range g.ParentSets() {
		for from := range parents.Nodes() {
			if kind(g, from, to) {
				byCause[from] = append(byCause[from], [2]string{p.Data.Names[from], p.Data.Names[to]})
			}
		}
	}
	return append([][2]string{}, slices.Concat(byCause...)...)
}

// classReports adds up the draws of each equivalence class and returns the most probable classes.
func classReports(p *score.Problem, probabilityOf func(func(*dgraph.Graph) bool) (probability, se float64), draws []score.Draw, classes []*dgraph.Graph) (list []ClassReport) {
	counts, first := map[string]float64{}, map[string]int{}
	var keys []string
	classOf := make(map[*dgraph.Graph]string, len(draws))
	for k, class := range classes {
		key := class.Key()
		if _, seen := first[key]; !seen {
			first[key] = k
			keys = append(keys, key)
		}
		counts[key] += float64(draws[k].Count)
		classOf[draws[k].Graph] = key
	}
	order := rank.Order(len(keys), func(a, b int) int { return cmp.Compare(counts[keys[b]], counts[keys[a]]) })
	for _, i := range order[:listed(p, len(order), listedGraphs/10)] {
		class := classes[first[keys[i]]]
		probability, se := probabilityOf(func(g *dgraph.Graph) bool { return classOf[g] == keys[i] })
		list = append(list, ClassReport{
			Directed:   edgeNames(p, class, (*dgraph.Graph).Directed),
			Undirected: edgeNames(p, class, func(g *dgraph.Graph, from, to int) bool { return from < to && g.Has(from, to) && g.Has(to, from) }),
			Prob:       Number(probability), SE: Number(se),
		})
	}
	return list
}

func metrics(p *score.Problem, ctx gocontext.Context, truth *dgraph.Graph, answer []dgraph.Weighted) (*Metrics, error) {
	m := &Metrics{TruthEdges: truth.Edges(), Answer: dgraph.Evaluate(truth, answer)}
	if truth.Nodes() <= dgraph.ManyNodes {
		greedy, err := p.GreedyBIC(ctx)
		if err != nil {
			return nil, err
		}
		compared := dgraph.Evaluate(truth, []dgraph.Weighted{{Graph: greedy, Probability: 1}})
		m.GreedyBIC = &compared
	}
	m.Empty = dgraph.Evaluate(truth, []dgraph.Weighted{{Graph: dgraph.NewGraph(truth.Nodes()), Probability: 1}})
	if cycle := truth.Cycle(); cycle != nil {
		m.TruthCycle = distinct.At(p.Data.Names, cycle)
		if fewest, ok := truth.FewestReversals(); ok {
			m.BestSHD = &fewest
		}
	}
	return m, nil
}

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number
