package varsel

import (
	"fmt"

	"github.com/transdim/vti/likelihood"
)

// heavyTailed are models under likelihoods with heavy tails, whose modes are many.
type heavyTailed struct{ models }

// expand is the expansion of the log density of a model; nil for likelihoods without one.
func (h heavyTailed) expand() func(code []int32, theta, slope, curvature []float64) (logJoint float64) {
	t := h.bits()
	heavy, ok := t.Responses.Likelihood.(likelihood.HeavyTailed)
	if !ok {
		return nil
	}
	return func(code []int32, theta, slope, curvature []float64) (logJoint float64) {
		return t.Expand(heavy, h.active(code), theta, slope, curvature)
	}
}

// modeStarts are where searches for the modes of a model begin, coordinates at their places.
func (h heavyTailed) modeStarts(code []int32, most int) (theta [][]float64, logJoint []float64) {
	return h.bits().ElementalSets(h.active(code), h.Space().Dim(), most, fmt.Sprint("modes/", code))
}
