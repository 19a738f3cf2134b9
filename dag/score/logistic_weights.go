package score

import (
	"cmp"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
)

// Limits of the work for an evidence, in pairs of draws: those to start with, so many that they
// pass startRows rows but between two limits, the most around the mode, those that show the moments
// of the posterior, and the most around its mean.
const (
	startRows    = 1 << 14
	fewestPairs  = 32
	mostStart    = 128
	modePairs    = 256
	momentsPairs = 512
	mostPairs    = 2048
	fewestRays   = 64
	mostRays     = 256
)

// What is enough.
const (
	// what is added to a standard error, since few draws do not know their own: those of one
	// coefficient have had errors 2.7 times as large as stated, of 0.006
	leastError = 0.004
	// standard error: of ten such families an edge gets 0.01 at most
	enoughError = 0.015
	// share of the evidence that draws may have missed: a family moves an edge by a quarter of
	// it at most. The fewest draws earn it where weights are bounded
	enoughMissed = 0.016
)

// moreDegrees is by how many degrees of freedom of the t distribution of draws exceed the number of
// coefficients. Their tails bound the weights, whose target has those of its normal prior. Chosen
// by hand.
const moreDegrees = 20

// rowsPerDegree is how many rows add a degree of freedom: the more rows, the more normal the
// posterior is. Chosen by hand.
const rowsPerDegree = 12

// logisticProposal draws coefficients from equal parts of t distributions that differ in width.
type logisticProposal struct {
	family  *logisticFamily
	center  []float64
	linear  []float64     // of the center
	upper   *mat.TriDense // U of the precision UᵀU of the width 1
	logHalf float64       // half of the log determinant of the precision
	degrees float64
	widths  []float64
}

func (f *logisticFamily) proposal(center []float64, precision *mat.Cholesky, widths ...float64) *logisticProposal {
	q := &logisticProposal{
		family: f, center: center, linear: f.linear(center), upper: &mat.TriDense{}, logHalf: precision.LogDet() / 2, widths: widths,
		degrees: float64(len(center)) + moreDegrees + float64(len(f.form.levels)/rowsPerDegree),
	}
	precision.UTo(q.upper)
	return q
}

// logisticDraws are weighted draws.
type logisticDraws struct {
	thetas      [][]float64
	logs, pairs []float64 // log weights, and those of the means of two neighbours
}

// pair draws a step from the center, and weighs it in both directions: what is skew cancels.
func (q *logisticProposal) pair(random *rand.Rand, to *logisticDraws) {
	dim := float64(len(q.center))
	step := make([]float64, len(q.center))
	squares := 0.0
	scale := q.widths[len(to.pairs)%len(q.widths)] * math.Sqrt(q.degrees/chiSquared(random, q.degrees))
	for k := range step {
		step[k] = scale * random.NormFloat64()
		squares += Square(step[k])
	}
	var offset mat.VecDense
	// the factor is that of a positive definite matrix
	_ = offset.SolveVec(q.upper, mat.NewVecDense(len(step), step))
	above, _ := math.Lgamma((q.degrees + dim) / 2)
	below, _ := math.Lgamma(q.degrees / 2)
	parts := make([]float64, len(q.widths))
	for k, width := range q.widths {
		parts[k] = above - below - dim/2*math.Log(q.degrees*math.Pi*width*width) + q.logHalf -
			(q.degrees+dim)/2*math.Log1p(squares/(q.degrees*width*width))
	}
	logQ := logsum.Of(parts) - math.Log(float64(len(parts)))
	shift := q.family.linear(offset.RawVector().Data)
	for _, sign := range []float64{1, -1} {
		theta, linear := append([]float64(nil), q.center...), append([]float64(nil), q.linear...)
		floats.AddScaled(theta, sign, offset.RawVector().Data)
		floats.AddScaled(linear, sign, shift)
		to.thetas = append(to.thetas, theta)
		to.logs = append(to.logs, q.family.logLikelihood(linear)+q.family.logPrior(theta)-logQ)
	}
	last := len(to.logs)
	to.pairs = append(to.pairs, logsum.Add(to.logs[last-2], to.logs[last-1])-math.Ln2)
}

// weigh draws until it is enough, or most pairs.
func (q *logisticProposal) weigh(random *rand.Rand, most int) (own logisticEvidence) {
	draws := &logisticDraws{}
	for count := min(max(startRows/len(q.family.form.levels), fewestPairs), mostStart); ; count *= 2 {
		for len(draws.pairs) < count {
			q.pair(random, draws)
		}
		own = newLogisticEvidence(draws.logs, draws.pairs)
		if own.enough() || count >= most {
			return own
		}
	}
}

