package varsel

import (
	"errors"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

var errCategoryLists = errors.New("a response of categories has no lists of predictors: want --codes bits")

// coefficientNames returns the names of the columns of the design. For categories without an order
// the names are LEVEL:COLUMN, one for each column and each level but the first.
func (p *Problem) coefficientNames() (names []string) {
	if _, ok := p.Target.Unordered(); !ok {
		return p.Design.Names
	}
	for _, column := range p.Design.Names {
		for _, level := range p.Design.Levels[1:] {
			names = append(names, level+":"+column)
		}
	}
	return design.FreeNames(names, nil)
}

// eachColumn replaces the coefficients of each column of the design, one for each linear predictor.
// The function move computes new coefficients of a column from the present ones.
func (p *Problem) eachColumn(values []float64, move func(from, to []float64)) {
	planes := p.Target.Planes()
	from := make([]float64, planes)
	for first := 0; first < len(values); first += planes {
		block := values[first : first+planes]
		copy(from, block)
		move(from, block)
	}
}

// extraNames returns the names of the parameters of a response that are not coefficients: an
// unknown noise scale or other second parameter, or the cut points of an ordered response.
func (p *Problem) extraNames() (names []string) {
	switch {
	case p.Design.Likelihood.Ordered():
		for k, level := range p.Design.Levels[1:] {
			names = append(names, p.Design.Levels[k]+"|"+level)
		}
		return design.FreeNames(names, p.Design.Names)
	case p.UnknownScale():
		names = []string{p.Design.ScaleName()}
	}
	return names
}

// responseGiven returns the distribution of a response given its linear predictor η, for the
// parameters in a draw on the scale of the table.
func (p *Problem) responseGiven(values []float64) likelihood.Row {
	if c, ok := p.Target.Responses.Categories.(likelihood.OrderedCategories); ok {
		return c.Cut(values[p.Design.Dim():])
	}
	return likelihood.New(p.Model.Likelihood.Working(), p.Model.shape())
}

// cuts returns the cut points of an ordered response on the scale of the table, given its
// parameters z on the working scale and the coefficients beta.
func (p *Problem) cuts(z, beta []float64) []float64 {
	points := p.Target.Responses.Categories.At(z).(*likelihood.Cuts).Points
	shift := p.Design.Scaling.Shift(beta)
	for k := range points {
		points[k] += shift
	}
	return points
}

// sticks inverts cuts: it returns the parameters z of an ordered response on the working scale,
// given the cut points and the coefficients beta on the scale of the table.
func (p *Problem) sticks(points, beta []float64) []float64 {
	cuts, shift := make([]float64, len(points)), p.Design.Scaling.Shift(beta)
	for k, c := range points {
		cuts[k] = c - shift
	}
	return p.Target.Responses.Categories.(likelihood.OrderedCategories).Sticks(cuts)
}
