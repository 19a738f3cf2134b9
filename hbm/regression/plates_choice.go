package regression

import (
	"cmp"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/hbm"
)

// platesChoice is a selection of terms as a choice among models with plates. Effects that a model
// lacks are zero. Where a term does not vary, the members of its plate have the effect of the
// population, so that plates stay the same for all models.
type platesChoice struct {
	*hbm.Choice
	present hbm.Term // 0 or 1 of each coordinate [D]
}

// mostPlateModels bounds the models of a selection with families over all effects: each is weighed
// by thousands of draws of all effects.
const mostPlateModels = 128

// mostFeatures bounds the features of a model: answers to questions, and pairs of them if there is
// room.
const mostFeatures = 64

// choose makes the model one of several, with a selection.
func (p *PlateModel) choose() {
	r := p.regression
	if !r.Options.Select {
		return
	}
	present := make([][]float64, len(r.space.masks))
	for m, mask := range r.space.masks {
		present[m] = make([]float64, len(mask))
		for j, in := range mask {
			if in {
				present[m][j] = 1
			}
		}
	}
	p.choice = &platesChoice{p.Model.Choose(r.space.logPrior, r.features()), hbm.ByModel(present)}
}

// features tell models apart: which answer a model gives to each question, beside the first, and
// the products of two of different questions.
func (r *Regression) features() [][]float64 {
	single, pairs := 0, 0
	for s, card := range r.space.cards {
		for _, other := range r.space.cards[:s] {
			pairs += (card - 1) * (other - 1)
		}
		single += card - 1
	}
	features := make([][]float64, len(r.space.masks))
	for m, code := range r.codes() {
		answers := make([][]float64, len(code))
		for s, outcome := range code {
			answers[s] = make([]float64, r.space.cards[s]-1)
			if outcome > 0 {
				answers[s][outcome-1] = 1
			}
			features[m] = append(features[m], answers[s]...)
		}
		if single+pairs > mostFeatures {
			continue
		}
		for s := range answers {
			for other := range s {
				for _, a := range answers[s] {
					for _, b := range answers[other] {
						features[m] = append(features[m], a*b)
					}
				}
			}
		}
	}
	return features
}

// startNear says where inference of n coordinates from the first on starts, and which of them each
// model has.
func (p *PlateModel) startNear(start []float64, first, n int) []hbm.Option {
	var sds []float64
	for _, c := range p.regression.coordinates[first : first+n] {
		sds = append(sds, math.Min(cmp.Or(c.sd, 1), widestStart))
	}
	return append(p.presentWith(first, n), hbm.Near(start[first:first+n], sds))
}

// presentWith says that the numbers of a variable are present with n coordinates from the first on.
func (p *PlateModel) presentWith(first, n int) []hbm.Option {
	if p.choice == nil {
		return nil
	}
	var present [][]bool
	for _, mask := range p.regression.space.masks {
		present = append(present, mask[first:first+n])
	}
	return []hbm.Option{hbm.PresentIn(present)}
}

// presence is which coordinates the model of a draw has [..., D]; nil where all have all.
type presence struct{ of *Node }

// at is 1 where a coordinate is present and 0 elsewhere, [...].
func (in presence) at(coordinate int) *Node {
	return Squeeze(SliceAxis(in.of, -1, AxisElem(coordinate)), -1)
}

// orZero is x where a coordinate is present, and 0 elsewhere.
func (in presence) orZero(coordinate int, x *Node) *Node {
	if in.of == nil {
		return x
	}
	return Mul(x, in.at(coordinate))
}

// orOne is x, which is zero where a coordinate is not present, and 1 there.
func (in presence) orOne(coordinate int, x *Node) *Node {
	if in.of == nil {
		return x
	}
	return Add(x, OneMinus(in.at(coordinate)))
}

// withPresence adds what models have to the inputs of a term, and returns where it is among their
// values.
func (p *PlateModel) withPresence(inputs []hbm.Term) ([]hbm.Term, func(values []*Node) presence) {
	if p.choice == nil {
		return inputs, func([]*Node) presence { return presence{} }
	}
	place := len(inputs)
	return append(inputs, p.choice.present), func(values []*Node) presence { return presence{values[place]} }
}

// effectsInModel are the effects of the population, zero where a model lacks them.
func (p *PlateModel) effectsInModel() hbm.Term {
	if p.choice == nil {
		return p.population
	}
	columns := len(p.regression.Frame.Columns)
	return hbm.Of(func(values []*Node) *Node {
		return Mul(values[0], SliceAxis(values[1], -1, AxisRange(0, columns)))
	}, p.population, p.choice.present)
}

// effectInModel are the effects of a column of a grouping, those of the population where they do
// not vary.
func (p *PlateModel) effectInModel(g *plateGroup, column int) hbm.Term {
	if p.choice == nil {
		return g.effects[column]
	}
	inputs := []hbm.Term{g.effects[column], p.choice.present}
	if g.a != nil {
		inputs = append(inputs, p.effectsInModel(), g.a)
	}
	return hbm.Of(func(values []*Node) *Node {
		in := presence{values[1]}
		effect := in.orZero(g.sd[column], values[0])
		if g.a != nil {
			effect = Add(effect, Mul(OneMinus(in.at(g.sd[column])), rowTimes(values[3], column, values[2])))
		}
		return effect
	}, inputs...)
}

// masked is a copy of values with zeros for what a model lacks.
func masked(values []float64, mask []bool) []float64 {
	out := make([]float64, len(values))
	for j, v := range values {
		if mask[j] {
			out[j] = v
		}
	}
	return out
}
