package vti

import (
	"math"

	"github.com/transdim/vti/internal/parallel"
)

// Weights cannot show a mode where no draw fell, and a distant mode with a thousandth of the
// probability of a model changes a standard deviation by a tenth. Where a draw at a point that the
// target names (models.Known.ModeStarts) would have a weight that contradicts the draws of a
// certificate, a search for a mode starts there.

// Bounds of the points that are looked at: of one model, and of all. Chosen by hand: a batch or two
// of densities for a model.
const (
	mostStarts    = 512
	mostAllStarts = 1 << 14
)

// addModeStarts adds what the target knows to the points that are looked at.
func (s *importanceSampler) addModeStarts(at *witnessed, logPrior []float64) error {
	starts := s.evaluator.engine.Known.ModeStarts
	if starts == nil {
		return nil
	}
	most := min(mostStarts, mostAllStarts/len(s.codes))
	if most == 0 {
		return nil
	}
	theta, logJoint := make([][][]float64, len(s.codes)), make([][]float64, len(s.codes))
	err := parallel.Do(len(s.codes), func(i int) error {
		if !math.IsInf(logPrior[i], -1) {
			theta[i], logJoint[i] = starts(s.codes[i], most)
		}
		return nil
	})
	for i := range s.codes {
		for k, point := range theta[i] {
			at.models, at.theta = append(at.models, i), append(at.theta, point)
			at.byModel[i] = append(at.byModel[i], climbStart{point, logJoint[i][k]})
		}
	}
	return err
}
