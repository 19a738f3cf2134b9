package mixture

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/enum"
)

// Family is how the rows of a component are distributed.
type Family int

// The families.
const (
	// Normal distributions of one column; of several it stands for Multivariate.
	Normal Family = iota
	// Student distributions with known degrees of freedom.
	Student
	// Poisson distributions of counts.
	Poisson
	// Multivariate normal distributions of several columns.
	Multivariate
)

var families = enum.New[Family]("family", "normal", "student", "poisson", "multivariate")

// FamilyNames lists the names of the families.
func FamilyNames() []string { return families.List() }

// String returns the name of the family.
func (f Family) String() string { return families.String(f) }

// MarshalText writes the name.
func (f Family) MarshalText() ([]byte, error) { return families.Marshal(f) }

// UnmarshalText reads what MarshalText wrote.
func (f *Family) UnmarshalText(text []byte) error { return families.Unmarshal(text, f) }

// family is the distribution of the rows of a component, and the prior of its parameters.
type family interface {
	splitting
	// logHyper is the log prior density of β, and logPrior that of a component given β.
	logHyper(beta []float64) float64
	logPrior(c component, beta []float64) float64
	// draw draws a component from its prior.
	draw(beta []float64, random *rand.Rand) component
	// update draws the parameters of a component by steps that keep their distribution given its
	// rows, which may be none.
	update(c component, rows []int, beta []float64, random *rand.Rand) component
	// updateHyper draws β given all components.
	updateHyper(components []component, random *rand.Rand) []float64
	// start is a component for rows, and β to start with.
	start(rows []int) component
	startHyper() []float64

	// fill writes the density of a component at every row, times its weight.
	fill(density []float64, c component)
	// logDensity is the log density of a component at a row, without its weight.
	logDensity(row int, c component) float64
	// marginal is the density of a component in a column, and its distribution function.
	marginal(column int, y float64, c component) (density, cumulative float64)
	// simulate draws a row.
	simulate(c component, row []float64, random *rand.Rand)
	// summary are the numbers that describe a component in a column, in the units of the table.
	summary(column int, c component) (location, scale float64)
}

// splitting divides a component into two and joins two, one to one, with numbers u. The first of u
// is the share of the left component in the weight; the mean of the left is smaller, of several
// columns that of the first.
type splitting interface {
	split(one component, u []float64) (left, right component)
	merge(left, right component) (one component, u []float64)
	// logJacobian is the log absolute determinant of the derivative of (left, right) with respect
	// to (one, u), weights included.
	logJacobian(one, left, right component, u []float64) float64
	proposal() proposal
}

// proposal is the distribution of the numbers of a split.
type proposal interface {
	draw(random *rand.Rand) []float64
	// log is the log density, −Inf for numbers that are never drawn: rounding can make such.
	log(u []float64) float64
}

// unitNumbers are three in (0, 1): Beta(2, 2), Beta(2, 2) and uniform, of which a family may not
// use the last.
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

// neighbours reports whether only components that are neighbours by their means merge. Of several
// columns any two do: the first column says little of how near they are.
func (p *Problem) neighbours() bool { return p.Options.Family != Multivariate }

// pair draws two of several components, or clusters, with means; without neighbours.
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

// logPrior is log p(k, weights, components, β), in the coordinates of the state, the Dirichlet
// with respect to all weights but the last.
func (p *Problem) logPrior(s *state) float64 {
	k, d := float64(s.size()), p.Options.Concentration
	total := -math.Log(float64(p.Options.MaxComponents)) + logGamma(k+1) + logGamma(k*d) - k*logGamma(d) + p.family.logHyper(s.beta)
	for _, c := range s.components {
		total += (d-1)*math.Log(c.weight) + p.family.logPrior(c, s.beta)
	}
	return total
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
