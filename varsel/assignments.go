package varsel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/exact"
)

// assignments sums the posterior of a robust Target over which rows are outliers: given that,
//
//	y_i ~ N(η_i, (κ^{a_i} σ)²),   p(a) = Π ε^{a_i} (1 − ε)^{1−a_i},
//
// the model is Gaussian, and a closed form given σ. Few rows are where such a posterior has modes
// that no draw shows: two rows that contradict a third.
type assignments struct {
	target         *Target
	outlier, ratio float64 // ε and κ

	mutex sync.Mutex
	known map[string]*assigned
}

// assigned is the sum of one model.
type assigned struct {
	*assignments
	model       active
	logEvidence float64
	shares      []float64 // p(a | y, m), in the order of a as a binary number
}

const (
	// mostAssignedRows is the largest number of rows whose assignments are summed over, and
	// mostAssignments the largest number for all models together. Chosen by hand: a second or two.
	mostAssignedRows = 12
	mostAssignments  = 1 << 16
	// mostAssignedDim bounds the coordinates of a model, whose cube is the work of each. Chosen by
	// hand.
	mostAssignedDim = 8
	// negligibleShare of the posterior adds nothing to moments.
	negligibleShare = 1e-22
)

// newAssignments is nil where there are too many, or the likelihood is another.
func newAssignments(t *Target, model ModelOptions) *assignments {
	count, ok := space.Count(t.space)
	rows := len(t.responses.y)
	if t.kind != likelihood.RobustKind || !ok || rows > mostAssignedRows || len(t.mean) > mostAssignedDim || count > mostAssignments>>rows {
		return nil
	}
	return &assignments{target: t, outlier: model.Outlier, ratio: model.Sigma2 / model.Sigma1, known: map[string]*assigned{}}
}

// given is the posterior of a model given which rows are outliers, and log p(a) less the logarithm
// of what the densities of outliers lost by the division by κ.
func (s *assignments) given(a active, outliers int) (p *exact.Posterior, logShare float64, err error) {
	t := s.target
	y, columns := slices.Clone(t.responses.y), make([][]float64, len(a.columns))
	for j, column := range a.columns {
		columns[j] = slices.Clone(column)
	}
	for i := range y {
		if outliers>>i&1 == 1 {
			y[i] /= s.ratio
			for _, column := range columns {
				column[i] /= s.ratio
			}
		}
	}
	count := float64(bits.OnesCount(uint(outliers)))
	logShare = count*math.Log(s.outlier/s.ratio) + (float64(len(y))-count)*math.Log1p(-s.outlier)
	m, err := exact.NewModel(y, columns, a.mean, a.sd, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	p, err = m.Posterior(t.noise())
	return p, logShare, err
}

// sum is that of one model over all assignments. Models are kept.
func (s *assignments) sum(a active) (*assigned, error) {
	key := fmt.Sprint(a.coordinates)
	s.mutex.Lock()
	found := s.known[key]
	s.mutex.Unlock()
	if found != nil {
		return found, nil
	}
	logs := make([]float64, 1<<len(s.target.responses.y))
	for outliers := range logs {
		p, logShare, err := s.given(a, outliers)
		if err != nil {
			return nil, err
		}
		logs[outliers] = logShare + p.LogEvidence()
	}
	found = &assigned{assignments: s, model: a, logEvidence: logsum.Of(logs), shares: logs}
	if math.IsNaN(found.logEvidence) || math.IsInf(found.logEvidence, 0) {
		return nil, errors.New("the sum over outliers is not finite")
	}
	for k, l := range logs {
		found.shares[k] = math.Exp(l - found.logEvidence)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known[key] = found
	return found, nil
}

// forms are the sums as closed forms.
func (s *assignments) forms() closedForms {
	return closedForms{s.target, func(a active) (closedForm, error) {
		sum, err := s.sum(a)
		return drawnAssignments{sum, map[int]*exact.Posterior{}}, err
	}}
}

// drawnAssignments keep the posteriors given assignments that have been drawn.
type drawnAssignments struct {
	*assigned
	known map[int]*exact.Posterior
}

// LogEvidence is log p(y | m).
func (s *assigned) LogEvidence() float64 { return s.logEvidence }

// Draw draws which rows are outliers, then coefficients given that.
func (s drawnAssignments) Draw(random *rand.Rand, values []float64) (logSigma, logDensity float64) {
	outliers := pick.Func(len(s.shares), random.Float64(), func(i int) float64 { return s.shares[i] })
	t := s.target
	theta := make([]float64, t.space.Dim())
	p := s.known[outliers]
	if p == nil {
		p, _, _ = s.given(s.model, outliers) // which was found for the sum
		s.known[outliers] = p
	}
	s.model.draw(p, random, theta)
	for k, j := range s.model.coordinates {
		values[k] = theta[j]
	}
	if s.model.scale >= 0 {
		logSigma = theta[s.model.scale]
	}
	return logSigma, t.logJointAt(s.model, theta, make([]float64, len(t.responses.y))) - s.logEvidence
}

// posteriors are those given each assignment, of a model with a probability.
func (s *assigned) posteriors(probability float64) (list []exact.Weighted, err error) {
	for outliers, share := range s.shares {
		if probability*share < negligibleShare {
			continue
		}
		p, _, err := s.given(s.model, outliers)
		if err != nil {
			return nil, err
		}
		list = append(list, exact.Weighted{Posterior: p, Coordinates: s.model.coordinates, Probability: probability * share})
	}
	return list, nil
}
