package graph

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/report"
)

// Weighted is a graph with its probability.
type Weighted struct {
	Graph       *Graph
	Probability float64
}

// PaperMetrics holds the four scores of section F.2 of the VTI paper (Davies et al. 2025), as the
// source code of that paper computes them.
type PaperMetrics struct {
	// F1 is the mean, over graphs, of the F1 score of the entries of the adjacency matrix.
	F1 report.Number `json:"f1"`
	// SHD is the expected number of entries of the adjacency matrix that differ from the truth. A
	// reversed edge counts twice.
	SHD report.Number `json:"shd"`
	// Brier is the sum over all N² entries of (probability − truth)².
	Brier report.Number `json:"brier"`
	// AUROC is the mean, over graphs, of the area under the ROC curve when the entries of a single
	// graph, 0 or 1, are the score. This area is half the sum of sensitivity and specificity over
	// all N² entries, with the diagonal, which is always 0.
	AUROC report.Number `json:"auroc"`
}

// EdgeMetrics holds the usual scores of directed graphs, skeletons or equivalence classes.
type EdgeMetrics struct {
	// ExpectedF1 is the mean over graphs of the F1 score. MedianF1 is the F1 score of the median
	// graph, which has all edges with a probability of at least one half.
	ExpectedF1 report.Number `json:"expected_f1"`
	MedianF1   report.Number `json:"median_f1"`
	// A distance (SHD) is the number of pairs of nodes that are joined differently than in the
	// truth, so that a reversed edge counts once. A distance with the ending Twice is the number of
	// different entries of the adjacency matrix, so that a reversed edge counts twice. Expected
	// distances are means over graphs, and median distances are distances of the median graph.
	ExpectedSHD      report.Number `json:"expected_shd"`
	ExpectedSHDTwice report.Number `json:"expected_shd_reversal_twice"`
	MedianSHD        report.Number `json:"median_shd"`
	MedianSHDTwice   report.Number `json:"median_shd_reversal_twice"`
	// Brier is the mean of (probability − truth)² over the entries off the diagonal.
	Brier report.Number `json:"brier"`
	// AUROC is the area under the ROC curve with the edge probabilities as scores, over the entries
	// off the diagonal. AUROCGraphs is the mean of such areas with single graphs as scores. They
	// are null where the truth has no edges or all edges.
	AUROC       report.Number `json:"auroc"`
	AUROCGraphs report.Number `json:"auroc_over_graphs"`
}

// MethodMetrics compares the answer of one method with the true graph.
type MethodMetrics struct {
	Paper    PaperMetrics `json:"paper"`
	Graph    EdgeMetrics  `json:"graph"`
	Skeleton EdgeMetrics  `json:"skeleton"`
	CPDAG    EdgeMetrics  `json:"cpdag"`
}

// Evaluate compares a distribution over acyclic graphs, whose probabilities sum to one, with the
// true graph. A true graph with a cycle has no equivalence class, and the scores of CPDAG are then
// against the true graph itself. Scores of skeletons have one entry for each pair of nodes, and the
// other scores one for each ordered pair.
func Evaluate(truth *Graph, posterior []Weighted) MethodMetrics {
	class := truth
	if _, ok := truth.Order(); ok {
		class = truth.CPDAG()
	}
	transform := func(f func(*Graph) *Graph) []Weighted {
		out := make([]Weighted, len(posterior))
		parallel.Run(len(out), func(i int) { out[i] = Weighted{f(posterior[i].Graph), posterior[i].Probability} })
		return out
	}
	return MethodMetrics{
		Paper:    paperMetrics(truth, posterior),
		Graph:    edgeMetrics(truth, posterior, OrderedPairs(truth.Nodes())),
		Skeleton: edgeMetrics(truth.Skeleton(), transform((*Graph).Skeleton), UnorderedPairs(truth.Nodes())),
		CPDAG:    edgeMetrics(class, transform((*Graph).CPDAG), OrderedPairs(truth.Nodes())),
	}
}

// Edge is an entry of an adjacency matrix.
type Edge struct{ From, To int }

// OrderedPairs returns all pairs of different nodes in both orders.
func OrderedPairs(n int) (pairs []Edge) {
	for i := range n {
		for j := range n {
			if i != j {
				pairs = append(pairs, Edge{i, j})
			}
		}
	}
	return pairs
}

// UnorderedPairs returns each pair of different nodes once, the smaller node first.
func UnorderedPairs(n int) []Edge {
	return slices.DeleteFunc(OrderedPairs(n), func(p Edge) bool { return p.From > p.To })
}

// counts holds the numbers of entries of an adjacency matrix that agree or disagree with the truth.
type counts struct{ truePositive, falsePositive, falseNegative, trueNegative float64 }

// countEntries counts the entries off the diagonal. If both graphs are skeletons, each pair of
// nodes counts once.
func countEntries(truth, g *Graph, pairs []Edge) (c counts) {
	for to, actual := range truth.parents {
		found := g.parents[to]
		both := float64(actual.And(found).Len())
		c.truePositive += both
		c.falsePositive += float64(found.Len()) - both
		c.falseNegative += float64(actual.Len()) - both
	}
	n := float64(truth.Nodes())
	each := float64(len(pairs)) / (n * (n - 1))
	c.truePositive, c.falsePositive, c.falseNegative = each*c.truePositive, each*c.falsePositive, each*c.falseNegative
	c.trueNegative = float64(len(pairs)) - c.truePositive - c.falsePositive - c.falseNegative
	return c
}

// f1 returns the harmonic mean of precision and recall, or 1 if there is nothing to find and
// nothing was found.
func (c counts) f1() float64 {
	if c.truePositive+c.falsePositive+c.falseNegative == 0 {
		return 1
	}
	return 2 * c.truePositive / (2*c.truePositive + c.falsePositive + c.falseNegative)
}

