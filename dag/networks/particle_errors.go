package networks

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// islandSpread returns the standard deviation of the log evidence of one fine island, which grows
// with the number of parents, from families with about as many parents.
func (s *Scores) islandSpread() func(parents int) float64 {
	var squares, degrees [dgraph.MaxNodes + 1]float64
	for f := range s.islands {
		islands := s.settled(f)
		mean := 0.0
		for _, own := range islands {
			mean += own.LogEvidence / float64(len(islands))
		}
		size := s.problem.Families[f].Parents.Len()
		for _, own := range islands {
			squares[size] += dgraph.Square(own.LogEvidence - mean)
		}
		degrees[size] += math.Max(0, float64(len(islands)-1))
	}
	return func(parents int) float64 {
		// as if an additional island had a standard deviation of one
		sum, count := 1.0, 1.0
		for size := max(parents-1, 0); size <= min(parents+1, dgraph.MaxNodes); size++ {
			sum, count = sum+squares[size], count+degrees[size]
		}
		return math.Sqrt(sum / count)
	}
}

func logEvidences(islands []island) (logs []float64) {
	for _, own := range islands {
		logs = append(logs, own.LogEvidence)
	}
	return logs
}

// combine returns the log mean evidence of islands and its standard error, from the spread of their
// logarithms. Few islands estimate their spread poorly: four more islands with the spread of all
// families are added to the estimate.
func (s *Scores) combine(islands []island, spread float64) (logMean, se float64) {
	logs := logEvidences(islands)
	count := float64(len(logs))
	const prior = 4
	squares, mean := prior*dgraph.Square(spread), 0.0
	for _, x := range logs {
		mean += x / count
	}
	for _, x := range logs {
		squares += dgraph.Square(x - mean)
	}
	// For log-normal evidences exp(variance) − 1 is the relative variance of one, and the mean of a
	// few is probably too small.
	relative := math.Expm1(math.Min(squares/(prior+count-1), 4)) / count
	return logsum.Of(logs) - math.Log(count) + math.Log1p(relative)/2, math.Sqrt(math.Log1p(relative))
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
// of their parents.
func (s *Scores) differences() (sizes, differences []float64) {
	for f := range s.islands {
		islands := s.settled(f)
		if len(islands) < 2 {
			continue
		}
		var sums, counts [2]float64
		for k, own := range islands {
			sums[k%2] += own.LogEvidence
			counts[k%2]++
		}
		sizes, differences = append(sizes, float64(s.problem.Families[f].Parents.Len())), append(differences, sums[1]/counts[1]-sums[0]/counts[0])
	}
	return sizes, differences
}
