package varsel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/rjmcmc"
)

// outlierState is a model and a set a of outliers. It holds the normal equations of all coordinates
// given the outliers, P = A'WA + I and b = A'Wr, and the inverse of P for the coordinates of the
// model. A holds the rows of the design in prior standard deviations, r the responses less offset
// and prior mean, and the diagonal matrix W the inverse variances of the rows. To change one row or
// one coordinate takes a product of the inverse with a vector.
type outlierState struct {
	*collapsed
	normalEquations
	code        []int32
	size        int   // number of predictors in the model
	members     []int // coordinates of the model, in the order of inverse
	outlier     []bool
	inverse     []float64 // P⁻¹ for the coordinates of the model, symmetric [k·D]
	mean        []float64 // P⁻¹b [k]
	logEvidence float64   // log p(y | m, a)
	sweeps      int

	x, product []float64 // scratch [D]
}

// normalEquations are the weighted sums over rows that determine coefficients.
type normalEquations struct {
	precision []float64 // A'WA [D·D], lower triangle
	slope     []float64 // b = A'Wr [D]
	square    float64   // r'Wr
}

func newNormalEquations(dim int) normalEquations {
	return normalEquations{precision: make([]float64, dim*dim), slope: make([]float64, dim)}
}

// add adds a row with its response. The weight may be negative.
func (e *normalEquations) add(row []float64, rest, weight float64) {
	dim := len(row)
	for j, x := range row {
		f, line := weight*x, e.precision[j*dim:j*dim+j+1]
		for l, other := range row[:len(line)] {
			line[l] += f * other
		}
		e.slope[j] += f * rest
	}
	e.square += weight * rest * rest
}

// setScaled sets e to from with all weights multiplied by the argument weight.
func (e *normalEquations) setScaled(from *normalEquations, weight float64) {
	floats.ScaleTo(e.precision, weight, from.precision)
	floats.ScaleTo(e.slope, weight, from.slope)
	e.square = weight * from.square
}

func (e *normalEquations) clone() normalEquations {
	return normalEquations{slices.Clone(e.precision), slices.Clone(e.slope), e.square}
}

var errCollapsed = errors.New("the normal equations of a set of outliers lose too many digits")

func (c *collapsed) state(code []int32, outlier []bool) (*outlierState, error) {
	dim := c.target.space.Dim()
	s := &outlierState{
		collapsed: c, code: slices.Clone(code), members: c.coordinates(code), outlier: outlier,
		normalEquations: newNormalEquations(dim), inverse: make([]float64, dim*dim), mean: make([]float64, dim),
		x: make([]float64, dim), product: make([]float64, dim),
	}
	for _, in := range code {
		s.size += int(in)
	}
	if !s.renew() {
		return nil, errCollapsed
	}
	return s, nil
}

// renew computes all fields anew from the model and the outliers, since updates lose digits. It
// starts from the normal equations of all rows, and changes the weights of the outliers or of the
// other rows, whichever are fewer, so that few digits cancel.
func (s *outlierState) renew() bool {
	outliers := 0
	for _, outlier := range s.outlier {
		outliers += bit(outlier)
	}
	most := 2*outliers > len(s.outlier)
	variance := s.target.Outliers.Variance
	weight, other := 1/variance[bit(most)], 1/variance[bit(!most)]
	s.normalEquations.setScaled(&s.all, weight)
	for i, outlier := range s.outlier {
		if outlier != most {
			s.add(s.rows[i], s.rest[i], other-weight)
		}
	}
	s.logEvidence = -float64(len(s.outlier))*(math.Log(variance[0])/2+halfLog2Pi) - float64(outliers)*s.logRatio[1]/2
	return s.invert()
}

// factor returns the Cholesky factor of P for the coordinates of the model.
func (s *outlierState) factor() (f dense.Factor, ok bool) {
	k, dim := len(s.members), len(s.slope)
	l := make([]float64, k*k)
	for a, i := range s.members {
		for b, j := range s.members[:a+1] {
			l[a*k+b] = s.precision[max(i, j)*dim+min(i, j)]
		}
		l[a*k+a]++
	}
	return dense.Factorize(l, k, 0)
}

// invert sets inverse and mean, and adds to logEvidence the terms that depend on the coefficients.
func (s *outlierState) invert() bool {
	k, dim := len(s.members), len(s.slope)
	f, ok := s.factor()
	if !ok {
		return false
	}
	for a := range k {
		line := s.inverse[a*dim : a*dim+k] // P⁻¹ e_a
		clear(line)
		line[a] = 1
		f.Solve(line)
	}
	fitted := 0.0
	for a := range k {
		s.mean[a] = 0
		for b, j := range s.members {
			s.mean[a] += s.inverse[a*dim+b] * s.slope[j]
		}
		fitted += s.mean[a] * s.slope[s.members[a]]
	}
	s.logEvidence -= (f.LogDet() + s.square - fitted) / 2
	return true
}

