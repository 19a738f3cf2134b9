package varsel

import (
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
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
	logEvidence float64
	cumulative  []float64 // of p(a | y, m), in the order of a as a binary number
}

const (
	// mostAssignedRows is the largest number of rows whose assignments are summed over, and
	// mostAssignments the largest number for all models together. Chosen by hand: a second or two.
	mostAssignedRows = 12
	mostAssignments  = 1 << 16
	// mostAssignedDim bounds the coordinates of a model, whose cube is the work of each. Chosen by
	// hand.
	mostAssignedDim = 8
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

// given is the model of a code given which rows are outliers, and log p(a) less the logarithm of
// what the densities of outliers lost by the division by κ.
func (s *assignments) given(a active, outliers int) (m *conjugate, logShare float64, err error) {
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
	m, err = newConjugate(y, columns, a.mean, a.sd, 0, 0)
	return m, logShare, err
}

// logJoint is log p(y, a | m).
func (s *assignments) logJoint(a active, outliers int) (float64, error) {
	m, logShare, err := s.given(a, outliers)
	if err != nil {
		return 0, err
	}
	logEvidence, err := s.target.logEvidenceOf(m)
	return logShare + logEvidence, err
}

// sum is that of one model over all assignments. Models are kept.
func (s *assignments) sum(code []int32) (*assigned, error) {
	key := fmt.Sprint(code)
	s.mutex.Lock()
	found := s.known[key]
	s.mutex.Unlock()
	if found != nil {
		return found, nil
	}
	a := s.target.active(code)
	logs := make([]float64, 1<<len(s.target.responses.y))
	for outliers := range logs {
		var err error
		if logs[outliers], err = s.logJoint(a, outliers); err != nil {
			return nil, err
		}
	}
	found = &assigned{logEvidence: logsum.Of(logs), cumulative: make([]float64, len(logs))}
	if math.IsNaN(found.logEvidence) || math.IsInf(found.logEvidence, 0) {
		return nil, errors.New("the sum over outliers is not finite")
	}
	total := 0.0
	for k, l := range logs {
		total += math.Exp(l - found.logEvidence)
		found.cumulative[k] = total
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known[key] = found
	return found, nil
}

// LogEvidences returns log p(y | m) of each code.
func (s *assignments) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return forEachModel(ctx, codes, func(code []int32) (float64, error) {
		sum, err := s.sum(code)
		if err != nil {
			return 0, err
		}
		return sum.logEvidence, nil
	})
}

// SampleParameters draws from p(θ | y, m): which rows are outliers, then θ given that.
func (s *assignments) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	t := s.target
	sum, err := s.sum(code)
	if err != nil {
		return nil, nil, err
	}
	a := t.active(code)
	drawers := map[int]*conjugateSampler{}
	theta, logDensity := mat.NewDense(max(n, 1), t.space.Dim(), nil), make([]float64, n)
	eta := make([]float64, len(t.responses.y))
	for i := range n {
		outliers, _ := slices.BinarySearch(sum.cumulative, random.Float64()*sum.cumulative[len(sum.cumulative)-1])
		if drawers[outliers] == nil {
			m, _, err := s.given(a, outliers)
			if err != nil {
				return nil, nil, err
			}
			if drawers[outliers], err = t.sampler(m, a); err != nil {
				return nil, nil, err
			}
		}
		row := theta.RawRowView(i)
		drawers[outliers].draw(random, row)
		logDensity[i] = t.logJointAt(a, row, eta) - sum.logEvidence
	}
	return theta, logDensity, nil
}

// components are the normal distributions that coefficients have given an assignment and σ.
func (s *assignments) components(p *Problem, code []int32, probability float64) (map[int][]mixtureComponent, error) {
	sum, err := s.sum(code)
	if err != nil {
		return nil, err
	}
	a := s.target.active(code)
	out := map[int][]mixtureComponent{}
	before := 0.0
	for outliers, cumulative := range sum.cumulative {
		share := cumulative - before
		before = cumulative
		if probability*share < negligibleMoment {
			continue
		}
		m, _, err := s.given(a, outliers)
		if err != nil {
			return nil, err
		}
		if err := p.addComponents(out, m, a, probability*share); err != nil {
			return nil, err
		}
	}
	return out, nil
}
