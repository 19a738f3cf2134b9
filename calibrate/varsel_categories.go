package calibrate

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/varsel"
)

// drawnLevels are the drawn categories without an order.
var drawnLevels = []string{"0", "1", "2"}

// drawnScores are scores of these categories for each row [K][n], whose softmax is their
// probabilities. Coefficients of scores are drawn for each category by itself, with half of the
// prior variance of log odds. The program under test has other coordinates.
type drawnScores struct {
	design *varsel.Design
	scores [][]float64
}

func newDrawnScores(design *varsel.Design) *drawnScores {
	s := &drawnScores{design: design}
	for range drawnLevels {
		s.scores = append(s.scores, make([]float64, design.Rows()))
	}
	return s
}

// use draws the coefficients of a column, whose log odds have a standard deviation, and notes the
// log odds against the first category in the units of the table.
func (s *drawnScores) use(j int, sd float64, truth *drawnTruth, random *rand.Rand) {
	first := 0.0
	for k, scores := range s.scores {
		theta := sd / math.Sqrt2 * random.NormFloat64()
		for i := range scores {
			scores[i] += theta * s.design.X.At(i, j)
		}
		if k == 0 {
			first = theta
			continue
		}
		truth.coefficients[drawnLevels[k]+":"+s.design.Names[j]] = (theta - first) / s.design.Scaling.SD[j]
	}
}

// drawCategories draws a category for each row: the largest sum of score [K][n] and Gumbel noise.
func drawCategories(scores [][]float64, y []float64, random *rand.Rand) {
	for i := range y {
		best := math.Inf(-1)
		for k, levelScores := range scores {
			if value := levelScores[i] - math.Log(random.ExpFloat64()); value > best {
				best, y[i] = value, float64(k)
			}
		}
	}
}
