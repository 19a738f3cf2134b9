package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/likelihood"
)

// monotonic is the effect of an ordered predictor with D steps (Bürkner and Charpentier 2020),
//
//	b D Σ_{k ≤ x} ζ_k,   ζ ~ Dirichlet(1, …, 1),
//
// in which b is the average change a step. Given ζ it is b times one column, a fixed combination of
// the D columns of the design that say whether x lies above a step. So b is an effect like others,
// whose coefficients of these columns are b D ζ_k, and ζ are hyperparameters: the shares that
// standard normals break off a stick, as those of ordered categories.
type monotonic struct {
	// first is the first of its columns, and steps their number D.
	first, steps int
	// stick is the first of the D − 1 coordinates of ζ.
	stick int
}

// text names a column of a design: with the step, which tells those of a monotonic effect apart.
func (c Column) text() string {
	if c.Step == "" {
		return c.Name
	}
	return c.Name + ": " + c.Step
}

// laterStep reports whether a column of the population has no effect of its own: it is of a
// monotonic effect, whose coefficient stands at its first column.
func (f *Frame) laterStep(j int) bool {
	return f.Columns[j].Step != "" && j > 0 && f.Columns[j-1].Step != "" && f.Columns[j-1].Term == f.Columns[j].Term
}

// effectColumns are the columns of the population that have an effect of their own.
func (f *Frame) effectColumns() (list []int) {
	for j := range f.Columns {
		if !f.laterStep(j) {
			list = append(list, j)
		}
	}
	return list
}

// stepsFrom is the number of columns of the effect that begins at a column: those of a monotonic
// one, or 1.
func (f *Frame) stepsFrom(j int) int {
	count := 1
	for j+count < len(f.Columns) && f.laterStep(j+count) {
		count++
	}
	return count
}

// effectValues are the values [n] that an effect of the population multiplies, with equal shares of
// the steps of a monotonic one: the number of steps below.
func (f *Frame) effectValues(j int) []float64 {
	values := mat.Col(nil, j, f.X)
	for k := j + 1; k < j+f.stepsFrom(j); k++ {
		for i := range values {
			values[i] += f.X.At(i, k)
		}
	}
	return values
}

// layOutSteps numbers the coordinates of the shares of each monotonic effect.
func (r *Regression) layOutSteps(add func(coordinate) int) {
	for _, j := range r.Frame.effectColumns() {
		if r.Frame.Columns[j].Step == "" {
			continue
		}
		m := monotonic{first: j, steps: r.Frame.stepsFrom(j), stick: len(r.coordinates)}
		for k := 1; k < m.steps; k++ {
			add(coordinate{kind: stickCoordinate, name: "z(" + r.Frame.Columns[j+k-1].text() + ")", sd: 1})
		}
		r.monotonic = append(r.monotonic, m)
	}
}

// shareCategories are ordered categories whose probabilities at a predictor of 0 have the prior of
// shares.
const shareCategories = likelihood.CumulativeLogitKind

// shares are ζ [D] at θ.
func (m monotonic) shares(theta []float64) []float64 {
	shares := []float64{1}
	if m.steps > 1 {
		shares = make([]float64, m.steps)
		categories := likelihood.NewCategories(shareCategories, m.steps)
		categories.At(theta[m.stick:m.stick+m.steps-1]).Probabilities([]float64{0}, shares)
	}
	return shares
}

// sharesAt are the shares of all monotonic effects at θ, one after the other; zero of those that a
// model does not have.
func (r *Regression) sharesAt(mask []bool, theta []float64) (all []float64) {
	for _, m := range r.monotonic {
		if mask[m.first] {
			all = append(all, m.shares(theta)...)
		} else {
			all = append(all, make([]float64, m.steps)...)
		}
	}
	return all
}

// shareNames name what sharesAt returns.
func (r *Regression) shareNames() (names []string) {
	for _, m := range r.monotonic {
		for k := range m.steps {
			names = append(names, r.Frame.Columns[m.first+k].text())
		}
	}
	return names
}

// sticks is the number of hyperparameters of a model that are of shares.
func (r *Regression) sticks(mask []bool) (count int) {
	for _, m := range r.monotonic {
		if mask[m.first] {
			count += m.steps - 1
		}
	}
	return count
}

// steps is the number of columns of the monotonic effect that a column is of.
func (f *Frame) steps(j int) int {
	for f.laterStep(j) {
		j--
	}
	return f.stepsFrom(j)
}

// stepCoefficient are draws of the coefficient b D ζ_k of a step.
func stepCoefficient(average, share []float64, steps int) []float64 {
	product := make([]float64, len(average))
	for s := range product {
		product[s] = average[s] * share[s] * float64(steps)
	}
	return product
}

// meanCoefficients are the posterior means of the coefficients of all columns of the population: of
// effects, and by draws of the steps of monotonic ones.
func (r *Regression) meanCoefficients(result *Result, sample *posteriorSample) []float64 {
	means := make([]float64, len(r.Frame.Columns))
	for at, j := range r.Frame.effectColumns() {
		means[j] = float64(result.Effects[at].Mean)
	}
	first := r.sdCount() - len(r.shareNames()) // among the columns of sds
	for _, m := range r.monotonic {
		at := slices.Index(r.Frame.effectColumns(), m.first)
		for k := range m.steps {
			means[m.first+k] = math.NaN()
			if sample.effects != nil {
				means[m.first+k] = stat.Mean(stepCoefficient(mat.Col(nil, at, sample.effects), mat.Col(nil, first+k, sample.sds), m.steps), nil)
			}
		}
		first += m.steps
	}
	return means
}