// newLogisticEvidence is the mean of weights, by logs of them and of the means of pairs.
func newLogisticEvidence(logs, pairs []float64) (own logisticEvidence) {
	own.value, own.se = psis.LogMeanExp(pairs)
	own.se = math.Hypot(own.se, leastError)
	own.kHat = psis.Smooth(logs).K
	own.missed = psis.TailShare(own.kHat, len(logs))
	return own
}

// enough reports whether more draws would not change the answer.
func (l logisticEvidence) enough() bool { return l.se < enoughError && l.missed < enoughMissed }

// evidence weights draws around the mode, and where they are not enough, because few rows leave the
// posterior far from normal, draws around its mean that have its covariance.
func (f *logisticFamily) evidence(random *rand.Rand) logisticEvidence {
	mode, factor := f.mode()
	if factor == nil { // overflow
		return logisticEvidence{math.NaN(), weightsError{se: math.NaN(), kHat: math.Inf(1), missed: 1}}
	}
	own := f.proposal(mode, factor, 1).weigh(random, modePairs)
	if own.enough() {
		return own
	}
	own = f.rays(mode, factor).weigh(random, fewestRays, mostRays)
	if own.enough() {
		return own
	}
	if around := f.aroundMean(mode, factor, random); around != nil {
		if other := around.weigh(random, mostPairs); other.missed < own.missed {
			own = other
		}
	}
	return own
}

// aroundMean is the proposal around the mean of the posterior, or nil.
func (f *logisticFamily) aroundMean(mode []float64, factor *mat.Cholesky, random *rand.Rand) *logisticProposal {
	wide, draws := f.proposal(mode, factor, momentsWidths...), &logisticDraws{}
	for range momentsPairs {
		wide.pair(random, draws)
	}
	mean, precision := draws.moments(factor)
	if precision == nil {
		return nil
	}
	return f.proposal(mean, precision, meanWidths...)
}

// posteriorProposal is the proposal that the evidence takes; nil where there is none.
func (f *logisticFamily) posteriorProposal(random *rand.Rand) *logisticProposal {
	mode, factor := f.mode()
	if factor == nil {
		return nil
	}
	narrow := f.proposal(mode, factor, 1)
	if narrow.weigh(random, modePairs).enough() {
		return narrow
	}
	return cmp.Or(f.aroundMean(mode, factor, random), narrow)
}

// Widths of draws for moments and around the mean, in standard deviations. What is wider bounds the
// weights where the posterior is skew. Chosen by hand on tables of 10 to 400 rows.
var (
	momentsWidths = []float64{1, 1.5}
	meanWidths    = []float64{1, 1, 1, 1.5}
)

// modeDraws is how many effective draws of each coefficient the covariance at the mode counts for
// beside that of draws. Chosen by hand.
const modeDraws = 2

// moments are the mean and the factor of the precision of weighted draws, nil where the latter has
// none. The covariance is drawn towards that at the mode, since few draws do not know it.
func (d *logisticDraws) moments(atMode *mat.Cholesky) (mean []float64, precision *mat.Cholesky) {
	smoothed := psis.Smooth(d.logs)
	dim := len(d.thetas[0])
	mean = make([]float64, dim)
	weights := logsum.Shares(smoothed.LogWeights)
	for k, weight := range weights {
		floats.AddScaled(mean, weight, d.thetas[k])
	}
	var covariance mat.SymDense
	if err := atMode.InverseTo(&covariance); err != nil {
		return nil, nil
	}
	prior := modeDraws * float64(dim)
	total := smoothed.ESS + prior
	covariance.ScaleSym(prior/total, &covariance)
	difference := mat.NewVecDense(dim, nil)
	for k, theta := range d.thetas {
		floats.SubTo(difference.RawVector().Data, theta, mean)
		covariance.SymRankOne(&covariance, weights[k]*smoothed.ESS/total, difference)
	}
	var inverse mat.SymDense
	var factor mat.Cholesky
	precision = &mat.Cholesky{}
	if !factor.Factorize(&covariance) || factor.InverseTo(&inverse) != nil || !precision.Factorize(&inverse) {
		return nil, nil
	}
	return mean, precision
}
