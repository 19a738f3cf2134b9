package graph

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/report"
)

// Weighted is a graph with its probability.
type Weighted struct {
	Graph       *Graph
	Probability float64
}

// PaperMetrics are the four scores of F.2 as the paper's sources compute them.
type PaperMetrics struct {
	// F1 is the expectation over graphs of the F1 score of their entries.
	F1 report.Number `json:"f1"`
	// SHD is the expected number of entries of the adjacency matrix that differ: a reversed edge
	// counts twice.
	SHD report.Number `json:"shd"`
	// Brier is the sum over all N² entries of (probability − truth)².
	Brier report.Number `json:"brier"`
	// AUROC is the expectation over graphs of the area under the curve of a single graph taken as a
	// score of 0 or 1, over all N² entries: half the sum of sensitivity and specificity, to which
	// the empty diagonal adds.
	AUROC report.Number `json:"auroc"`
}

// EdgeMetrics are the usual scores of directed graphs, skeletons or equivalence classes.
type EdgeMetrics struct {
	// ExpectedF1 is the mean over graphs, MedianF1 the F1 score of the graph of all edges with a
	// probability of at least one half.
	ExpectedF1 report.Number `json:"expected_f1"`
	MedianF1   report.Number `json:"median_f1"`
	// SHD counts the pairs of nodes that are joined otherwise than in the truth, so that a reversed
	// edge counts once; SHDTwice counts entries of the adjacency matrix, so that it counts twice.
	// Both are means over graphs; the others are of the median graph.
	ExpectedSHD      report.Number `json:"expected_shd"`
	ExpectedSHDTwice report.Number `json:"expected_shd_reversal_twice"`
	MedianSHD        report.Number `json:"median_shd"`
	MedianSHDTwice   report.Number `json:"median_shd_reversal_twice"`
	// Brier is the mean of (probability − truth)² over the entries off the diagonal.
	Brier report.Number `json:"brier"`
	// AUROC is the area under the curve of the edge probabilities, over the entries off the
	// diagonal; AUROCGraphs is the mean of the areas of single graphs. Null where the truth has no
	// edges, or all.
	AUROC       report.Number `json:"auroc"`
	AUROCGraphs report.Number `json:"auroc_over_graphs"`
}

// MethodMetrics compares one answer with a truth.
type MethodMetrics struct {
	Paper    PaperMetrics `json:"paper"`
	Graph    EdgeMetrics  `json:"graph"`
	Skeleton EdgeMetrics  `json:"skeleton"`
	CPDAG    EdgeMetrics  `json:"cpdag"`
}

// Evaluate compares a distribution over acyclic graphs, whose probabilities sum to one, with a
// truth. A truth with a cycle has no equivalence class: the scores of CPDAG are then against the
// truth itself. Skeletons have an entry for each pair of nodes, the others one for each ordered
// pair.
func Evaluate(truth *Graph, posterior []Weighted) MethodMetrics {
	class := truth
	if _, ok := truth.Order(); ok {
		class = truth.CPDAG()
	}
	transform := func(f func(*Graph) *Graph) []Weighted {
		out := make([]Weighted, len(posterior))
		for i, w := range posterior {
			out[i] = Weighted{f(w.Graph), w.Probability}
		}
		return out
	}
	return MethodMetrics{
		Paper:    paperMetrics(truth, posterior),
		Graph:    edgeMetrics(truth, posterior, OrderedPairs(truth.nodes)),
		Skeleton: edgeMetrics(truth.Skeleton(), transform((*Graph).Skeleton), UnorderedPairs(truth.nodes)),
		CPDAG:    edgeMetrics(class, transform((*Graph).CPDAG), OrderedPairs(truth.nodes)),
	}
}

// Edge is an entry of an adjacency matrix.
type Edge struct{ From, To int }

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

func UnorderedPairs(n int) []Edge {
	return slices.DeleteFunc(OrderedPairs(n), func(p Edge) bool { return p.From > p.To })
}

// counts are the entries of a graph against the entries of the truth.
type counts struct{ truePositive, falsePositive, falseNegative, trueNegative float64 }

