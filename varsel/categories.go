package varsel

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/likelihood"
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
