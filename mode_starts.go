package vti

import (
	"math"

	"github.com/transdim/vti/internal/parallel"
)

// ModeStarter is a Target that knows where modes of a model may be. Weights cannot show a mode
// where no draw fell, and a distant mode with a thousandth of the probability of a model changes a
// standard deviation by a tenth. Where a draw at such a point would have a weight that contradicts
// the draws of a certificate, a search for a mode starts there.
type ModeStarter interface {
	// ModeStarts returns at most so many points θ [n][D] of a model, inactive coordinates 0, and
	// log p(y, θ | m) at each. It may be called from several goroutines.
	ModeStarts(code []int32, most int) (theta [][]float64, logJoint []float64)
}

// Bounds of the points that are looked at: of one model, and of all. Chosen by hand: a batch or two
// of densities for a model.
const (
	mostStarts    = 512
	mostAllStarts = 1 << 14
)

// addModeStarts adds what the target knows to the points that are looked at.
func (s *importanceSampler) addModeStarts(at *witnessed, logPrior []float64) error {
	starter, ok := s.evaluator.Target.(ModeStarter)
	if !ok {
		return nil
	}
	most := min(mostStarts, mostAllStarts/len(s.codes))
	if most == 0 {
		return nil
	}
	theta, logJoint := make([][][]float64, len(s.codes)), make([][]float64, len(s.codes))
	err := parallel.Do(len(s.codes), func(i int) error {
		if !math.IsInf(logPrior[i], -1) {
			theta[i], logJoint[i] = starter.ModeStarts(s.codes[i], most)
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
