package models

import (
	"math"

	"github.com/transdim/vti/internal/psis"
)

// Evidence is an estimate of log p(y | m), the log evidence of one model, in nats.
type Evidence struct {
	// Log is the log evidence, and SE its standard error, which is 0 for a closed form. Log is −Inf
	// if no draw has weight.
	Log, SE float64
	// KHat is the Pareto shape k̂ of the weights behind Log. It is NaN if Log does not come from
	// weights of this model alone.
	KHat float64
	// Draws is the number of draws behind Log, and ESS their effective number. They are 0 and +Inf
	// for a closed form.
	Draws int
	ESS   float64
	// NonFinite is the number of draws whose log density is not finite; they have weight 0.
	NonFinite int
	// Bound is an upper bound of the log evidence. When the reliability of an answer is judged, a
	// model with unreliable weights counts with the larger of Log and Bound. Bound is −Inf if Log
	// is to be taken as it is, and +Inf if there is no bound, for example if no mode was found.
	Bound float64
}

// Closed returns the evidence of a model in closed form.
func Closed(log float64) Evidence {
	return Evidence{Log: log, KHat: math.NaN(), ESS: math.Inf(1), Bound: log}
}

// closed reports whether e is a closed form. An estimate without weight has a standard error of 0
// too, but its model may have any evidence up to Bound.
func (e Evidence) closed() bool { return e.SE == 0 && e.Draws == 0 && e.Log == e.Bound }

// Smoothed holds importance weights after Pareto smoothing (Vehtari et al. 2024).
type Smoothed = psis.Result

// FromWeights returns the evidence estimated by smoothed importance weights: the log of their mean.
func FromWeights(smoothed Smoothed) Evidence {
	return Evidence{
		Log: smoothed.LogMean, SE: smoothed.LogMeanSE, KHat: smoothed.K, ESS: smoothed.ESS, Draws: smoothed.N + smoothed.NonFinite, NonFinite: smoothed.NonFinite,
		Bound: math.Inf(-1),
	}
}

// Estimated returns an evidence with a standard error, from a number of draws, without k̂. Its ESS
// is 1/se², where se is the relative standard error of the evidence.
func Estimated(log, se float64, draws int) Evidence {
	return Evidence{Log: log, SE: se, KHat: math.NaN(), Draws: draws, ESS: 1 / (se * se), Bound: math.Inf(-1)}
}

// With returns the mean of e and another estimate of the evidence of the same model, weighted by
// their numbers of draws. Neither may be a closed form.
func (e Evidence) With(other Evidence) Evidence {
	draws := e.Draws + other.Draws
	top := math.Max(e.Log, other.Log)
	first := float64(e.Draws) / float64(draws) * math.Exp(e.Log-top)
	second := float64(other.Draws) / float64(draws) * math.Exp(other.Log-top)
	mean := first + second
	return Estimated(top+math.Log(mean), math.Hypot(first/mean*e.SE, second/mean*other.SE), draws)
}

// drawSpread is an assumed standard deviation of the weights of draws around modes, relative to
// their mean. It gives a log evidence from firstDraws draws an error of a tenth of a nat, 0.28/√8.
const drawSpread = 0.28

// statedSE returns SE enlarged for large weights that few draws may not show, as if firstDraws (8)
// more draws had weights with the relative standard deviation drawSpread. With SE alone, one
// estimate in 40 from 8 draws is more than 3 standard errors off. The enlargement falls faster than
// SE with the number of draws. Evidences with a k̂ do not need it.
func (e Evidence) statedSE() float64 {
	if n := float64(e.Draws); n > 0 && math.IsNaN(e.KHat) {
		return math.Hypot(e.SE, drawSpread*math.Sqrt(firstDraws/(n*(n+firstDraws))))
	}
	return e.SE
}

func (e Evidence) unreliable() bool { return e.KHat > psis.Reliable }

func (e Evidence) unbounded() bool { return math.IsInf(e.Bound, 1) && !(e.KHat <= psis.Reliable) }
