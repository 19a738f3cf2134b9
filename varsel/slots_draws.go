package varsel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/varsel/design"
)

// placed is a member of a list: its predictor, and the place of its block of coordinates in the
// list.
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

// coordinateNames are the columns of [Draws]: those of the design that are in every model, sigma,
// and coef.t, or coef.t.1, coef.t.2, … where predictors can have several columns, for the t-th
// predictor in table order.
func (t *SlotTarget) coordinateNames(d *Design) (names []string) {
	for _, j := range t.fixed {
		names = append(names, d.Names[j])
	}
	if t.scale() >= 0 {
		names = append(names, d.ScaleName())
	}
	for slot := range t.space.Slots() {
		for column := range t.space.Width() {
			name := fmt.Sprintf("coef.%d", slot+1)
			if t.space.Width() > 1 {
				name += fmt.Sprintf(".%d", column+1)
			}
			names = append(names, design.FreeName(name, names))
		}
	}
	return names
}

// toOriginal is Problem.toOriginal for one draw: theta [D] to values [D], and the model's code to
// one by predictors.
func (t *SlotTarget) toOriginal(d *Design, code []int32, theta, values []float64) []int32 {
	scaling := &d.Scaling
	clear(values)
	shift, level := scaling.YMean, -1
	move := func(to, from, column int) {
		values[to] = scaling.Slope(column) * theta[from]
		shift -= values[to] * scaling.Mean[column]
	}
	for i, column := range t.fixed {
		move(i, i, column)
		if column == scaling.Level {
			level = i
		}
	}
	if at := t.scale(); at >= 0 {
		values[at] = math.Exp(theta[at]) * scaling.YSD
	}
	numbers := make([]int32, len(code))
	for site, member := range t.byTable(code) {
		numbers[site] = int32(member.predictor) + 1
		for w, column := range d.Predictors[member.predictor].Coordinates {
			move(t.block(site)+w, t.block(member.place)+w, column)
		}
	}
	if level >= 0 {
		values[level] += shift / scaling.LevelValue
	}
	return numbers
}

// fromOriginal inverts toOriginal.
func (t *SlotTarget) fromOriginal(d *Design, numbers []int32, values, theta []float64) []int32 {
	scaling := &d.Scaling
	clear(theta)
	var items []int32
	for _, number := range numbers {
		if number > 0 {
			items = append(items, int32(t.item[number-1]))
		}
	}
	code := t.space.Code(items, nil)
	shift, level := scaling.YMean, -1
	move := func(to, from, column int) {
		theta[to] = values[from] / scaling.Slope(column)
		shift -= values[from] * scaling.Mean[column]
	}
	for i, column := range t.fixed {
		move(i, i, column)
		if column == scaling.Level {
			level = i
		}
	}
	if at := t.scale(); at >= 0 {
		theta[at] = math.Log(values[at] / scaling.YSD)
	}
	for site, member := range t.byTable(code) {
		for w, column := range d.Predictors[member.predictor].Coordinates {
			move(t.block(member.place)+w, t.block(site)+w, column)
		}
	}
	if level >= 0 {
		theta[level] -= shift / scaling.LevelValue / scaling.Slope(t.fixed[level])
	}
	return code
}

// visit is Problem.visit for a draw on the scale of the table.
func (t *SlotTarget) visit(d *Design, numbers []int32, values []float64, f func(column int, value float64)) {
	for i, column := range t.fixed {
		f(column, values[i])
	}
	if at := t.scale(); at >= 0 {
		f(d.Dim(), values[at])
	}
	for site, number := range numbers {
		if number == 0 {
			break
		}
		for w, column := range d.Predictors[number-1].Coordinates {
			f(column, values[t.block(site)+w])
		}
	}
}

// block is the first coordinate of a place of the list.
func (t *SlotTarget) block(place int) int { return t.space.Fixed() + place*t.space.Width() }
