package networks

import (
	"math"

	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
)

// spreads holds the sums of squares and degrees of freedom that the function scatter returns,
// summed over sets of parents [node][number of parents].
type spreads [][]struct{ squares, degrees float64 }

// spreads returns the results of scatter, summed over all families (nodes with sets of parents)
// that have fine islands: groups of particles that give independent estimates of the log evidence.
func (s *Scores) spreads() spreads {
	nodes := s.problem.Structure.Nodes
	var out spreads = apply.UpTo(nodes, func(int) []struct{ squares, degrees float64 } {
		return make([]struct{ squares, degrees float64 }, nodes)
	})
	for f := range s.islands {
		family := s.problem.Families[f]
		cell := &out[family.Node][family.Parents.Len()]
		squares, degrees := scatter(s.settled(f))
		cell.squares, cell.degrees = cell.squares+squares, cell.degrees+degrees
	}
	return out
}

// variance returns the variance of the log evidence by an island (a group of particles) with moves
// of length one, for a family (a node with its parents). This variance grows with the number of
// parents and differs between nodes. It is estimated from families of the same node whose number of
// parents differs by at most one. The same variance over families of all nodes has the weight of
// priorIslands further islands.
func (s spreads) variance(f dgraph.Family) float64 {
	all, count, nodeSquares, degrees := 1.0, 1.0, 0.0, 0.0 // as if there were one island with a variance of one
	for size := max(f.Parents.Len()-1, 0); size <= min(f.Parents.Len()+1, len(s)-1); size++ {
		for node := range s {
			all, count = all+s[node][size].squares, count+s[node][size].degrees
		}
		nodeSquares, degrees = nodeSquares+s[f.Node][size].squares, degrees+s[f.Node][size].degrees
	}
	return (priorIslands*all/count + nodeSquares) / (priorIslands + degrees)
}

// scatter returns the sum of squares, around means, of the log evidences of islands (groups of
// particles) of one level, with its degrees of freedom. Islands with short and with long moves have
// separate means. Variances are inversely proportional to the length of moves, so that each square
// is multiplied by this length and stands for moves of length one.
func scatter(islands []island) (squares, degrees float64) {
	var kinds [2][]float64
	for k, one := range islands {
		kinds[k%2] = append(kinds[k%2], one.LogEvidence)
	}
	for kind, logs := range kinds {
		if extra := float64(len(logs)) - 1; extra > 0 {
			squares, degrees = squares+extra*stat.Variance(logs, nil)*islands[kind].moves(kind), degrees+extra
		}
	}
	return squares, degrees
}

func logEvidences(islands []island) []float64 {
	return apply.To(islands, func(one island) float64 { return one.LogEvidence })
}

// priorIslands is the weight of the variance estimated from other nodes and sets of parents, as a
// number of estimates of an evidence (islands), because few islands estimate their variance poorly.
const priorIslands = 4

// combine returns the log evidence and its standard error from islands (independent groups of
// particles) of one level. The argument others is the variance of the log evidence of an island
// with moves of length one, estimated from other families.
//
// The estimate of an island is unbiased for the evidence, and its logarithm is about normal: the
// skewness was 0.04 ± 0.08 over 39 families of 1 to 12 parents. The log evidence is therefore the
// mean of the logarithms plus half of their variance. The log of the mean of the evidences would
// have (exp(s²) − 1) / s² times the variance, for logarithms with standard deviation s, because few
// islands dominate this mean. If the log of the mean nevertheless exceeds the returned log
// evidence, a few islands met a mode that the other islands missed, and the standard error includes
// the difference.
func combine(islands []island, others float64) (logEvidence, se float64) {
	squares, degrees := scatter(islands)
	degrees += priorIslands
	variance := (priorIslands*others + squares) / degrees
	count, moves, sum := float64(len(islands)), 0.0, 0.0
	for k, one := range islands {
		moves += one.moves(k)
		sum += one.moves(k) * one.LogEvidence
	}
	half := count / (2 * moves) // half·variance is the weighted mean of half the variance of each island
	logEvidence = sum/moves + half*variance
	missed := math.Max(0, logsum.Of(logEvidences(islands))-math.Log(count)-logEvidence)
	return logEvidence, math.Sqrt(variance/moves + 2*dgraph.Square(half*variance)/degrees + missed*missed)
}

// settling returns, with its standard error, the mean rise of log evidences when particles move
// twice as long, over families (nodes with sets of parents). If particles move too little, the
// evidences of all islands (groups of particles) are too small by about the same amount. The
// scatter of the islands does not show this error, but every second island moves twice as long.
func (s *Scores) settling() (mean, se float64) {
	_, differences := s.differences()
	mean, spread := meanAndSpread(differences, math.Inf(1))
	return mean, spread / math.Sqrt(float64(len(differences)))
}

// differences returns, for each family (a node with its parents) that has islands (groups of
// particles) with short and long moves, the number of parents, and the log evidence by the long
// moves less the log evidence by the short moves. Half of the variance is added to each log
// evidence, because the logarithm of an unbiased estimate is too small by half of its variance.
func (s *Scores) differences() (sizes, differences []float64) {
	spreads := s.spreads()
	for f := range s.islands {
		islands := s.settled(f)
		if len(islands) < 2 {
			continue
		}
		var sums, counts [2]float64
		for k, one := range islands {
			sums[k%2] += one.LogEvidence
			counts[k%2]++
		}
		family := s.problem.Families[f]
		variance := spreads.variance(family)
		sizes = append(sizes, float64(family.Parents.Len()))
		differences = append(differences, sums[1]/counts[1]-sums[0]/counts[0]-variance/2*(1/islands[0].moves(0)-1/islands[1].moves(1)))
	}
	return sizes, differences
}
