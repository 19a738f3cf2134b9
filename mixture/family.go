package mixture

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/logsum"
)

// Family is the distribution of the rows of a component.
type Family int

// The families.
const (
	// Normal is the normal distribution of one column. With several columns it stands for
	// Multivariate.
	Normal Family = iota
	// Student is the t distribution with known degrees of freedom.
	Student
	// Poisson is the Poisson distribution of counts.
	Poisson
	// Multivariate is the normal distribution of several columns.
	Multivariate
)

var families = enum.New[Family]("family", "normal", "student", "poisson", "multivariate")

// FamilyNames lists the names of the families.
func FamilyNames() []string { return families.List() }

// String returns the name of the family.
func (f Family) String() string { return families.String(f) }

// MarshalText returns the name of the family.
func (f Family) MarshalText() ([]byte, error) { return families.Marshal(f) }

// UnmarshalText reads the output of MarshalText.
func (f *Family) UnmarshalText(text []byte) error { return families.Unmarshal(text, f) }

// family is the distribution of the rows of a component, and the prior of its parameters.
type family interface {
	// logHyper returns the log density of the prior of β, which are parameters of the prior of
	// components. logPrior returns the log prior density of a component given β.
	logHyper(beta []float64) float64
	logPrior(c component, beta []float64) float64
	// draw draws a component from its prior.
	draw(beta []float64, random *rand.Rand) component
	// update draws new parameters of a component by steps that keep their distribution given its
	// rows. rows may be empty.
	update(c component, rows []int, beta []float64, random *rand.Rand) component
	// updateHyper draws β given all components.
	updateHyper(components []component, random *rand.Rand) []float64
	// start returns a component fitted to rows, and startHyper a β, from which samplers start.
	start(rows []int) component
	startHyper() []float64

	// fill writes the weight times the density of a component at every row.
	fill(density []float64, c component)
	// logDensity returns the log density of a component at a row, without its weight.
	logDensity(row int, c component) float64
	// marginal returns the density and the distribution function at y of a component in one column.
	marginal(column int, y float64, c component) (density, cumulative float64)
	// simulate writes a row drawn from a component.
	simulate(c component, row []float64, random *rand.Rand)
	// summary returns the location and scale of a component in one column, in the units of the
	// table.
	summary(column int, c component) (location, scale float64)

	// split divides a component into two, and merge merges two into one. They are inverse to each
	// other, a one-to-one map between one component with numbers u and a pair of components. The
	// left component of the pair has the smaller mean (with several columns, in the first column),
	// and u[0] is its share of the weight.
	split(one component, u []float64) (left, right component)
	merge(left, right component) (one component, u []float64)
	// logJacobian is the log absolute determinant of the derivative of (left, right) with respect
	// to (one, u), weights included.
	logJacobian(one, left, right component, u []float64) float64
	// proposal returns the distribution of u.
	proposal() proposal
}

// proposal is the distribution of the numbers u of a split.
type proposal interface {
	draw(random *rand.Rand) []float64
	// log returns the log density. It is −Inf for numbers that only rounding errors produce.
	log(u []float64) float64
}

// unitNumbers draws the three numbers u from Beta(2, 2), Beta(2, 2) and a uniform distribution.
// Families without a variance ignore the third number.
type unitNumbers struct{}

func (unitNumbers) draw(random *rand.Rand) []float64 {
	return []float64{beta(2, 2, random), beta(2, 2, random), random.Float64()}
}

func (unitNumbers) log(u []float64) float64 {
	for _, x := range u {
		if !(x > 0 && x < 1) {
			return math.Inf(-1)
		}
	}
	return logBeta2(u[0]) + logBeta2(u[1])
}

// neighbours reports whether only components with neighbouring means merge. With several columns
// any two components merge, because components that are close in the first column may be far apart
// in others.
func (p *Problem) neighbours() bool { return p.Options.Family != Multivariate }

// pair draws two components or clusters out of the given count, and returns them in the order of
// their means.
func pair(count int, mean func(j int) float64, random *rand.Rand) (left, right int) {
	left, right = random.IntN(count), random.IntN(count-1)
	if right >= left {
		right++
	}
	if mean(right) < mean(left) {
		left, right = right, left
	}
	return left, right
}

// logPrior returns log p(k, weights, components, β), as a density with respect to the parameters in
// the state. The Dirichlet density is with respect to all weights but the last.
func (p *Problem) logPrior(s *state) float64 {
	k, d := float64(s.size()), p.Options.Concentration
	total := -math.Log(float64(p.Options.MaxComponents)) + logsum.Gamma(k+1) + logsum.Gamma(k*d) - k*logsum.Gamma(d) + p.family.logHyper(s.beta)
	for _, c := range s.components {
		total += (d-1)*math.Log(c.weight) + p.family.logPrior(c, s.beta)
	}
	return total
}
