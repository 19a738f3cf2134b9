package varsel

import (
	"errors"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
)

// errRounding is the error of an enumeration that rounding has made wrong.
var errRounding = errors.New("exact: sums of squares cannot resolve this table, whose noise is less than 1e-6 of the response or whose columns are nearly combinations of each other: use vti varsel, which decomposes each model")

const (
	// checkedModels of the most probable ones are decomposed to check the enumeration, and the
	// largest model, whose factor loses most digits.
	checkedModels = 16
	// roundedEvidence is the error of a log evidence, in nats, above which means and standard
	// deviations may be wrong in the digits that are printed. Chosen by hand.
	roundedEvidence = 1e-5
)

// check compares the evidences of some models with those by singular values, in which nothing
// cancels. With columns that are nearly copies the factor of sums of squares loses so many digits
// that an improbable model can have all of the posterior.
func (s *exactSpace) check(p *ExactProblem, top []topEntry) error {
	for _, entry := range top[:min(checkedModels, len(top))] {
		if err := s.checkModel(p, entry.mask, entry.logJoint-s.logPrior[bits.OnesCount32(entry.mask)]); err != nil {
			return err
		}
	}
	w := newWalker(s)
	for g := range min(len(s.groups), s.limit) {
		w.push(g)
	}
	found, _ := w.logEvidence()
	return s.checkModel(p, w.mask, found)
}

// checkModel compares the log evidence that was found for a model with that by singular values.
func (s *exactSpace) checkModel(p *ExactProblem, mask uint32, found float64) error {
	coordinates := append([]int(nil), s.always...)
	for g, group := range s.groups {
		if mask>>g&1 == 1 {
			coordinates = append(coordinates, group...)
		}
	}
	var columns [][]float64
	var mean, sd []float64
	for _, j := range coordinates {
		columns, sd, mean = append(columns, mat.Col(nil, j, p.X)), append(sd, p.PriorSD[j]), append(mean, 0)
		if p.PriorMean != nil {
			mean[len(mean)-1] = p.PriorMean[j]
		}
	}
	model, err := newConjugate(p.Y, columns, mean, sd, 0, 0)
	if err != nil {
		return err
	}
	terms := make([]float64, len(s.logSigma))
	for t, logSigma := range s.logSigma {
		terms[t] = s.logWeight[t] + model.logEvidence(logSigma)
	}
	want := logsum.Of(terms)
	if off := math.Abs(found - want); !(off <= roundedEvidence+1e-12*math.Abs(want)) {
		return errRounding
	}
	return nil
}