func (c counts) differing() float64 { return c.falsePositive + c.falseNegative }

// balanced returns the area under the ROC curve of a score that is 0 or 1, the mean of sensitivity
// and specificity. It is NaN when the truth is all 0 or all 1.
func (c counts) balanced() float64 {
	sensitivity := c.truePositive / (c.truePositive + c.falseNegative)
	return (sensitivity + c.trueNegative/(c.trueNegative+c.falsePositive)) / 2
}

func paperMetrics(truth *Graph, posterior []Weighted) (m PaperMetrics) {
	n := truth.Nodes()
	pairs := OrderedPairs(n)
	for _, w := range posterior {
		c := countEntries(truth, w.Graph, pairs)
		m.F1 += report.Number(w.Probability * c.f1())
		m.SHD += report.Number(w.Probability * c.differing())
		c.trueNegative += float64(n)
		m.AUROC += report.Number(w.Probability * c.balanced())
	}
	probabilities := EdgeProbabilities(n, posterior)
	for _, p := range pairs {
		m.Brier += report.Number(Square(probabilities[p.From][p.To] - Indicator(truth.Has(p.From, p.To))))
	}
	return m
}

func edgeMetrics(truth *Graph, posterior []Weighted, pairs []Edge) (m EdgeMetrics) {
	for _, w := range posterior {
		c := countEntries(truth, w.Graph, pairs)
		m.ExpectedF1 += report.Number(w.Probability * c.f1())
		m.ExpectedSHD += report.Number(w.Probability * pairDistance(truth, w.Graph))
		m.ExpectedSHDTwice += report.Number(w.Probability * c.differing())
		m.AUROCGraphs += report.Number(w.Probability * c.balanced())
	}
	probabilities := EdgeProbabilities(truth.Nodes(), posterior)
	median := MedianGraph(probabilities)
	c := countEntries(truth, median, pairs)
	m.MedianF1, m.MedianSHD, m.MedianSHDTwice = report.Number(c.f1()), report.Number(pairDistance(truth, median)), report.Number(c.differing())
	scores, labels := make([]float64, len(pairs)), make([]bool, len(pairs))
	for i, p := range pairs {
		scores[i], labels[i] = probabilities[p.From][p.To], truth.Has(p.From, p.To)
		m.Brier += report.Number(Square(scores[i]-Indicator(labels[i])) / float64(len(pairs)))
	}
	m.AUROC = report.Number(AUROC(scores, labels))
	return m
}

// pairDistance returns the number of pairs of nodes that two graphs join differently.
func pairDistance(a, b *Graph) (distance float64) {
	differ := func(to int) Set { return a.parents[to].Minus(b.parents[to]).Or(b.parents[to].Minus(a.parents[to])) }
	for to := range a.parents {
		for from := range differ(to).Nodes() {
			if from < to || !differ(from).Has(to) { // a pair with two different entries counts once
				distance++
			}
		}
	}
	return distance
}

// EdgeProbabilities returns the probability of each entry of the adjacency matrix [N][N].
func EdgeProbabilities(nodes int, posterior []Weighted) [][]float64 {
	probabilities := Zeros(nodes)
	for _, w := range posterior {
		for to, parents := range w.Graph.parents {
			for from := range parents.Nodes() {
				probabilities[from][to] += w.Probability
			}
		}
	}
	return probabilities
}

// MedianGraph returns the graph of all edges with a probability of at least one half. It need not
// be acyclic.
func MedianGraph(probabilities [][]float64) *Graph {
	g := NewGraph(len(probabilities))
	for i, row := range probabilities {
		for j, p := range row {
			if p >= 0.5 {
				g.Set(i, j, true)
			}
		}
	}
	return g
}

// AUROC returns the area under the ROC curve: the probability that a case with a true label has a
// higher score than a case with a false label (ties count one half). It is NaN when one of the
// labels does not occur.
func AUROC(scores []float64, labels []bool) float64 {
	if !slices.Contains(labels, true) || !slices.Contains(labels, false) {
		return math.NaN()
	}
	scores, labels = slices.Clone(scores), slices.Clone(labels)
	stat.SortWeightedLabeled(scores, labels, nil)
	truePositive, falsePositive, _ := stat.ROC(nil, scores, labels, nil)
	return integrate.Trapezoidal(falsePositive, truePositive)
}

// FewestReversals returns the least number of edges whose removal makes the graph acyclic. No
// acyclic graph has a smaller structural Hamming distance from the graph. Above 20 nodes the number
// is not computed and ok is false.
func (g *Graph) FewestReversals() (edges int, ok bool) {
	if g.Nodes() > 20 {
		return 0, false
	}
	children := make([]uint64, g.Nodes())
	for to, parents := range g.parents {
		for from := range parents.Nodes() {
			children[from] |= 1 << to
		}
	}
	// fewest[set] is the least number of edges against the order, over all orders of set.
	fewest := make([]int, 1<<g.Nodes())
	for set := 1; set < len(fewest); set++ {
		fewest[set] = math.MaxInt
		for j := range Members(uint64(set)) {
			before := set &^ (1 << j)
			fewest[set] = min(fewest[set], fewest[before]+bits.OnesCount64(children[j]&uint64(before)))
		}
	}
	return fewest[len(fewest)-1], true
}

// Zeros returns an n by n matrix of zeros.
func Zeros(n int) [][]float64 {
	return apply.UpTo(n, func(int) []float64 { return make([]float64, n) })
}

// Square returns x².
func Square(x float64) float64 { return x * x }

// Indicator returns 1 if on is true and 0 if not.
func Indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
