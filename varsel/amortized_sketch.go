package varsel

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
)

// sketch approximates the evidences of all models of a table. If each model has its own normal
// approximation (modelAnchors), its evidence comes from this approximation. Otherwise evidences
// come from sufficient statistics of the largest model: each row is treated as a normal observation
// of its linear predictor, weighted by the curvature at the mode. This is exact for a normal
// response, up to the integral over σ. Below, k is the number of coefficients, W the diagonal
// matrix of the weights, and ŷ holds the observations.
type sketch struct {
	target    *Target
	fit       *approximation // of the largest model
	anchors   *modelAnchors  // nil if only the largest model has an approximation
	precision []float64      // X'WX, without the prior [k·k]
	linear    []float64      // X'Wŷ [k]
	square    float64        // ŷ'Wŷ of all rows; set if the noise scale is inferred
	rows      float64
}

// newSketch approximates the largest model, and every other model if the argument each is true.
func newSketch(p *Problem, each bool) *sketch {
	t := p.Target
	full := slices.Repeat([]int32{1}, len(t.space.Cards()))
	s := &sketch{target: t, fit: t.approximate(t.active(full)), rows: float64(p.Design.Rows())}
	if each {
		s.anchors = newModelAnchors(t)
		return s
	}
	k := len(s.fit.Columns)
	s.precision, s.linear = make([]float64, k*k), make([]float64, k)
	for a := range k {
		prior := 1 / (s.fit.SD[a] * s.fit.SD[a])
		s.linear[a] = s.fit.linear.AtVec(a) - prior*s.fit.Mean[a]
		for b := range k {
			s.precision[a*k+b] = s.fit.precision.At(a, b)
		}
		s.precision[a*k+a] -= prior
	}
	if t.Scale >= 0 { // the statistics at σ = 1
		variance := math.Exp(2 * s.fit.logScale)
		floats.Scale(variance, s.precision)
		floats.Scale(variance, s.linear)
		s.square = floats.Dot(p.Design.Y, p.Design.Y)
	}
	return s
}

// scaleRounds is the number of rounds that alternate between σ and the coefficients of a model.
const scaleRounds = 3

// logMass returns the approximate log evidence of a model, up to a constant that all models of the
// table share. members are the numbers of the model's coefficients.
func (s *sketch) logMass(members []int) float64 {
	t := s.target
	if s.anchors != nil {
		index := 0
		for _, j := range members[1:] { // members[0] is the intercept
			index |= 1 << (len(s.anchors.cards) - j)
		}
		return s.anchors.logEvidence[index]
	}
	if t.Scale < 0 {
		value, _ := s.logMassAt(members, 0)
		return value
	}
	logScale := s.fit.logScale
	for range scaleRounds {
		_, residual := s.logMassAt(members, logScale)
		// a Newton step to the mode of log σ under its normal prior
		d := s.rows - float64(len(members))
		z := (logScale - t.Mean[t.Scale]) / t.SD[t.Scale]
		slope := residual*math.Exp(-2*logScale) - d - z/t.SD[t.Scale]
		logScale += math.Max(-1, math.Min(1, slope/(2*math.Max(d, 1))))
	}
	value, _ := s.logMassAt(members, logScale)
	z := (logScale - t.Mean[t.Scale]) / t.SD[t.Scale]
	return value - s.rows*logScale - s.square/2*math.Exp(-2*logScale) - z*z/2
}

// logMassAt returns, given log σ, the approximate log evidence of a model up to a constant, and the
// residual sum of squares at the mode of the coefficients.
func (s *sketch) logMassAt(members []int, logScale float64) (value, residual float64) {
	k, all := len(members), len(s.linear)
	precision := math.Exp(-2 * logScale)
	h, b := make([]float64, k*k), make([]float64, k)
	for a, i := range members {
		prior := 1 / (s.fit.SD[i] * s.fit.SD[i])
		b[a] = precision*s.linear[i] + prior*s.fit.Mean[i]
		for c, j := range members[:a+1] {
			h[a*k+c] = precision * s.precision[i*all+j]
		}
		h[a*k+a] += prior
		value += 0.5*math.Log(prior) - 0.5*prior*s.fit.Mean[i]*s.fit.Mean[i]
	}
	factor, ok := dense.Factorize(h, k, 0)
	if !ok {
		return math.Inf(-1), s.square
	}
	factor.SolveLower(b)
	value += (floats.Dot(b, b) - factor.LogDet()) / 2
	factor.SolveUpper(b)
	residual = s.square
	for a, i := range members {
		residual -= 2 * b[a] * s.linear[i]
		for c, j := range members {
			residual += b[a] * b[c] * s.precision[i*all+j]
		}
	}
	return value, math.Max(residual, 0)
}

// sketchFloor is the largest gap, in nats, between log p(m) p(y | m) of a model and of the best
// model as training starts. With a larger gap, training would hardly ever draw a model that the
// sketch misjudges. Half and twice this number give the same answers
// (docs/benchmarks/constants.md).
const sketchFloor = 40

// masses returns log p(m) + log p(y | m) of all models m, less the largest of these sums. Models
// that the prior allows get at least −sketchFloor. The lowest bit of an index is the first
// predictor.
func (s *sketch) masses(logPrior []float64) []float64 {
	p := len(logPrior) - 1
	values := make([]float64, 1<<p)
	members := make([]int, 0, p+1)
	for m := range values {
		members = append(members[:0], 0)
		for j := range p {
			if m>>j&1 == 1 {
				members = append(members, 1+j)
			}
		}
		values[m] = logPrior[bits.OnesCount(uint(m))] + s.logMass(members)
		if math.IsNaN(values[m]) {
			values[m] = math.Inf(-1)
		}
	}
	floats.AddConst(-floats.Max(values), values)
	for m, v := range values {
		if !math.IsInf(logPrior[bits.OnesCount(uint(m))], -1) {
			values[m] = math.Max(v, -sketchFloor)
		}
	}
	return values
}

// inclusionOf returns the inclusion probabilities of predictors, given log p(m) p(y | m) of all
// models up to a constant.
func inclusionOf(masses []float64) []float64 {
	p := bits.Len(uint(len(masses))) - 1
	in, total := make([]float64, p), 0.0
	for m, v := range masses {
		weight := math.Exp(v)
		total += weight
		for j := range in {
			if m>>j&1 == 1 {
				in[j] += weight
			}
		}
	}
	floats.Scale(1/total, in)
	return in
}

// deviations returns the standard deviations of the coefficients under the approximation of the
// largest model.
func (s *sketch) deviations() []float64 {
	k := len(s.fit.theta)
	sds := make([]float64, k)
	var factor mat.Cholesky
	var inverse mat.SymDense
	if !factor.Factorize(s.fit.precision) || factor.InverseTo(&inverse) != nil {
		return s.fit.SD
	}
	for a := range sds {
		sds[a] = math.Sqrt(math.Max(inverse.At(a, a), 0))
	}
	return sds
}
