package varsel

import (
	"math"
	"math/bits"
)

// normalMixture is Σ weight N(mean, sd²) plus an atom at zero; all weights add to one.
type normalMixture struct {
	atZero     float64
	components []mixtureComponent
}

type mixtureComponent struct{ weight, mean, sd float64 }

// below returns the probability of the components below x, and their density there; the atom is
// not counted.
func (m *normalMixture) below(x float64) (probability, density float64) {
	const normalizer = 1 / (math.Sqrt2 * math.SqrtPi)
	for _, c := range m.components {
		standard := (x - c.mean) / c.sd
		switch { // beyond 9 standard deviations lies less than rounding
		case standard > 9:
			probability += c.weight
		case standard > -9:
			probability += c.weight * 0.5 * math.Erfc(-standard/math.Sqrt2)
			density += c.weight / c.sd * normalizer * math.Exp(-0.5*standard*standard)
		}
	}
	return probability, density
}

// quantile returns the smallest x with P(X ≤ x) ≥ level, by Newton steps inside a shrinking
// bracket.
func (m *normalMixture) quantile(level float64) float64 {
	if len(m.components) == 0 {
		return 0
	}
	target := level // of the components alone
	if m.atZero > 0 {
		negative, _ := m.below(0)
		if negative < level && level <= negative+m.atZero {
			return 0
		}
		if level > negative {
			target -= m.atZero
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	var mean, mass float64
	for _, c := range m.components {
		low, high = min(low, c.mean-9*c.sd), max(high, c.mean+9*c.sd)
		mean += c.weight * c.mean
		mass += c.weight
	}
	x := mean / mass
	tolerance := 1e-13 * (high - low)
	const rounds = 200 // bisection alone needs 44
	for range rounds {
		probability, density := m.below(x)
		if probability < target {
			low = x
		} else {
			high = x
		}
		next := x - (probability-target)/density
		if !(next > low && next < high) {
			next = low + (high-low)/2
		}
		if math.Abs(next-x) <= tolerance {
			return next
		}
		x = next
	}
	return x
}

// given returns the mixture without its atom; mass is the weight of the components.
func (m *normalMixture) given(mass float64) normalMixture {
	out := normalMixture{components: make([]mixtureComponent, len(m.components))}
	for i, c := range m.components {
		out.components[i] = mixtureComponent{c.weight / mass, c.mean, c.sd}
	}
	return out
}

// marginal collects the posterior of one coefficient, less a shift that is zero unless the
// coefficient is in every model.
type marginal struct {
	shift         float64
	mass          float64 // probability that the coefficient is in
	first, second float64 // moments of coefficient times inclusion, over all models
	mixture       normalMixture
}

// coefficients returns the posterior of every coefficient from the sums over all models and the
// best models one by one.
func (s *exactSpace) coefficients(sums *exactSums, best []topEntry) []ExactCoefficient {
	marginals := make([]marginal, s.dim)
	for _, j := range s.always {
		marginals[j].mass = 1
	}
	for g, group := range s.groups {
		for _, j := range group {
			marginals[j].mass = sums.inclusion[g] / sums.total
		}
	}
	for j := range marginals {
		m, scale := &marginals[j], s.outScale[j]
		m.shift = s.outShift[j]
		m.first, m.second = scale*sums.first[j]/sums.total, scale*scale*sums.second[j]/sums.total
		if j == s.level {
			m.shift, m.first, m.second = s.levelShift, sums.levelFirst/sums.total, sums.levelSecond/sums.total
		}
	}
	s.addComponents(marginals, sums, best)
	out := make([]ExactCoefficient, s.dim)
	for j := range marginals {
		out[j] = marginals[j].summary()
	}
	return out
}

// addComponents adds the normal components of the best models.
func (s *exactSpace) addComponents(marginals []marginal, sums *exactSums, best []topEntry) {
	const negligible = 1e-12 // left to the remainder
	w := newWalker(s)
	points := len(s.logSigma)
	for _, entry := range best {
		for rest := entry.mask; rest != 0; rest &= rest - 1 {
			w.push(bits.TrailingZeros32(rest))
		}
		_, sum := w.logEvidence()
		scale := math.Exp(entry.logJoint-sums.ref) / (sum * sums.total)
		f := &w.frames[w.depth]
		for a, j := range w.coordinates {
			m := &marginals[j]
			for t := w.low; t < w.high; t++ {
				c := mixtureComponent{scale * w.weights[t], s.outScale[j] * f.mean[a*points+t], s.outScale[j] * math.Sqrt(f.variance[a*points+t])}
				if j == s.level {
					c.mean, c.sd = f.levelMean[t], math.Sqrt(f.levelVariance[t])
				}
				if c.weight > negligible*m.mass {
					m.mixture.components = append(m.mixture.components, c)
				}
			}
		}
		for w.depth > 0 {
			w.pop()
		}
	}
}

// summary completes the mixture with the models that are not in it, and describes it.
func (m *marginal) summary() ExactCoefficient {
	if m.mass == 0 {
		nan := math.NaN()
		return ExactCoefficient{GivenIn: MarginalSummary{nan, nan, nan, nan}}
	}
	mass, first, second := m.mass, m.first, m.second
	for _, c := range m.mixture.components {
		mass -= c.weight
		first -= c.weight * c.mean
		second -= c.weight * (c.sd*c.sd + c.mean*c.mean)
	}
	const negligible = 1e-9 // below, the differences are mostly rounding
	if mass > negligible*m.mass {
		mean := first / mass
		variance := second/mass - mean*mean
		if !(variance > 0) { // rounding; the spread of all models stands in
			mean = m.first / m.mass
			variance = m.second/m.mass - mean*mean
		}
		m.mixture.components = append(m.mixture.components, mixtureComponent{mass, mean, math.Sqrt(variance)})
	}
	m.mixture.atZero = max(1-m.mass, 0)
	mean := m.first / m.mass
	given := m.mixture.given(m.mass)
	return ExactCoefficient{
		Averaged: MarginalSummary{
			Mean: m.shift + m.first, SD: math.Sqrt(max(m.second-m.first*m.first, 0)),
			Q025: m.shift + m.mixture.quantile(0.025), Q975: m.shift + m.mixture.quantile(0.975),
		},
		GivenIn: MarginalSummary{
			Mean: m.shift + mean, SD: math.Sqrt(max(m.second/m.mass-mean*mean, 0)),
			Q025: m.shift + given.quantile(0.025), Q975: m.shift + given.quantile(0.975),
		},
	}
}
