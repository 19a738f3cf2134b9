package regression

import (
	"math"
	"slices"

	"github.com/transdim/vti/hbm/frame"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/likelihood"
)

// monotonic is the effect of an ordered predictor with D steps (Bürkner and Charpentier 2020),
//
//	b D Σ_{k ≤ x} ζ_k,   ζ ~ Dirichlet(1, …, 1),
//
// in which x counts the steps up to the value of the predictor, and b is the average change a step.
// Given ζ the effect is b times one column, a fixed combination of D columns of the design, each of
// which says whether x lies above one step. So b is an effect like other effects, and the
// coefficients of these columns are b D ζ_k. The ζ are hyperparameters: stick-breaking from
// standard normal coordinates gives them, as it gives the probabilities of ordered categories.
type monotonic struct {
	// first is the first column of the effect, and steps the number D of its columns.
	first, steps int
	// stick is the first of the D − 1 coordinates of ζ.
	stick int
}

func (r *Regression) layOutSteps(add func(coordinate) int) {
	for _, j := range r.Frame.EffectColumns() {
		if r.Frame.Columns[j].Step == "" {
			continue
		}
		m := monotonic{first: j, steps: r.Frame.StepsFrom(j), stick: len(r.coordinates)}
		for k := 1; k < m.steps; k++ {
			add(coordinate{kind: stickCoordinate, name: "z(" + r.Frame.Columns[j+k-1].Text() + ")", sd: 1})
		}
		r.monotonic = append(r.monotonic, m)
	}
}

// shareCategories is the kind of ordered categories whose probabilities, at a linear predictor of
// 0, have the prior of the shares of steps.
const shareCategories = likelihood.CumulativeLogitKind

// shares returns ζ [D] at θ.
func (m monotonic) shares(theta []float64) []float64 {
	shares := []float64{1}
	if m.steps > 1 {
		shares = make([]float64, m.steps)
		categories := likelihood.NewCategories(shareCategories, m.steps)
		categories.At(theta[m.stick:m.stick+m.steps-1]).Probabilities([]float64{0}, shares)
	}
	return shares
}

// sharesAt returns the shares of all monotonic effects at θ, one after the other, with zeros for
// effects that a model lacks.
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

func (r *Regression) shareNames() (names []string) {
	for _, m := range r.monotonic {
		for k := range m.steps {
			names = append(names, r.Frame.Columns[m.first+k].Text())
		}
	}
	return names
}

// sticks returns the number of hyperparameters of a model that determine shares.
func (r *Regression) sticks(mask []bool) (count int) {
	for _, m := range r.monotonic {
		if mask[m.first] {
			count += m.steps - 1
		}
	}
	return count
}

// meanCoefficients returns the posterior means of the coefficients of all columns of the
// population. For the steps of monotonic effects they come from draws.
func (r *Regression) meanCoefficients(result *Result, sample *posteriorSample) []float64 {
	means := make([]float64, len(r.Frame.Columns))
	for at, j := range r.Frame.EffectColumns() {
		means[j] = float64(result.Effects[at].Mean)
	}
	first := r.firstQuantity(0) - len(r.shareNames()) // index of the first share among the quantities
	for _, m := range r.monotonic {
		at := slices.Index(r.Frame.EffectColumns(), m.first)
		for k := range m.steps {
			means[m.first+k] = math.NaN()
			if sample.draws != nil {
				means[m.first+k] = stat.Mean(frame.StepCoefficient(mat.Col(nil, at, sample.draws), mat.Col(nil, first+k, sample.draws), m.steps), nil)
			}
		}
		first += m.steps
	}
	return means
}
