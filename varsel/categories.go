package varsel

import (
	"errors"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

// A response of categories has M linear predictors, each with a coefficient for every column of the
// design, and parameters that are standard normal. Coordinates are the coefficients, those of a
// column together, and then the parameters:
//
//	θ_{jM+m}: column j, predictor m;   θ_{DM+k}: parameter k.
//
// Ordered categories have one predictor, and cut points as parameters. Categories without an order
// have K−1 predictors and no parameters: θ are coordinates of scores that treat all categories
// alike, and on the scale of the table stand the log odds of each category against the first.

// planes is M, the number of linear predictors of a row.
func (t *Target) planes() int {
	if t.responses.categories == nil {
		return 1
	}
	return t.responses.categories.Predictors()
}

// parameters are the coordinates that have no column.
func (t *Target) parameters() (list []int) {
	if c := t.responses.categories; c != nil {
		for k := range c.Parameters() {
			list = append(list, t.dim-c.Parameters()+k)
		}
	} else if t.scale >= 0 {
		list = []int{t.scale}
	}
	return list
}

// useCategories makes the target one of a response of categories. The columns of x are those of the
// design, which all predictors share, and a column of zeros for each parameter.
func (t *Target) useCategories(design *Design) {
	c := likelihood.NewCategories(design.Likelihood, len(design.Levels))
	t.responses = responses{categories: c, y: design.Y}
	mean, sd := t.mean, t.sd
	t.mean, t.sd = nil, nil
	for j := range mean {
		for range c.Predictors() {
			t.mean, t.sd = append(t.mean, mean[j]), append(t.sd, sd[j])
		}
	}
	for range c.Parameters() {
		t.x = withZeroColumn(t.x)
		t.mean, t.sd = append(t.mean, 0), append(t.sd, 1)
	}
}

// predictors are the linear predictors of all rows [B, M·n], those of a predictor together, of the
// coordinates in use [B, D], the others zero. Offsets are not in them.
func (t *Target) predictors(active *Node) *Node {
	rows, columns := t.x.Dims()
	x := constant(active, t.x.RawMatrix().Data, rows, columns)
	if planes := t.planes(); planes > 1 {
		return Reshape(Einsum("bdm,nd->bmn", Reshape(active, -1, columns, planes), x), -1, planes*rows)
	}
	return Einsum("bd,nd->bn", active, x)
}

// unordered are the categories without an order; false for other responses.
func (t *Target) unordered() (c likelihood.UnorderedCategories, ok bool) {
	c, ok = t.responses.categories.(likelihood.UnorderedCategories)
	return c, ok
}

// eachPlane are the coordinates of the coefficients of columns.
func eachPlane(columns []int, planes int) (coordinates []int) {
	for _, j := range columns {
		for m := range planes {
			coordinates = append(coordinates, j*planes+m)
		}
	}
	return coordinates
}

// parametersOf are the parameters of each row [B, P] of all coordinates [B, D], by a product, which
// every backend can differentiate: log σ where it is unknown, and nil where there are none.
func (t *Target) parametersOf(active *Node) *Node {
	if t.responses.categories == nil {
		return t.logScaleOf(active)
	}
	list, dim := t.parameters(), t.dim
	if len(list) == 0 {
		return nil
	}
	unit := make([]float64, dim*len(list))
	for k, j := range list {
		unit[j*len(list)+k] = 1
	}
	return Einsum("bd,dp->bp", active, constant(active, unit, dim, len(list)))
}

var errCategoryLists = errors.New("a response of categories has no lists of predictors: want --codes bits")

// planes is that of the target.
func (p *Problem) planes() int { return p.Target.planes() }

// coefficientNames are those of the coefficients: of the columns of the design, or for categories
// without an order LEVEL:COLUMN, of all levels but the first for each column.
func (p *Problem) coefficientNames() (names []string) {
	if _, ok := p.Target.unordered(); !ok {
		return p.Design.Names
	}
	for _, column := range p.Design.Names {
		for _, level := range p.Design.Levels[1:] {
			names = append(names, design.FreeName(level+":"+column, names))
		}
	}
	return names
}

// eachColumn maps the coefficients of each column in place, those of all linear predictors at once:
// move has another slice to write to.
func (p *Problem) eachColumn(values []float64, move func(from, to []float64)) {
	planes := p.planes()
	from := make([]float64, planes)
	for first := 0; first < len(values); first += planes {
		own := values[first : first+planes]
		copy(from, own)
		move(from, own)
	}
}

// extraNames are the names of what a response has beside coefficients: its noise scale or other
// parameter if that is unknown, or cut points.
func (p *Problem) extraNames() (names []string) {
	switch {
	case p.Design.Likelihood.Ordered():
		taken := p.Design.Names
		for k, level := range p.Design.Levels[1:] {
			names = append(names, design.FreeName(p.Design.Levels[k]+"|"+level, taken))
			taken = append(taken[:len(taken):len(taken)], names[k])
		}
	case p.UnknownScale():
		names = []string{p.Design.ScaleName()}
	}
	return names
}

// responseGiven is the distribution of a response given its linear predictor, under a draw on the
// scale of the table.
func (p *Problem) responseGiven(values []float64) likelihood.Row {
	if c, ok := p.Target.responses.categories.(likelihood.OrderedCategories); ok {
		return c.Cut(values[p.Design.Dim():])
	}
	return likelihood.New(p.Model.Likelihood.Working(), p.Model.shape())
}

// cuts are the cut points of the parameters z on the scale of the table, where coefficients are
// beta.
func (p *Problem) cuts(z, beta []float64) []float64 {
	points := p.Target.responses.categories.At(z).(*likelihood.Cuts).Points
	shift := p.Design.Scaling.Shift(beta)
	for k := range points {
		points[k] += shift
	}
	return points
}

// sticks inverts cuts.
func (p *Problem) sticks(points, beta []float64) []float64 {
	own, shift := make([]float64, len(points)), p.Design.Scaling.Shift(beta)
	for k, c := range points {
		own[k] = c - shift
	}
	return p.Target.responses.categories.(likelihood.OrderedCategories).Sticks(own)
}
