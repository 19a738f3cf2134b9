// Package psis smooths importance weights and judges them.
//
// The error of an estimate of the form mean(w f) depends on the right tail of the weights w. Pareto
// smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024) fits a generalised
// Pareto distribution to the largest weights, replaces them by its quantiles, and reports the
// fitted shape k̂. The weights have about 1/k̂ finite moments. If k̂ is above 0.7, no practical
// number of draws makes the estimate reliable.
//
//	| here       | paper | meaning                                               |
//	| logWeights | log r | log importance ratios, any additive constant, natural |
//	| K          | k̂     | shape of the fitted tail                              |
//	| ESS        | S_eff | 1 / Σ w̃², w̃ normalised smoothed weights               |
//
// A weight of zero (log weight −Inf) belongs to a valid draw, where the target density is zero. NaN
// and +Inf are not weights: they are left out and counted in NonFinite, and the caller decides how
// many are too many.
//
//	r := psis.Smooth(logWeights)
//	if r.NonFinite > 0 || r.K > psis.Reliable {
//		// not reliable
//	}
//	logZ, se := r.LogMean, r.LogMeanSE
package psis
