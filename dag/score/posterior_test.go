package score

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
)

// randomStructure returns a set of allowed graphs, with random constraints if constrained is set.
func randomStructure(random *rand.Rand, nodes int, constrained, orders bool) dgraph.Structure {
	s := dgraph.FreeStructure(nodes)
	s.Orders, s.Prior = orders, dgraph.SparsePrior(s.Nodes)
	s.Prior.ByEdge = dgraph.Zeros(s.Nodes)
	for _, row := range s.Prior.ByEdge {
		for i := range row {
			row[i] = random.NormFloat64()
		}
	}
	if constrained {
		s.Required[1] = s.Required[1].With(0)
		s.Allowed[0] = s.Allowed[0].Without(2)
		s.MaxParents = 2
	}
	return s
}

// randomScores returns scores that differ by up to hundreds of nats, as scores of real data do.
func randomScores(random *rand.Rand, s dgraph.Structure, spread float64) Scores {
	scores := Scores{Families: s.Families()}
	for range scores.Families {
		scores.LogEvidence = append(scores.LogEvidence, -1000+spread*random.NormFloat64())
		scores.SE = append(scores.SE, 0.1*random.Float64())
	}
	return scores
}

// The sums over graphs and over orders agree with a loop over all graphs, in their totals and in
// the probabilities of sets of parents, edges and graphs.
func TestPosteriorAgainstEveryGraph(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, nodes := range []int{3, 4, 5} {
		for trial := range 8 {
			s := randomStructure(random, nodes, trial&1 != 0, trial&2 != 0)
			scores := randomScores(random, s, []float64{1, 200}[trial>>2])
			p, err := NewPosterior(context.Background(), s, scores, nil)
			require.NoError(t, err)
			logTotal, families, graphs := brute(s, scores)
			require.InDelta(t, logTotal, p.logTotal, 1e-9)
			require.InDeltaSlice(t, families, p.Marginals, 1e-9)
			none := scores
			none.LogEvidence = make([]float64, len(scores.Families))
			prior, _, _ := brute(s, none)
			require.InDelta(t, logTotal-prior, p.LogEvidence, 1e-9)
			for j := range nodes {
				var total float64
				for f, family := range scores.Families {
					if family.Node == j {
						total += p.Marginals[f]
					}
				}
				require.InDelta(t, 1, total, 1e-9)
			}
			for _, d := range sampleOf(t, p, random, 200) {
				require.InDelta(t, graphs[d.Graph.Key()], d.Probability, 1e-9)
			}
		}
	}
}

// Draws have the probabilities of their graphs: Pearson's χ², over the graphs with at least 10
// expected draws and all further graphs as one class, is at most its mean plus 5 standard
// deviations. Each of the 4 tests fails by chance with probability below 1e-4.
func TestDrawsFollowThePosterior(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const count = 20000
	for trial := range 4 {
		s := randomStructure(random, 4, trial&1 != 0, trial&2 != 0)
		scores := randomScores(random, s, 1)
		p, err := NewPosterior(context.Background(), s, scores, nil)
		require.NoError(t, err)
		_, _, graphs := brute(s, scores)
		drawn := map[string]float64{}
		for _, d := range sampleOf(t, p, random, count) {
			drawn[d.Graph.Key()] += float64(d.Count)
		}
		chi2, cells, restExpected, restDrawn := 0.0, 0, 0.0, 0.0
		for key, probability := range graphs {
			if expected := probability * count; expected >= 10 {
				chi2 += dgraph.Square(drawn[key]-expected) / expected
				cells++
			} else {
				restExpected, restDrawn = restExpected+expected, restDrawn+drawn[key]
			}
		}
		if restExpected > 1 {
			chi2 += dgraph.Square(restDrawn-restExpected) / restExpected
			cells++
		}
		require.Less(t, chi2, float64(cells)+5*math.Sqrt(2*float64(cells)))
		require.Greater(t, cells, 5)
	}
}

