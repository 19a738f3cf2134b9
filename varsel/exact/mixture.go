package exact

import "math"

// mixture is a mixture of normal distributions and a point mass at zero. Its weights sum to one.
type mixture struct {
	atZero     float64
	components []component
}

type component struct{ weight, mean, sd float64 }

// below returns the probability that the normal components give to values below x, and their
// density at x. The point mass at zero is left out.
func (m *mixture) below(x float64) (probability, density float64) {
	const normalizer = 1 / (math.Sqrt2 * math.SqrtPi)
	for _, c := range m.components {
		standard := (x - c.mean) / c.sd
		switch { // tails beyond 9 standard deviations are smaller than rounding errors
		case standard > 9:
			probability += c.weight
		case standard > -9:
			probability += c.weight * 0.5 * math.Erfc(-standard/math.Sqrt2)
			density += c.weight / c.sd * normalizer * math.Exp(-0.5*standard*standard)
		}
	}
	return probability, density
}

// quantile returns the smallest x with P(X ≤ x) ≥ level, by Newton steps in a bracket.
func (m *mixture) quantile(level float64) float64 {
	if len(m.components) == 0 {
		return 0
	}
	target := level // the level without the point mass
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
	const rounds = 200 // bisection without Newton steps needs 44
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

// scaled returns the components of m, with all weights divided by the argument mass.
func (m *mixture) scaled(mass float64) *mixture {
	out := &mixture{components: make([]component, len(m.components))}
	for i, c := range m.components {
		out.components[i] = component{c.weight / mass, c.mean, c.sd}
	}
	return out
}

// moments holds running moments: a total weight, a mean, and a weighted sum of squares about the
// mean, which loses no digits by cancellation.
type moments struct{ mass, mean, squares float64 }

func (m *moments) add(weight, mean, variance float64) {
	m.merge(moments{weight, mean, weight * variance})
}

func (m *moments) merge(other moments) {
	if other.mass == 0 {
		return
	}
	total := m.mass + other.mass
	apart := other.mean - m.mean
	m.squares += other.squares + apart*apart*m.mass*(other.mass/total)
	m.mean += apart * (other.mass / total)
	m.mass = total
}

func (m *moments) sd() float64 { return math.Sqrt(m.squares / m.mass) }

// marginal is the posterior of one quantity given that it is in the model. The field all holds its
// moments. For quantiles, components holds the posteriors in the most probable models, and rest the
// moments over all other models, which count as one normal distribution.
type marginal struct {
	all, rest  moments
	components []component
}

// merge adds the posterior of the same quantity over other models.
func (m *marginal) merge(other *marginal) {
	m.all.merge(other.all)
	m.rest.merge(other.rest)
	m.components = append(m.components, other.components...)
}

// Summary describes a posterior distribution of one coefficient by its mean, its standard deviation
// and its quantiles at 2.5% and 97.5%.
type Summary struct{ Mean, SD, Q025, Q975 float64 }

// Coefficient is the posterior of one coefficient. Averaged is over all models; the coefficient is
// zero in models without it. GivenIn is the posterior given that the coefficient is in the model,
// NaN if it never is.
type Coefficient struct{ Averaged, GivenIn Summary }

// negligible is a share of the total weight. Components with smaller weights do not count for
// quantiles.
const negligible = 1e-12

// summary returns the posterior of the quantity, with shift added to it. The probabilities of all
// models must sum to one.
func (m *marginal) summary(shift float64) Coefficient {
	mass := m.all.mass
	if mass == 0 {
		nan := math.NaN()
		return Coefficient{GivenIn: Summary{nan, nan, nan, nan}}
	}
	whole := &mixture{}
	for _, c := range append(m.components, component{m.rest.mass, m.rest.mean, m.rest.sd()}) {
		if c.weight > negligible*mass {
			whole.components = append(whole.components, c)
		}
	}
	mean, sd, included := m.all.mean, m.all.sd(), whole.scaled(mass)
	in := Summary{shift + mean, sd, shift + included.quantile(0.025), shift + included.quantile(0.975)}
	const rounding = 1e-12 // rounding error of the sum of the probabilities of all models
	if mass > 1-rounding {
		return Coefficient{in, in}
	}
	whole.atZero = 1 - mass
	return Coefficient{Summary{
		shift + mass*mean, math.Sqrt(mass*sd*sd + mass*(1-mass)*mean*mean),
		shift + whole.quantile(0.025), shift + whole.quantile(0.975),
	}, in}
}
