package networks

import (
	"math"

	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// spreads holds the results of scatter, summed over families, by node and number of parents.
type spreads [dgraph.MaxNodes + 1][dgraph.MaxNodes + 1]struct{ squares, degrees float64 }

// spreads sums over all families with islands.
func (s *Scores) spreads() *spreads {
	out := new(spreads)
	for f := range s.islands {
		family := s.problem.Families[f]
		cell := &out[family.Node][family.Parents.Len()]
		squares, degrees := scatter(s.settled(f))
		cell.squares, cell.degrees = cell.squares+squares, cell.degrees+degrees
	}
	return out
}

// variance is the variance of the log evidence of an island with moves of length one. It grows with
// the number of parents and differs by node. Families of the node with about as many parents
// estimate it, together with families of all nodes, which count as priorIslands more islands.
func (s *spreads) variance(f dgraph.Family) float64 {
	all, count, nodeSquares, degrees := 1.0, 1.0, 0.0, 0.0 // as if an island had a variance of one
	for size := max(f.Parents.Len()-1, 0); size <= min(f.Parents.Len()+1, dgraph.MaxNodes); size++ {
		for node := range s {
			all, count = all+s[node][size].squares, count+s[node][size].degrees
		}
		nodeSquares, degrees = nodeSquares+s[f.Node][size].squares, degrees+s[f.Node][size].degrees
	}
	return (priorIslands*all/count + nodeSquares) / (priorIslands + degrees)
}

// scatter is a sum of squares of log evidences of islands of one level around the means of their
// two kinds, with its degrees of freedom. Variances are inverse to the length of moves, so that
// each square is multiplied by the length and stands for moves of length one.
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

func logEvidences(islands []island) (logs []float64) {
	for _, one := range islands {
		logs = append(logs, one.LogEvidence)
	}
	return logs
}

// priorIslands is the number of islands as which the variance by other families counts beside the
// islands of a family: few islands estimate their spread poorly.
const priorIslands = 4

// combine returns the log evidence by islands of one level and its standard error. others is the
// variance of the log evidence of an island with moves of length one, by other families. An island
// is unbiased for the evidence, and its logarithm is about normal (skewness 0.04 ± 0.08 over 39
// families of 1 to 12 parents), so that the log evidence is the mean of the logarithms plus half of
// their variance. The log of the mean of evidences has (exp(s²) − 1) / s² times the variance, 13
// for s = 2, as few islands dominate it. Where it is larger yet, few islands met a mode that others
// missed, and the standard error reaches it.
func combine(islands []island, others float64) (logEvidence, se float64) {
	squares, degrees := scatter(islands)
	degrees += priorIslands
	variance := (priorIslands*others + squares) / degrees
	count, moves, sum := float64(len(islands)), 0.0, 0.0
	for k, one := range islands {
		moves += one.moves(k)
		sum += one.moves(k) * one.LogEvidence
	}
	half := count / (2 * moves) // of the variance, in the mean weighted by lengths of moves
	logEvidence = sum/moves + half*variance
	missed := math.Max(0, logsum.Of(logEvidences(islands))-math.Log(count)-logEvidence)
	return logEvidence, math.Sqrt(variance/moves + 2*dgraph.Square(half*variance)/degrees + missed*missed)
}

// settling is the mean over families of the difference between the log evidences of islands that
// move twice as long and of the others, with its standard error. Particles that lag behind β give
// too small evidences, all alike, which their spread does not show.
func (s *Scores) settling() (mean, se float64) {
	_, differences := s.differences()
	mean, spread := meanAndSpread(differences, math.Inf(1))
	return mean, spread / math.Sqrt(float64(len(differences)))
}

// differences returns these differences for families with islands of both kinds, with the numbers
// of their parents. Log evidences have half of the variance of their logarithms added, which alone
// makes log evidences by longer moves larger.
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
