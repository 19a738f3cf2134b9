package networks

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/lab/dagtest"
)

// Log evidences are simulated as sums of effects of parents and a deviation for each set of
// parents. The estimates have errors of 3 nats, and of 0.3 nats for every tenth set. Pooled
// estimates have errors as large as stated. They are less than 0.4 times the errors without pooling
// if deviations are 1 nat, and less than 0.9 times if deviations are 4 nats.
func TestPooledScores(t *testing.T) {
	for _, test := range []struct{ deviation, most float64 }{{1, 0.4}, {4, 0.9}} {
		random := dagtest.Random(3)
		var squares, unpooledSquares, scaled, fineSquares, count, fine float64
		for range 20 {
			effects := make([]float64, 9)
			for k := range effects {
				effects[k] = 2 * random.NormFloat64()
			}
			var scores score.Scores
			var truth []float64
			for k := range 1 << 8 {
				f := dgraph.Family{Node: 0}
				value := -100 + test.deviation*random.NormFloat64()
				for i := range 8 {
					if k>>i&1 == 1 {
						f.Parents = f.Parents.With(i + 1)
						value += effects[i]
					}
				}
				se := 3.0
				if k%10 == 0 {
					se = 0.3
				}
				scores.Families, scores.SE = append(scores.Families, f), append(scores.SE, se)
				scores.LogEvidence, truth = append(scores.LogEvidence, value+se*random.NormFloat64()), append(truth, value)
			}
			before := append([]float64(nil), scores.LogEvidence...)
			pool(&scores, 9)
			for i, value := range truth {
				missed := dgraph.Square(scores.LogEvidence[i] - value)
				if i%10 == 0 {
					fineSquares, fine = fineSquares+missed, fine+1
					continue
				}
				squares, unpooledSquares = squares+missed, unpooledSquares+dgraph.Square(before[i]-value)
				scaled, count = scaled+missed/dgraph.Square(scores.SE[i]), count+1
			}
		}
		require.InDelta(t, 1, scaled/count, 0.1, "mean square of errors in standard errors")
		require.Less(t, math.Sqrt(squares/unpooledSquares), test.most)
		require.Less(t, math.Sqrt(fineSquares/fine), 0.31)
	}
}
