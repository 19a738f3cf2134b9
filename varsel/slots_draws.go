package varsel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/varsel/design"
)

// placed is a predictor in a list, with its place: the number of its position (slot) in the list,
// which has a block of coordinates.
type placed struct{ predictor, place int }

// byTable returns the members of a model in table order.
func (t *SlotTarget) byTable(code []int32) []placed {
	items := t.space.Set(code)
	members := make([]placed, len(items))
	for place, item := range items {
		members[place] = placed{t.order[item], place}
	}
	slices.SortFunc(members, func(a, b placed) int { return cmp.Compare(a.predictor, b.predictor) })
	return members
}

// coordinateNames returns the names of the columns of [Draws]: the columns of the design in every
// model, sigma, and coef.t for the t-th member in table order, or coef.t.1, coef.t.2, … if
// predictors can have several columns.
func (t *SlotTarget) coordinateNames() (names []string) {
	for _, j := range t.fixed {
		names = append(names, t.base.design.Names[j])
	}
	if t.scaleCoordinate() >= 0 {
		names = append(names, t.base.design.ScaleName())
	}
	for slot := range t.space.Slots() {
		for column := range t.space.Width() {
			name := fmt.Sprintf("coef.%d", slot+1)
			if t.space.Width() > 1 {
				name += fmt.Sprintf(".%d", column+1)
			}
			names = append(names, name)
		}
	}
	return design.FreeNames(names, nil)
}

// places returns, for every coefficient of a model, its column of the design, its coordinate, and
// its coordinate if members are in table order.
func (t *SlotTarget) places(code []int32) (columns, packed, byTable []int) {
	columns = slices.Clone(t.fixed)
	packed, byTable = rank.UpTo(len(columns)), rank.UpTo(len(columns))
	for site, member := range t.byTable(code) {
		for w, column := range t.base.design.Predictors[member.predictor].Coordinates {
			columns, packed, byTable = append(columns, column), append(packed, t.block(member.place)+w), append(byTable, t.block(site)+w)
		}
	}
	return columns, packed, byTable
}

// toOriginal maps one draw theta [D] to values [D] on the scale of the table. It returns the
// numbers of the model's predictors, from 1 in table order, and 0 for each empty slot.
func (t *SlotTarget) toOriginal(code []int32, theta, values []float64) []int32 {
	columns, packed, byTable := t.places(code)
	scaling := t.base.design.Scaling.Of(columns)
	clear(values)
	for k, beta := range scaling.ToOriginal(nil, distinct.At(theta, packed)) {
		values[byTable[k]] = beta
	}
	if at := t.scaleCoordinate(); at >= 0 {
		values[at] = math.Exp(theta[at]) * scaling.YSD
	}
	numbers := make([]int32, len(code))
	for site, member := range t.byTable(code) {
		numbers[site] = int32(member.predictor) + 1
	}
	return numbers
}

// fromOriginal inverts toOriginal: it sets theta [D] and returns the code of the model.
func (t *SlotTarget) fromOriginal(numbers []int32, values, theta []float64) []int32 {
	var members []int
	for _, number := range numbers {
		if number > 0 {
			members = append(members, int(number-1))
		}
	}
	code := t.code(members)
	columns, packed, byTable := t.places(code)
	scaling := t.base.design.Scaling.Of(columns)
	clear(theta)
	for k, v := range scaling.FromOriginal(nil, distinct.At(values, byTable)) {
		theta[packed[k]] = v
	}
	if at := t.scaleCoordinate(); at >= 0 {
		theta[at] = math.Log(values[at] / scaling.YSD)
	}
	return code
}

// visit calls f for every coefficient in the model of a draw on the scale of the table.
func (t *SlotTarget) visit(numbers []int32, values []float64, f func(column int, value float64)) {
	for i, column := range t.fixed {
		f(column, values[i])
	}
	if at := t.scaleCoordinate(); at >= 0 {
		f(t.base.design.Dim(), values[at])
	}
	for site, number := range numbers {
		if number == 0 {
			break
		}
		for w, column := range t.base.design.Predictors[number-1].Coordinates {
			f(column, values[t.block(site)+w])
		}
	}
}

// block returns the first coordinate of the block of a slot, given the slot's number.
func (t *SlotTarget) block(place int) int { return t.space.Fixed() + place*t.space.Width() }