// multiply sets product to P⁻¹x, and returns x'P⁻¹x and x'P⁻¹b.
func (s *outlierState) multiply() (square, fitted float64) {
	k, dim := len(s.members), len(s.slope)
	x, product, mean := s.x[:k], s.product[:k], s.mean[:k]
	for a := range product {
		line := s.inverse[a*dim : a*dim+k][:len(x)]
		var even, odd float64
		for b := 0; b < len(x)-1; b += 2 {
			even += line[b] * x[b]
			odd += line[b+1] * x[b+1]
		}
		if k%2 == 1 {
			even += line[k-1] * x[k-1]
		}
		product[a] = even + odd
		square += product[a] * x[a]
		fitted += mean[a] * x[a]
	}
	return square, fitted
}

// update adds factor · product product' to the inverse and shift · product to the mean.
func (s *outlierState) update(factor, shift float64) {
	k, dim := len(s.members), len(s.slope)
	product := s.product[:k]
	for a, p := range product {
		line, f := s.inverse[a*dim : a*dim+k][:len(product)], factor*p
		for b, q := range product {
			line[b] += f * q
		}
		s.mean[a] += shift * p
	}
}

// renewedEvery is the number of sweeps after which all fields are computed anew (renew). Half and
// twice this number give the same answers (docs/benchmarks/constants.md).
const renewedEvery = 16

// Sweep proposes to change every row (outlier or not) and every predictor (in or out) in turn, with
// the evidence raised to the argument power. At power 0 it draws outliers from their prior.
func (s *outlierState) Sweep(power float64, random *rand.Rand) float64 {
	s.sweeps++
	if power == 0 {
		for i := range s.outlier {
			s.outlier[i] = random.Float64() < math.Exp(s.target.Outliers.LogShare[1])
		}
	}
	if (power == 0 || s.sweeps%renewedEvery == 0) && !s.renew() {
		s.logEvidence = math.NaN()
	}
	if power > 0 {
		for i := range s.rows {
			s.proposeRow(i, power, random)
		}
	}
	for site := range s.code {
		s.proposeSite(site, power, random)
	}
	return s.logEvidence
}

// boundSlack is an allowance, in nats, for the rounding error of a bound in proposeRow.
const boundSlack = 1e-9

// proposeRow proposes to make an inlier an outlier, or an outlier an inlier.
func (s *outlierState) proposeRow(i int, power float64, random *rand.Rand) {
	o, row := s.target.Outliers, s.rows[i]
	from, to := bit(s.outlier[i]), bit(!s.outlier[i])
	for a, j := range s.members {
		s.x[a] = row[j]
	}
	square, fitted := s.multiply()
	change := 1/o.Variance[to] - 1/o.Variance[from]
	grown, residual := 1+change*square, s.rest[i]-fitted
	shift, logUniform := o.LogShare[to]-o.LogShare[from], -random.ExpFloat64()
	misfit := change * residual * residual / grown / 2
	// Since log(grown) >= 1 - 1/grown, bound is at least the gain in log evidence. It refuses most
	// proposals before a logarithm is computed.
	if bound := -(s.logRatio[to]+1-1/grown)/2 - misfit; logUniform > power*bound+shift+boundSlack {
		return
	}
	gain := -math.Log(grown*o.Variance[to]/o.Variance[from])/2 - misfit
	if !(logUniform < power*gain+shift) {
		return
	}
	s.outlier[i] = !s.outlier[i]
	s.add(row, s.rest[i], change)
	s.update(-change/grown, change*residual/grown)
	s.logEvidence += gain
}

// proposeSite proposes to add a predictor or to remove it, one coordinate after the other.
func (s *outlierState) proposeSite(site int, power float64, random *rand.Rand) {
	step := 1 - 2*int(s.code[site])
	size := s.size + step
	threshold := s.logPrior.Sizes[s.size] - s.logPrior.Sizes[size] - float64(step)*s.logPrior.Member(site) - random.ExpFloat64()
	s.code[site] = 1 - s.code[site]
	if math.IsInf(threshold, 1) || !s.allowed(s.code) {
		s.code[site] = 1 - s.code[site]
		return
	}
	adding, gain := s.code[site] == 1, 0.0
	for n, j := range s.groups[site] {
		gain += s.change(j, adding, n+1 < len(s.groups[site]))
	}
	if last := s.groups[site]; threshold < power*gain {
		s.size = size
		if len(last) > 0 {
			s.change(last[len(last)-1], adding, true)
		}
		s.logEvidence += gain
		return
	}
	s.code[site] = 1 - s.code[site]
	for n := len(s.groups[site]) - 2; n >= 0; n-- {
		s.change(s.groups[site][n], !adding, true)
	}
}

