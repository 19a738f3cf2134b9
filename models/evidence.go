package models

import (
	"math"

	"github.com/transdim/vti/internal/psis"
)

// Evidence is what is known of log p(y | m), the log evidence of one model, in nats.
type Evidence struct {
	// Log is the log evidence and SE its standard error; 0 for a closed form. Log is −Inf where no
	// draw has weight.
	Log, SE float64
	// KHat is the Pareto shape of the weights behind Log; NaN where it does not come from weights
	// of its own.
	KHat float64
	// Draws is the number of draws behind Log, and ESS their effective number: 0 and +Inf for a
	// closed form.
	Draws int
	ESS   float64
	// NonFinite counts the draws whose log density is not finite; they have no weight.
	NonFinite int
	// Bound is an upper bound of the log evidence. A model whose weights are not reliable counts by
	// it when their reliability is judged. −Inf: Log alone counts. +Inf: nothing bounds it, as
	// where no mode is found.
	Bound float64
}

// Closed is the evidence of a model in closed form.
func Closed(log float64) Evidence {
	return Evidence{Log: log, KHat: math.NaN(), ESS: math.Inf(1), Bound: log}
}

// Smoothed are importance weights after Pareto smoothing (Vehtari et al. 2024).
type Smoothed = psis.Result

// FromWeights is the evidence that smoothed importance weights estimate: the logarithm of their
// mean.
func FromWeights(smoothed Smoothed) Evidence {
	return Evidence{
		Log: smoothed.LogMean, SE: smoothed.LogMeanSE, KHat: smoothed.K, ESS: smoothed.ESS, Draws: smoothed.N + smoothed.NonFinite, NonFinite: smoothed.NonFinite,
		Bound: math.Inf(-1),
	}
}

// Estimated is an evidence with a standard error, from so many draws, that k̂ does not judge. Its
// effective draws are as many as would give the error if they were independent.
func Estimated(log, se float64, draws int) Evidence {
	return Evidence{Log: log, SE: se, KHat: math.NaN(), Draws: draws, ESS: 1 / (se * se), Bound: math.Inf(-1)}
}

// With is the mean of two estimates of one evidence from weights, by the number of their draws. A
// closed form is not to be averaged.
func (e Evidence) With(other Evidence) Evidence {
	draws := e.Draws + other.Draws
	top := math.Max(e.Log, other.Log)
	own := float64(e.Draws) / float64(draws) * math.Exp(e.Log-top)
	others := float64(other.Draws) / float64(draws) * math.Exp(other.Log-top)
	mean := own + others
	return Estimated(top+math.Log(mean), math.Hypot(own/mean*e.SE, others/mean*other.SE), draws)
}

// unreliable reports whether importance weights do not resolve the evidence.
func (e Evidence) unreliable() bool { return e.KHat > psis.Reliable }

// unbounded reports whether nothing bounds an evidence that is not resolved.
func (e Evidence) unbounded() bool { return math.IsInf(e.Bound, 1) && !(e.KHat <= psis.Reliable) }