// The priors over graphs and over orders differ: the prior over graphs counts each graph once, and
// the prior over orders counts a graph once for each of its topological orders.
func TestPriorsOverGraphsAndOrders(t *testing.T) {
	for _, orders := range []bool{false, true} {
		s := dgraph.FreeStructure(3)
		s.Orders = orders
		scores := Scores{Families: s.Families()}
		scores.LogEvidence, scores.SE = make([]float64, len(scores.Families)), make([]float64, len(scores.Families))
		p, err := NewPosterior(context.Background(), s, scores, nil)
		require.NoError(t, err)
		require.InDelta(t, 0, p.LogEvidence, 1e-12)
		// There are 25 graphs, and 8 graphs have the edge from 0 to 1. Of the 48 pairs of an order
		// and edges along it, 12 have this edge: half of the orders times half of the edges.
		require.InDelta(t, map[bool]float64{false: 8.0 / 25, true: 0.25}[orders], p.EdgeProbabilities()[0][1], 1e-12)
	}
}

// The stated errors of the probabilities of an edge and of a graph, and of the log evidence, come
// from a first-order approximation in the errors of the scores. The test computes them again with
// finite differences: it shifts one score at a time and sums over all graphs.
func TestErrorsOfProbabilities(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := randomStructure(random, 3, false, false)
	scores := randomScores(random, s, 1)
	p, err := NewPosterior(context.Background(), s, scores, nil)
	require.NoError(t, err)
	draws := sampleOf(t, p, random, 40000)
	const step = 1e-5
	variance, graphVariance, evidenceVariance := 0.0, 0.0, 0.0
	top := draws[0]
	for f := range scores.Families {
		moved := scores
		moved.LogEvidence = append([]float64(nil), scores.LogEvidence...)
		moved.LogEvidence[f] += step
		q, err := NewPosterior(context.Background(), s, moved, nil)
		require.NoError(t, err)
		slope := (q.EdgeProbabilities()[0][1] - p.EdgeProbabilities()[0][1]) / step
		variance += dgraph.Square(slope * scores.SE[f])
		other := top
		q.describe(&other, len(draws))
		graphVariance += dgraph.Square((other.Probability - top.Probability) / step * scores.SE[f])
		evidenceVariance += dgraph.Square((q.LogEvidence - p.LogEvidence) / step * scores.SE[f])
	}
	// The stated error of the edge uses covariances from 40,000 draws, which have errors of 0.0025.
	require.InEpsilon(t, math.Sqrt(variance), p.EdgeErrors(draws)[0][1], 0.08)
	require.InEpsilon(t, math.Sqrt(graphVariance), top.SE, 1e-3)
	require.InEpsilon(t, math.Sqrt(evidenceVariance), p.LogEvidenceSE, 1e-3)
}

// A score is 12 nats below the best score and has an error of 5 nats, so that the probability of an
// edge may be much larger than stated. The stated error of the edge is the root mean square change
// of a probability by such an error (Swing), which exceeds the first-order approximation.
func TestErrorsOfRareFamilies(t *testing.T) {
	s := randomStructure(rand.New(rand.NewPCG(7, 8)), 3, false, false)
	scores := Scores{Families: s.Families()}
	for _, f := range scores.Families {
		rare := f.Node == 1 && !f.Parents.Empty()
		scores.LogEvidence = append(scores.LogEvidence, -12*dgraph.Indicator(rare))
		scores.SE = append(scores.SE, 5*dgraph.Indicator(f.Node == 1 && f.Parents == dgraph.SetOf(0)))
	}
	p, err := NewPosterior(t.Context(), s, scores, nil)
	require.NoError(t, err)
	draws := sampleOf(t, p, randomOf(1), 1000)
	probability := p.EdgeProbabilities()[0][1]
	require.Less(t, probability, 1e-4)
	require.InEpsilon(t, Swing(p.Marginals[slices.Index(scores.Families, dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)})], 5), p.EdgeErrors(draws)[0][1], 0.01)
	require.Less(t, p.EdgeErrors(draws)[2][1], 1e-4, "its family is known")
}

