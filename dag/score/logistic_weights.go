package score

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/proposal"
	"github.com/transdim/vti/internal/psis"
)

// These constants limit the work for one evidence of a category given a set of parents. The number
// of pairs of draws begins with startRows divided by the number of rows, but at least fewestPairs
// and at most mostStart, and is doubled up to modePairs. The number of pairs of rays (half-lines
// from the mode, if draws do not suffice) begins with fewestRays and is doubled up to mostRays.
const (
	startRows   = 1 << 14
	fewestPairs = 32
	mostStart   = 128
	modePairs   = 256
	fewestRays  = 64
	mostRays    = 256
)

// These constants define a sufficiently accurate evidence.
const (
	// leastError is added in quadrature to every standard error of a log evidence, since few draws
	// do not show their error: errors have been 2.7 times a stated error of 0.006.
	leastError = 0.004
	// enoughError is the largest sufficient standard error of a log evidence. If ten sets of
	// parents have this error, the error of the probability of an edge is at most 0.01.
	enoughError = 0.015
	// enoughMissed is the largest accepted share of the evidence that draws may have missed. A
	// share missed for one set of parents changes the probability of an edge by at most a quarter
	// of the share. With bounded weights fewestPairs pairs of draws meet this limit.
	enoughMissed = 0.016
)

// moreDegrees is the excess of the degrees of freedom of the t distribution of draws over the
// number of coefficients. The t distribution has heavier tails than the posterior, which has the
// tails of its normal prior, so that weights are bounded. Half and twice the value give the same
// answers (docs/benchmarks/constants.md).
const moreDegrees = 20

// rowsPerDegree is the number of rows for which the t distribution of draws gets another degree of
// freedom, because the posterior is nearer to normal with more rows. Half and twice the value give
// the same answers (docs/benchmarks/constants.md).
const rowsPerDegree = 12

// logisticProposal draws coefficients from a t distribution around the posterior mode.
type logisticProposal struct {
	proposal.T
	family *logisticFamily
	linear []float64 // linear predictors at the mode
}

func (f *logisticFamily) proposal(center []float64, precision dense.Factor, degrees int) *logisticProposal {
	return &logisticProposal{proposal.New(center, precision, degrees), f, f.linear(center)}
}

type logisticDraws struct {
	thetas      [][]float64
	logs, pairs []float64 // log weights of draws, and logs of the mean weights of pairs
}

// pair draws coefficients, and appends them and their mirror image at the mode, with their
// importance weights, to the argument named to. In the mean of a pair the skewness of the posterior
// cancels.
func (q *logisticProposal) pair(random *rand.Rand, to *logisticDraws) {
	theta := make([]float64, len(q.Mode()))
	logQ := q.Draw(random, theta)
	linear := q.family.linear(theta)
	for range 2 {
		to.thetas = append(to.thetas, slices.Clone(theta))
		to.logs = append(to.logs, q.family.logLikelihood(linear)+q.family.logPrior(theta)-logQ)
		mirror(theta, q.Mode())
		mirror(linear, q.linear)
	}
	to.addPair()
}

// addPair stores the mean of the two weights drawn last.
func (d *logisticDraws) addPair() {
	last := len(d.logs)
	d.pairs = append(d.pairs, logsum.Add(d.logs[last-2], d.logs[last-1])-math.Ln2)
}

func mirror(x, center []float64) {
	floats.Scale(-1, x)
	floats.AddScaled(x, 2, center)
}

// estimateEvidence makes pairs of weights by calling pair. Their number begins with the argument
// least and is doubled until the estimate is accurate enough or the number reaches the argument
// named most.
func estimateEvidence(random *rand.Rand, pair func(*rand.Rand, *logisticDraws), least, most int) (evidence logisticEvidence) {
	draws := &logisticDraws{}
	for count := least; ; count *= 2 {
		for len(draws.pairs) < count {
			pair(random, draws)
		}
		evidence.value, evidence.se = psis.LogMeanExp(draws.pairs)
		evidence.se = math.Hypot(evidence.se, leastError)
		evidence.kHat = psis.Smooth(draws.logs).K
		evidence.missed = psis.TailShare(evidence.kHat, len(draws.logs))
		if evidence.enough() || count >= most {
			return evidence
		}
	}
}

func (l logisticEvidence) enough() bool { return l.se < enoughError && l.missed < enoughMissed }

// evidence returns the mean importance weight of draws around the mode. If these draws do not
// suffice, because with few rows the posterior is far from normal, it returns the mean of integrals
// along rays (logisticRays).
func (f *logisticFamily) evidence(random *rand.Rand) logisticEvidence {
	center, factor, found := f.mode()
	if !found { // values overflow
		return logisticEvidence{math.NaN(), weightsError{se: math.NaN(), kHat: math.Inf(1), missed: 1}}
	}
	degrees := len(center) + moreDegrees + len(f.form.levels)/rowsPerDegree
	start := min(max(startRows/len(f.form.levels), fewestPairs), mostStart)
	if evidence := estimateEvidence(random, f.proposal(center, factor, degrees).pair, start, modePairs); evidence.enough() {
		return evidence
	}
	return estimateEvidence(random, f.rays(center, factor).pair, fewestRays, mostRays)
}
