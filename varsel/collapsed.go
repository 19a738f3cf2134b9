package varsel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// collapsed is the posterior of a robust Target with known scales over models m and sets of
// outliers a. Given m and a, the response is Gaussian and the coefficients integrate out. A single
// model can have hundreds of modes, one for each likely set of outliers; to move one row into or
// out of the set leads from one mode to the next. If there are few rows, [regression.Assignments]
// sums over all sets a instead.
type collapsed struct {
	target   *Target
	fixed    []int           // coordinates in every model
	groups   [][]int         // coordinates of each site
	rows     [][]float64     // rows of the design; coordinates are in prior standard deviations [n][D]
	rest     []float64       // responses minus offset and prior mean of the linear predictor [n]
	all      normalEquations // of all rows, with weights of one
	logPrior space.LogTerms
	logRatio [2]float64 // logs of the ratios of variances: of inliers to outliers, and of outliers to inliers
}

// mostCollapsedWork is the largest number of multiplications of a sweep through all rows and
// predictors, which then takes about a millisecond. mostPriorDraws is the largest number of models
// drawn from the prior to find one that heredity (a product needs its factors) allows.
const (
	mostCollapsedWork = 2e6
	mostPriorDraws    = 10000
)

// collapse returns the posterior over models and sets of outliers. It returns nil unless the
// likelihood is robust with known scales and the prior over models is normalised, and if a sweep
// over all rows would take too long.
func (t *Target) collapse() rjmcmc.Collapsed {
	n, dim := len(t.Responses.Y), t.space.Dim()
	size := float64(min(dim, n))
	if t.Outliers == nil || t.heredity != nil && !t.heredity.known || size*size*(float64(n)+size*float64(len(t.space.Cards()))/6) > mostCollapsedWork {
		return nil
	}
	c := &collapsed{target: t, all: newNormalEquations(dim), logPrior: t.prior.LogTerms(len(t.space.Cards()))}
	c.logRatio[1] = math.Log(t.Outliers.Variance[1] / t.Outliers.Variance[0])
	c.logRatio[0] = -c.logRatio[1]
	code := make([]int32, len(t.space.Cards()))
	none := t.space.MaskRow(code, nil)
	for j, on := range none {
		if on {
			c.fixed = append(c.fixed, j)
		} else if t.Mean[j] != 0 {
			return nil // the response would be centred differently in each model
		}
	}
	for site := range code {
		code[site] = 1
		var group []int
		for j, on := range t.space.MaskRow(code, nil) {
			if on && !none[j] {
				group = append(group, j)
			}
		}
		code[site] = 0
		c.groups = append(c.groups, group)
	}
	for i, y := range t.Responses.Y {
		if t.Offset != nil {
			y -= t.Offset[i]
		}
		row := make([]float64, dim)
		for j, column := range t.Columns {
			row[j] = column[i] * t.SD[j]
			y -= column[i] * t.Mean[j]
		}
		c.all.add(row, y, 1)
		c.rows, c.rest = append(c.rows, row), append(c.rest, y)
	}
	return c
}

// Prior draws a model and a set of outliers from their prior.
func (c *collapsed) Prior(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	code, err := c.drawModel(random)
	if err != nil {
		return nil, err
	}
	outlier := apply.UpTo(len(c.rows), func(int) bool { return random.Float64() < math.Exp(c.target.Outliers.LogShare[1]) })
	return c.state(code, outlier)
}

// Far draws a model from the prior, and k rows, where k is the number of the model's coefficients.
// All other rows are outliers. (The k rows are an elemental set, as in [heavyTailed.modeStarts].)
func (c *collapsed) Far(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	code, err := c.drawModel(random)
	if err != nil {
		return nil, err
	}
	outlier := make([]bool, len(c.rows))
	for k, i := range random.Perm(len(c.rows)) {
		outlier[i] = k >= len(c.coordinates(code))
	}
	return c.state(code, outlier)
}

func (c *collapsed) drawModel(random *rand.Rand) ([]int32, error) {
	code := make([]int32, len(c.groups))
	for range mostPriorDraws {
		for site, in := range c.target.prior.Draw(len(code), random) {
			code[site] = 0
			if in {
				code[site] = 1
			}
		}
		if c.allowed(code) {
			return code, nil
		}
	}
	return nil, fmt.Errorf("heredity forbids all of %d models drawn from the prior", mostPriorDraws)
}

func (c *collapsed) allowed(code []int32) bool {
	return c.target.heredity == nil || c.target.heredity.allows(code)
}

func (c *collapsed) coordinates(code []int32) []int {
	active := slices.Clone(c.fixed)
	for site, in := range code {
		if in == 1 {
			active = append(active, c.groups[site]...)
		}
	}
	return active
}