func countEntries(truth, g *Graph, pairs []Edge) (c counts) {
	for _, p := range pairs {
		switch actual, found := truth.Has(p.From, p.To), g.Has(p.From, p.To); {
		case actual && found:
			c.truePositive++
		case found:
			c.falsePositive++
		case actual:
			c.falseNegative++
		default:
			c.trueNegative++
		}
	}
	return c
}

// f1 is the harmonic mean of precision and recall; 1 with nothing to find and nothing found.
func (c counts) f1() float64 {
	if c.truePositive+c.falsePositive+c.falseNegative == 0 {
		return 1
	}
	return 2 * c.truePositive / (2*c.truePositive + c.falsePositive + c.falseNegative)
}

func (c counts) differing() float64 { return c.falsePositive + c.falseNegative }

// balanced is the area under the curve of a score that is 0 or 1; NaN when the truth is all 0 or
// all 1.
func (c counts) balanced() float64 {
	sensitivity := c.truePositive / (c.truePositive + c.falseNegative)
	return (sensitivity + c.trueNegative/(c.trueNegative+c.falsePositive)) / 2
}

func paperMetrics(truth *Graph, posterior []Weighted) (m PaperMetrics) {
	n := truth.nodes
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
	probabilities := EdgeProbabilities(truth.nodes, posterior)
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

// pairDistance counts the pairs of nodes that two graphs join otherwise.
func pairDistance(a, b *Graph) (distance float64) {
	for _, p := range UnorderedPairs(a.nodes) {
		if a.Has(p.From, p.To) != b.Has(p.From, p.To) || a.Has(p.To, p.From) != b.Has(p.To, p.From) {
			distance++
		}
	}
	return distance
}

// EdgeProbabilities is the probability of each entry of the adjacency matrix, [N][N].
func EdgeProbabilities(nodes int, posterior []Weighted) [][]float64 {
	probabilities := Zeros(nodes)
	for _, w := range posterior {
		for i, on := range w.Graph.edge {
			if on {
				probabilities[i/nodes][i%nodes] += w.Probability
			}
		}
	}
	return probabilities
}

// MedianGraph has the edges with a probability of at least one half. It need not be acyclic.
func MedianGraph(probabilities [][]float64) *Graph {
	g := NewGraph(len(probabilities))
	for i, row := range probabilities {
		for j, p := range row {
			g.edge[i*g.nodes+j] = p >= 0.5
		}
	}
	return g
}

// AUROC is the probability that a case with a true label scores above one with a false label, ties
// counting one half. NaN when one kind is missing.
func AUROC(scores []float64, labels []bool) float64 {
	if !slices.Contains(labels, true) || !slices.Contains(labels, false) {
		return math.NaN()
	}
	scores, labels = slices.Clone(scores), slices.Clone(labels)
	stat.SortWeightedLabeled(scores, labels, nil)
	truePositive, falsePositive, _ := stat.ROC(nil, scores, labels, nil)
	return integrate.Trapezoidal(falsePositive, truePositive)
}

// FewestReversals is the least number of edges to remove for a graph to become acyclic: no acyclic
// graph has a smaller structural distance from it. ok is false above 20 nodes, where it is not
// computed.
func (g *Graph) FewestReversals() (edges int, ok bool) {
	if g.nodes > 20 {
		return 0, false
	}
	children := make([]uint64, g.nodes)
	for i := range g.nodes {
		for j := range g.nodes {
			if g.Has(i, j) {
				children[i] |= 1 << j
			}
		}
	}
	// fewest[set]: edges against the best order that begins with the nodes of the set, among them.
	fewest := make([]int, 1<<g.nodes)
	for set := 1; set < len(fewest); set++ {
		fewest[set] = math.MaxInt
		for j := range Members(uint64(set)) {
			before := set &^ (1 << j)
			fewest[set] = min(fewest[set], fewest[before]+bits.OnesCount64(children[j]&uint64(before)))
		}
	}
	return fewest[len(fewest)-1], true
}

// Zeros is a matrix of zeros, [n][n].
func Zeros(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}

func Square(x float64) float64 { return x * x }

func Indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
