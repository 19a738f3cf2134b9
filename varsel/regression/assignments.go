package regression

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
	"github.com/transdim/vti/varsel/exact"
)

// Assignments sums the posterior of a robust regression over the sets of outliers a,
//
//	y_i ~ N(η_i, (κ^{a_i} σ)²),   p(a) = Π ε^{a_i} (1 − ε)^{1−a_i},
//
// where a_i is 1 for an outlier and 0 otherwise, κ is the ratio of the noise scales, and ε the
// share of outliers. Given a the model is Gaussian, and given σ too it has a closed form. With few
// rows, draws can miss whole modes of this posterior, for example if rows contradict each other.
type Assignments struct {
	target         *Regression
	outlier, ratio float64 // ε and κ

	mutex sync.Mutex
	known map[string]*Assigned
}

// Assigned is the sum over the sets of outliers of one model.
type Assigned struct {
	*Assignments
	model       Active
	logEvidence float64
	shares      []float64 // p(a | y, m), in the order of a as a binary number
}

// negligibleShare is a posterior probability. Pairs of a model and a set of outliers that have less
// add nothing to moments.
const negligibleShare = 1e-22

// NewAssignments returns the sums for a share ε of outliers, whose noise scale is ratio (κ) times
// the scale of inliers.
func NewAssignments(r *Regression, share, ratio float64) *Assignments {
	return &Assignments{target: r, outlier: share, ratio: ratio, known: map[string]*Assigned{}}
}

// Given returns the posterior of a model given the outliers, whose rows are divided by κ. Row i is
// an outlier if bit i of the argument outliers is set. logShare is log p(a) − k log κ for k
// outliers.
func (s *Assignments) Given(a Active, outliers int) (p *exact.Posterior, logShare float64, err error) {
	t := s.target
	y, columns := slices.Clone(t.Responses.Y), make([][]float64, len(a.Columns))
	for j, column := range a.Columns {
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
	m, err := exact.NewModel(y, columns, a.Mean, a.SD, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	p, err = m.Posterior(t.Noise())
	return p, logShare, err
}

// Sum returns the sum of one model over all sets of outliers. It keeps the result for later calls.
func (s *Assignments) Sum(a Active) (*Assigned, error) {
	key := fmt.Sprint(a.Coordinates)
	s.mutex.Lock()
	found := s.known[key]
	s.mutex.Unlock()
	if found != nil {
		return found, nil
	}
	logs := make([]float64, 1<<len(s.target.Responses.Y))
	for outliers := range logs {
		p, logShare, err := s.Given(a, outliers)
		if err != nil {
			return nil, err
		}
		logs[outliers] = logShare + p.LogEvidence()
	}
	found = &Assigned{Assignments: s, model: a, logEvidence: logsum.Of(logs), shares: logs}
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

// Of returns the posterior of a model, as a sum over sets of outliers from which draws are made.
func (s *Assignments) Of(a Active) (Closed, error) {
	sum, err := s.Sum(a)
	return drawnAssignments{sum, map[int]*exact.Posterior{}}, err
}

// drawnAssignments draws from the posterior of a model. The field known holds the posteriors given
// the sets of outliers that were drawn before.
type drawnAssignments struct {
	*Assigned
	known map[int]*exact.Posterior
}

// LogEvidence returns log p(y | m).
func (s *Assigned) LogEvidence() float64 { return s.logEvidence }

// Draw draws a set of outliers, and then log σ and coefficients given the set.
func (s drawnAssignments) Draw(random *rand.Rand, values []float64) (logSigma, logDensity float64) {
	outliers := pick.Func(len(s.shares), random.Float64(), func(i int) float64 { return s.shares[i] })
	t := s.target
	theta := make([]float64, t.Dim)
	p := s.known[outliers]
	if p == nil {
		p, _, _ = s.Given(s.model, outliers) // Sum has computed this posterior without an error
		s.known[outliers] = p
	}
	s.model.Draw(p, random, theta)
	for k, j := range s.model.Coordinates {
		values[k] = theta[j]
	}
	if s.model.Scale >= 0 {
		logSigma = theta[s.model.Scale]
	}
	return logSigma, t.LogJointAt(s.model, theta, make([]float64, len(t.Responses.Y))) - s.logEvidence
}

// Posteriors returns the posteriors of a model given each set of outliers, with the joint
// probability of model and set. The argument is the probability of the model.
func (s *Assigned) Posteriors(probability float64) (list []exact.Weighted, err error) {
	for outliers, share := range s.shares {
		if probability*share < negligibleShare {
			continue
		}
		p, _, err := s.Given(s.model, outliers)
		if err != nil {
			return nil, err
		}
		list = append(list, exact.Weighted{Posterior: p, Coordinates: s.model.Coordinates, Probability: probability * share})
	}
	return list, nil
}