// change returns the gain of the log evidence from adding a coordinate to the model or removing it.
// If stay is true, it makes the change.
func (s *outlierState) change(j int, adding, stay bool) (gain float64) {
	k, dim := len(s.members), len(s.slope)
	if adding {
		for a, i := range s.members {
			s.x[a] = s.precision[max(i, j)*dim+min(i, j)]
		}
		square, fitted := s.multiply()
		left := s.precision[j*dim+j] + 1 - square
		mean := (s.slope[j] - fitted) / left
		if stay { // the vector (-product, 1) times its transpose, divided by left, is added to the inverse
			for a := range k {
				s.product[a] = -s.product[a]
				s.inverse[a*dim+k], s.inverse[k*dim+a] = 0, 0
			}
			s.product[k], s.inverse[k*dim+k], s.mean[k] = 1, 0, 0
			s.members = append(s.members, j)
			s.update(1/left, mean)
		}
		return -math.Log(left)/2 + mean*mean*left/2
	}
	a := slices.Index(s.members, j)
	variance, mean := s.inverse[a*dim+a], s.mean[a]
	if stay {
		copy(s.product[:k], s.inverse[a*dim:a*dim+k])
		s.update(-1/variance, -mean/variance)
		last := k - 1 // the last coordinate moves to the position of coordinate j
		s.members[a], s.mean[a] = s.members[last], s.mean[last]
		s.members = s.members[:last]
		copy(s.inverse[a*dim:a*dim+k], s.inverse[last*dim:last*dim+k])
		for b := range k {
			s.inverse[b*dim+a] = s.inverse[b*dim+last]
		}
	}
	return -math.Log(variance)/2 - mean*mean/variance/2
}

// Clone returns a copy with separate memory for the fields that sweeps change.
func (s *outlierState) Clone() rjmcmc.CollapsedState {
	t := *s
	t.code, t.members, t.outlier = slices.Clone(s.code), slices.Clone(s.members), slices.Clone(s.outlier)
	t.normalEquations, t.inverse, t.mean = s.clone(), slices.Clone(s.inverse), slices.Clone(s.mean)
	t.x, t.product = make([]float64, len(s.x)), make([]float64, len(s.x))
	return &t
}

// collapsedError is the largest accepted rounding error of a log evidence, in nats, after its
// updates. Log evidences that are compared may differ by thirty times this number.
const collapsedError = 1e-3

// Draw writes the model and a draw of its coefficients. It recomputes the evidence from the
// residuals, and returns an error if updates have lost too many digits.
func (s *outlierState) Draw(random *rand.Rand, code []int32, theta []float64) (logDensity float64, err error) {
	copy(code, s.code)
	clear(theta)
	t, k := s.target, len(s.members)
	f, ok := s.factor()
	if !ok {
		return 0, errCollapsed
	}
	mean, draw := make([]float64, k), make([]float64, k)
	for a, j := range s.members {
		mean[a] = s.slope[j]
	}
	f.Solve(mean)
	logEvidence := -(f.LogDet() + floats.Dot(mean, mean)) / 2
	for i, row := range s.rows {
		rest, variance := s.rest[i], t.Outliers.Variance[bit(s.outlier[i])]
		for a, j := range s.members {
			rest -= mean[a] * row[j]
		}
		logEvidence -= rest*rest/variance/2 + math.Log(variance)/2 + halfLog2Pi
	}
	if !(math.Abs(logEvidence-s.logEvidence) <= collapsedError) {
		return 0, errCollapsed
	}
	for a := range draw {
		draw[a] = random.NormFloat64()
	}
	f.SolveUpper(draw)
	for a, j := range s.members {
		theta[j] = t.Mean[j] + t.SD[j]*(mean[a]+draw[a])
	}
	logDensity = s.logPrior.OfCode(code) + t.LogJointAt(t.active(code), theta, make([]float64, len(s.rows)))
	if t.heredity != nil {
		logDensity -= t.heredity.logMass
	}
	return logDensity, nil
}

// bit returns 1 for true and 0 for false. In the arrays of regression.Outliers, 1 is the index of
// outliers and 0 of inliers.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