func TestStructureErrors(t *testing.T) {
	for want, change := range map[string]func(*dgraph.Structure){
		"required edges make a cycle through nodes [0 1]": func(s *dgraph.Structure) { s.Required[0], s.Required[1] = dgraph.SetOf(1), dgraph.SetOf(0) },
		"required and not allowed":                        func(s *dgraph.Structure) { s.Required[0] = dgraph.SetOf(1); s.Allowed[0] = dgraph.SetOf(2) },
		"2 required parents and may have 1":               func(s *dgraph.Structure) { s.Required[0] = dgraph.SetOf(1, 2); s.MaxParents = 1 },
		"own parent":                                      func(s *dgraph.Structure) { s.Allowed[1] = s.Allowed[1].With(1) },
		"log weight that is not finite":                   func(s *dgraph.Structure) { s.Prior = dgraph.PenaltyPrior(s.Nodes, math.NaN()) },
		"want 2 to 4096":                                  func(s *dgraph.Structure) { s.Nodes = 4097 },
	} {
		s := dgraph.FreeStructure(3)
		change(&s)
		require.ErrorContains(t, s.Validate(), want)
	}
	s := dgraph.FreeStructure(15)
	s.MaxParents = 0
	scores := Scores{Families: s.Families(), LogEvidence: make([]float64, 15), SE: make([]float64, 15)}
	_, err := NewPosterior(context.Background(), s, scores, nil)
	require.ErrorContains(t, err, "sums over graphs are exact for up to 14")
	s.Orders = true
	_, err = NewPosterior(context.Background(), s, scores, nil)
	require.NoError(t, err)
}

func BenchmarkSumOverGraphs(b *testing.B) {
	random := randomOf(7)
	s := dgraph.FreeStructure(10)
	scores := randomScores(random, s, 30)
	for b.Loop() {
		if _, err := NewPosterior(context.Background(), s, scores, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSumsStop checks that a sum over too many graphs stops when it is cancelled, and returns the
// error.
func TestSumsStop(t *testing.T) {
	layers, orders := dgraph.FreeStructure(14), dgraph.FreeStructure(20)
	orders.Orders = true
	for _, s := range []dgraph.Structure{layers, orders} {
		s.MaxParents = 1
		families := s.Families()
		scores := Scores{Families: families, LogEvidence: make([]float64, len(families)), SE: make([]float64, len(families))}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		started := time.Now()
		_, err := NewPosterior(ctx, s, scores, nil)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(started), 20*time.Second)
	}
}

// brute sums over every graph. It returns the log of the sum, and the probabilities of families
// (nodes with sets of parents) and graphs.
func brute(s dgraph.Structure, scores Scores) (logTotal float64, families []float64, graphs map[string]float64) {
	lists, place := make([][]dgraph.Set, s.Nodes), map[dgraph.Family]int{}
	for i, f := range scores.Families {
		lists[f.Node] = append(lists[f.Node], f.Parents)
		place[f] = i
	}
	var logs []float64
	var members [][]int
	var keys []string
	testkit.EachGraph(lists, func(parents []dgraph.Set) bool {
		g := dgraph.FromParents(parents)
		logWeight := 0.0
		var places []int
		for j, set := range parents {
			f := place[dgraph.Family{Node: j, Parents: set}]
			logWeight += scores.LogEvidence[f] + s.Prior.LogWeight(j, set)
			places = append(places, f)
		}
		if s.Orders {
			logWeight += math.Log(g.Orders())
		}
		logs, members, keys = append(logs, logWeight), append(members, places), append(keys, g.Key())
		return true
	})
	logTotal = logsum.Of(logs)
	families, graphs = make([]float64, len(scores.Families)), map[string]float64{}
	for i, logWeight := range logs {
		graphs[keys[i]] = math.Exp(logWeight - logTotal)
		for _, f := range members[i] {
			families[f] += math.Exp(logWeight - logTotal)
		}
	}
	return logTotal, families, graphs
}
