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

// Limits of the work for an evidence, in pairs of draws: the first pairs, for at least startRows
// rows within two limits, and the most; and of rays.
const (
	startRows   = 1 << 14
	fewestPairs = 32
	mostStart   = 128
	modePairs   = 256
	fewestRays  = 64
	mostRays    = 256
)

// Sufficient accuracy.
const (
	// added to a standard error, since few draws do not know their error: errors of one coefficient
	// have been 2.7 times the stated error, of 0.006
	leastError = 0.004
	// standard error: of ten such families an edge gets 0.01 at most
	enoughError = 0.015
	// share of the evidence that draws may have missed: a family moves an edge by a quarter of it
	// at most. The fewest draws reach it where weights are bounded
	enoughMissed = 0.016
)

// moreDegrees is the excess of the degrees of freedom of the t distribution of draws over the
// number of coefficients. Their tails bound the weights, whose target has the tails of its normal
// prior. Not tuned.
const moreDegrees = 20

// rowsPerDegree is the number of rows that add a degree of freedom: the more rows, the more normal
// the posterior is. Not tuned.
const rowsPerDegree = 12

// logisticProposal draws coefficients from a t distribution about the mode.
type logisticProposal struct {
	proposal.T
	family *logisticFamily
	linear []float64 // of the mode
}

func (f *logisticFamily) proposal(center []float64, precision dense.Factor, degrees int) *logisticProposal {
	return &logisticProposal{proposal.New(center, precision, degrees), f, f.linear(center)}
}

type logisticDraws struct {
	thetas      [][]float64
	logs, pairs []float64 // log weights, and logs of the means of two neighbours
}

// pair draws coefficients, and weighs them and their mirror image at the mode: skewness cancels.
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
	last := len(to.logs)
	to.pairs = append(to.pairs, logsum.Add(to.logs[last-2], to.logs[last-1])-math.Ln2)
}

func mirror(x, center []float64) {
	floats.Scale(-1, x)
	floats.AddScaled(x, 2, center)
}

func (q *logisticProposal) estimateEvidence(random *rand.Rand, most int) (evidence logisticEvidence) {
	draws := &logisticDraws{}
	for count := min(max(startRows/len(q.family.form.levels), fewestPairs), mostStart); ; count *= 2 {
		for len(draws.pairs) < count {
			q.pair(random, draws)
		}
		evidence = newLogisticEvidence(draws.logs, draws.pairs)
		if evidence.enough() || count >= most {
			return evidence
		}
	}
}

// newLogisticEvidence is the mean of weights, by logs of them and of the means of pairs.
func newLogisticEvidence(logs, pairs []float64) (evidence logisticEvidence) {
	evidence.value, evidence.se = psis.LogMeanExp(pairs)
	evidence.se = math.Hypot(evidence.se, leastError)
	evidence.kHat = psis.Smooth(logs).K
	evidence.missed = psis.TailShare(evidence.kHat, len(logs))
	return evidence
}

func (l logisticEvidence) enough() bool { return l.se < enoughError && l.missed < enoughMissed }

// evidence weights draws around the mode, and where they are not enough, because few rows leave the
// posterior far from normal, integrals along rays.
func (f *logisticFamily) evidence(random *rand.Rand) logisticEvidence {
	center, factor, found := f.mode()
	if !found { // overflow
		return logisticEvidence{math.NaN(), weightsError{se: math.NaN(), kHat: math.Inf(1), missed: 1}}
	}
	degrees := len(center) + moreDegrees + len(f.form.levels)/rowsPerDegree
	if evidence := f.proposal(center, factor, degrees).estimateEvidence(random, modePairs); evidence.enough() {
		return evidence
	}
	return f.rays(center, factor).estimateEvidence(random, fewestRays, mostRays)
}
