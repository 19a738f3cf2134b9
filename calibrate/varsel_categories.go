package calibrate

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/varsel"
)

// drawnLevels lists the categories of drawn responses, which have no order.
var drawnLevels = []string{"0", "1", "2"}

// drawnScores holds the score of each category for each row, with the shape [K][n] for K categories
// and n rows. The softmax of the scores of a row is the probabilities of its categories. Each
// category has separate coefficients, drawn with half of the prior variance of a coefficient of the
// log odds. The tested program instead has contrasts between categories as parameters.
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

// use draws a coefficient of column j of the design for each category. The difference between two
// categories, which is a coefficient of log odds, has the standard deviation sd. The differences
// from the first category are written to truth in the units of the table.
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

// drawCategories draws a category for each row, and stores its index in y. It is the category with
// the largest sum of its score and Gumbel noise. The scores are [categories][rows].
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
