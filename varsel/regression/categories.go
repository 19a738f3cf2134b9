package regression

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/likelihood"
)

// A categorical response has M linear predictors, each with a coefficient for every column of the
// design, and parameters with standard normal priors. The coordinates θ are the coefficients,
// column by column, and then the parameters:
//
//	θ_{jM+m}: column j, linear predictor m;   θ_{DM+k}: parameter k.
//
// Ordered categories have one linear predictor, and cut points as parameters. Categories without an
// order have K−1 linear predictors and no parameters: θ are coordinates of scores that treat all
// categories alike. On the scale of the table they become the log odds of each category against the
// first.

// Planes returns M, the number of linear predictors of a row.
func (t *Regression) Planes() int {
	if t.Responses.Categories == nil {
		return 1
	}
	return t.Responses.Categories.Predictors()
}

// Parameters returns the coordinates of parameters of the response, which have no column.
func (t *Regression) Parameters() (list []int) {
	if c := t.Responses.Categories; c != nil {
		for k := range c.Parameters() {
			list = append(list, t.Dim-c.Parameters()+k)
		}
	} else if t.Scale >= 0 {
		list = []int{t.Scale}
	}
	return list
}

// UseCategories sets a categorical response. The columns of X are then the columns of the design,
// which all linear predictors share, and a column of zeros for each parameter.
func (t *Regression) UseCategories(c likelihood.Categories, y []float64) {
	t.Responses = Responses{Categories: c, Y: y}
	mean, sd := t.Mean, t.SD
	t.Mean, t.SD = nil, nil
	for j := range mean {
		for range c.Predictors() {
			t.Mean, t.SD = append(t.Mean, mean[j]), append(t.SD, sd[j])
		}
	}
	for range c.Parameters() {
		t.X = WithZeroColumn(t.X)
		t.Mean, t.SD = append(t.Mean, 0), append(t.SD, 1)
	}
}

// predictors returns the linear predictors of all rows without offsets [B, M·n], in M blocks, one
// for each linear predictor of a row. active [B, D] holds the coordinates in use, and zeros for the
// other coordinates.
func (t *Regression) predictors(active *Node) *Node {
	rows, columns := t.X.Dims()
	x := Constant(active, t.X.RawMatrix().Data, rows, columns)
	if planes := t.Planes(); planes > 1 {
		return Reshape(Einsum("bdm,nd->bmn", Reshape(active, -1, columns, planes), x), -1, planes*rows)
	}
	return Einsum("bd,nd->bn", active, x)
}

// Unordered returns the categories of the response if they have no order; ok is false for other
// responses.
func (t *Regression) Unordered() (c likelihood.UnorderedCategories, ok bool) {
	c, ok = t.Responses.Categories.(likelihood.UnorderedCategories)
	return c, ok
}

// EachPlane returns the coordinates of the coefficients of columns, for all linear predictors.
func EachPlane(columns []int, planes int) (coordinates []int) {
	for _, j := range columns {
		for m := range planes {
			coordinates = append(coordinates, j*planes+m)
		}
	}
	return coordinates
}

// parametersOf returns the parameters of the response [B, P], from coordinates [B, D]: the
// parameters of a categorical response, log σ if it is unknown, or nil. They are extracted by a
// matrix product, which every backend can differentiate.
func (t *Regression) parametersOf(active *Node) *Node {
	if t.Responses.Categories == nil {
		return t.LogScaleOf(active)
	}
	list, dim := t.Parameters(), t.Dim
	if len(list) == 0 {
		return nil
	}
	unit := make([]float64, dim*len(list))
	for k, j := range list {
		unit[j*len(list)+k] = 1
	}
	return Einsum("bd,dp->bp", active, Constant(active, unit, dim, len(list)))
}
