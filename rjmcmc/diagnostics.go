package rjmcmc

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/rank"
)

// Summary is the posterior of one quantity, with its convergence diagnostics.
type Summary struct {
	Mean, SD float64
	// MCSE is the Monte Carlo standard error of Mean, SD/√ESS of the mean. For an indicator it has
	// a lower bound: the error for n effective draws as if each outcome had been seen once more. An
	// indicator that never changed has unknown autocorrelation, and gets √(p(1−p)/C) with p =
	// ½/(C+1), as if each of the C chains were one draw. Any other quantity that never changed gets
	// 0.
	MCSE float64
	// RHat is the rank-normalised split R-hat, the larger of its bulk and folded forms (Vehtari,
	// Gelman, Simpson, Carpenter and Bürkner 2021). Values above 1.01 mean that the chains have not
	// mixed. RHat is NaN when the quantity never changed or a chain has fewer than four draws, +Inf
	// when every half-chain is constant but they differ.
	RHat float64
	// ESS is the bulk effective number of draws over all chains; NaN where RHat is NaN.
	ESS float64
}

// fewestDraws is the least number of draws of a chain for which chains are compared.
const fewestDraws = 4

// Summarise describes a quantity from draws of equally long chains, [chains][draws].
func Summarise(chains [][]float64) Summary {
	var s Summary
	s.Mean, s.SD = stat.MeanStdDev(slices.Concat(chains...), nil)
	if constant(chains) {
		s.SD, s.RHat, s.ESS = 0, math.NaN(), math.NaN()
		return s
	}
	if len(chains[0]) < fewestDraws {
		s.MCSE, s.RHat, s.ESS = math.NaN(), math.NaN(), math.NaN()
		return s
	}
	halves := split(chains)
	s.RHat = rHat(halves)
	ranked := rankNormalise(halves)
	s.ESS = effectiveSize(ranked)
	s.MCSE = s.SD / math.Sqrt(effectiveSize(halves))
	return s
}

// split halves every chain, dropping the middle draw of an odd number.
func split(chains [][]float64) [][]float64 {
	halves := make([][]float64, 0, 2*len(chains))
	for _, chain := range chains {
		half := len(chain) / 2
		halves = append(halves, chain[:half], chain[len(chain)-half:])
	}
	return halves
}

// rHat is the larger of the bulk and folded R-hat: of values, and of distances from the median.
func rHat(chains [][]float64) float64 {
	all := slices.Concat(chains...)
	slices.Sort(all)
	median := (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	folded := make([][]float64, len(chains))
	for c, chain := range chains {
		folded[c] = make([]float64, len(chain))
		for i, v := range chain {
			folded[c][i] = math.Abs(v - median)
		}
	}
	bulk := plainRHat(rankNormalise(chains))
	if constant(folded) { // for an indicator with median ½ folding has no information
		return bulk
	}
	return max(bulk, plainRHat(rankNormalise(folded)))
}

// plainRHat is √(var⁺/W) with var⁺ = (n−1)/n W + B/n: W the mean variance within chains, B/n the
// variance of their means.
func plainRHat(chains [][]float64) float64 {
	n := float64(len(chains[0]))
	if n < 2 {
		return math.NaN()
	}
	within, between := variances(chains)
	if within == 0 {
		return math.Inf(1)
	}
	return math.Sqrt((n-1)/n + between/within)
}

// variances are unbiased: within is the mean over chains, between the variance of chain means.
func variances(chains [][]float64) (within, between float64) {
	means := make([]float64, len(chains))
	for c, chain := range chains {
		var variance float64
		means[c], variance = stat.MeanVariance(chain, nil)
		within += variance / float64(len(chains))
	}
	return within, stat.Variance(means, nil)
}

// effectiveSize is the number of independent draws whose mean is as precise as the mean of the
// chains: N / τ with τ = 1 + 2 Σ ρ_t. The autocorrelations ρ_t are combined over chains and summed
// over Geyer's initial monotone sequence of pairs (Vehtari et al. 2021, section 3). It is at most N
// log10 N.
func effectiveSize(chains [][]float64) float64 {
	n, total := len(chains[0]), float64(len(chains)*len(chains[0]))
	if n < 2 {
		return math.NaN()
	}
	within, between := variances(chains)
	pooled := within*float64(n-1)/float64(n) + between // var⁺
	centred := make([][]float64, len(chains))
	for c, chain := range chains {
		m := stat.Mean(chain, nil)
		centred[c] = make([]float64, n)
		for i, v := range chain {
			centred[c][i] = v - m
		}
	}
	rho := func(lag int) float64 {
		var sum float64
		for _, x := range centred {
			for i, v := range x[lag:] {
				sum += v * x[i]
			}
		}
		return 1 - (within-sum/total)/pooled
	}
	// Pairs ρ_2k + ρ_2k+1 of a reversible chain are positive and decreasing: stop at the first
	// negative pair, and cap rises.
	tau, previous := -1.0, math.Inf(1)
	for lag := 0; lag+1 < n; lag += 2 {
		even := 1.0
		if lag > 0 {
			even = rho(lag)
		}
		pair := even + rho(lag+1)
		if pair <= 0 {
			tau += max(0, even) // the last even term lowers the variance of antithetic chains
			break
		}
		previous = min(previous, pair)
		tau += 2 * previous
	}
	return total / max(tau, 1/math.Log10(total))
}

// rankNormalise replaces values by the normal quantiles of their ranks over all chains; ties share
// their average rank. Up to two distinct values stay as they are, because the map would be affine
// and would change no result.
func rankNormalise(chains [][]float64) [][]float64 {
	if atMostTwoValues(chains) {
		return chains
	}
	n, flat := len(chains[0]), rank.Mid(slices.Concat(chains...))
	for i, r := range flat {
		flat[i] = math.Sqrt2 * math.Erfinv(2*(r-0.375)/(float64(len(flat))+0.25)-1)
	}
	out := make([][]float64, len(chains))
	for c := range out {
		out[c] = flat[c*n : (c+1)*n]
	}
	return out
}

func constant(chains [][]float64) bool {
	for _, chain := range chains {
		for _, v := range chain {
			if v != chains[0][0] {
				return false
			}
		}
	}
	return true
}

func atMostTwoValues(chains [][]float64) bool {
	first := chains[0][0]
	second := first
	for _, chain := range chains {
		for _, v := range chain {
			switch {
			case v == first || v == second:
			case second == first:
				second = v
			default:
				return false
			}
		}
	}
	return true
}

// fallsAs is the least power of the length n at which R-hat − 1 counts as falling. For chains that
// mix, R-hat falls as 1 + a/n; for chains that do not move between modes, it stays constant.
const fallsAs = 0.7

// LengthUntil returns the length at which R-hat is expected to have fallen to wanted, from its
// values at length n and at an earlier length: +Inf where it does not fall.
func LengthUntil(wanted, n, rHat, earlier, earlierRHat float64) float64 {
	power := math.Log((earlierRHat-1)/(rHat-1)) / math.Log(n/earlier)
	if !(power >= fallsAs) {
		return math.Inf(1)
	}
	return n * math.Pow((rHat-1)/(wanted-1), 1/math.Min(power, 1))
}
