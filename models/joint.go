package models

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/space"
)

// Settings of the search for sets of members (such as the predictors in a model) that have an
// effect only together. Larger settings find more sets and take longer. Half and twice these values
// give the same answers (docs/benchmarks/constants.md).
const (
	// mostAround bounds the number of models around which the search looks.
	mostAround = 8
	// jointRange bounds, in nats, how much smaller log p(m) p(y | m) of a model with such members
	// may be than the value of the most probable model. Less probable models are dropped. The range
	// is wide because further changes may lead to a model more probable than all found so far.
	jointRange = 7
	// uphill is a gain of log p(m) p(y | m) in nats. Chains reliably add a member that gains more.
	uphill = 2
	// mostMoved bounds the number of sets of members that chains add or remove as a whole.
	mostMoved = 32
	// mostInTriples is the largest size of a model whose members are considered three at a time.
	mostInTriples = 8
)

// jointSet holds members that have an effect only together, with the code of a model that has all
// of them.
type jointSet struct {
	code    []int32
	members []int32 // ascending
}

// foundJoint holds the joint sets found so far.
type foundJoint struct {
	around  map[string][]jointSet // for the key (space.Key) of each model searched around, the sets found
	instead map[string][][]int32  // for the key of each model, models in which other members replace some of its members
	moved   []jointSet            // sets that chains over models add or remove as a whole
}

// searchJoint looks for members that have an effect only together when they are added to the most
// probable model, and for members that replace members of the most probable model. It repeats this
// around the models found, and adds all evaluated models to x. It returns the sets whose models are
// probable enough (jointRange).
func (x *Visited) searchJoint(ctx context.Context) (joint []jointSet, err error) {
	if x.Known.Together == nil || len(x.codes) == 0 {
		return nil, nil
	}
	var looked, exchanged []jointSet
	around := map[int]bool{}
	for range mostAround {
		next := x.mostProbable()
		for _, set := range joint { // the sets include sets of improbable models, since a probable model may need two sets
			if !around[next] {
				break
			}
			next = x.position[space.Key(set.code)]
		}
		if around[next] {
			break
		}
		around[next] = true
		found, err := x.jointAround(ctx, x.codes[next])
		if err != nil {
			return nil, err
		}
		looked = append(looked, found...)
		if joint, err = x.apart(ctx, looked); err != nil {
			return nil, err
		}
		others, err := x.exchanges(ctx, x.codes[next])
		if err != nil {
			return nil, err
		}
		exchanged = append(exchanged, others...)
		joint = append(slices.Clone(exchanged), joint...)
	}
	least := x.logMass(x.mostProbable()) - jointRange
	return slices.DeleteFunc(joint, func(set jointSet) bool {
		return !(x.logMass(x.position[space.Key(set.code)]) > least)
	}), nil
}

// jointAround adds to x the models that the application finds around the given model
// (Known.Together). It returns the additional members of each model found, and all sets of two or
// three members of the given model itself.
func (x *Visited) jointAround(ctx context.Context, code []int32) (sets []jointSet, err error) {
	key, members := space.Key(code), x.members()
	sets, known := x.joint.around[key]
	if !known {
		with, without, err := x.Known.Together(ctx, code)
		if err != nil {
			return nil, err
		}
		for i := range with {
			sets = append(sets, jointSet{with[i], lacking(members(with[i]), members(without[i]))})
		}
		present := members(code)
		for k, third := range present {
			for l, second := range present[:k] {
				sets = append(sets, jointSet{code, []int32{second, third}})
				for _, first := range present[:l] {
					if len(present) <= mostInTriples {
						sets = append(sets, jointSet{code, []int32{first, second, third}})
					}
				}
			}
		}
		if x.joint.around == nil {
			x.joint.around = map[string][]jointSet{}
		}
		x.joint.around[key] = sets
	}
	_, err = x.Add(ctx, apply.To(sets, func(set jointSet) []int32 { return set.code }), nil)
	return sets, err
}

// exchanges compares the given model with the models that the application finds by replacing some
// of its members (Known.Instead). For each of them it returns the set of members replaced and the
// set of their replacements. It skips exchanges of one member for one, and models much less
// probable than the most probable model (jointRange).
func (x *Visited) exchanges(ctx context.Context, code []int32) (sets []jointSet, err error) {
	key, members := space.Key(code), x.members()
	others, known := x.joint.instead[key]
	if !known {
		if others, err = x.Known.Instead(ctx, code); err != nil {
			return nil, err
		}
		if x.joint.instead == nil {
			x.joint.instead = map[string][][]int32{}
		}
		x.joint.instead[key] = others
	}
	positions, err := x.Add(ctx, others, nil)
	if err != nil {
		return nil, err
	}
	present := members(code)
	least := x.logMass(x.mostProbable()) - jointRange
	for k, other := range others {
		otherPresent := members(other)
		fresh, gone := lacking(otherPresent, present), lacking(present, otherPresent)
		bothLikely := x.logMass(positions[k]) > least && x.logMass(x.position[key]) > least
		if bothLikely && len(fresh) > 0 && len(gone) > 0 && len(fresh)+len(gone) > 2 { // chains exchange one member for one without help
			sets = append(sets, jointSet{other, fresh}, jointSet{code, gone})
		}
	}
	return sets, nil
}

// lacking returns the members of set that are not in the argument other.
func lacking(set, other []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(set), func(member int32) bool { return slices.Contains(other, member) })
}

// apart returns the sets that chains would not find by adding one member at a time: a model with
// only a part of the set is at most uphill (2 nats) more probable than the model without any of it,
// and at least uphill less probable than the model with all of it. Sets of the most probable models
// come first.
func (x *Visited) apart(ctx context.Context, sets []jointSet) (joint []jointSet, err error) {
	asItems, ok := itemsOf(x.Space)
	if !ok {
		return nil, nil
	}
	mass := func(set jointSet) float64 { return x.logMass(x.position[space.Key(set.code)]) }
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b jointSet) int { return cmp.Compare(mass(b), mass(a)) })
	for _, set := range sets {
		same := func(other jointSet) bool { return slices.Equal(other.members, set.members) }
		if len(joint) == mostMoved || slices.ContainsFunc(joint, same) {
			continue
		}
		between, none := math.Inf(-1), 0.0
		all := x.members()(set.code)
		for left := range 1<<len(set.members) - 1 { // bit i of left is set if member i of the set stays
			part := slices.DeleteFunc(slices.Clone(all), func(member int32) bool {
				at := slices.Index(set.members, member)
				return at >= 0 && left>>at&1 == 0
			})
			added, err := x.Add(ctx, [][]int32{asItems.code(part)}, nil)
			if err != nil {
				return nil, err
			}
			if left == 0 {
				none = x.logMass(added[0])
			} else {
				between = math.Max(between, x.logMass(added[0]))
			}
			if !(between < math.Min(none+uphill, mass(set)-uphill)) {
				break
			}
		}
		if between < math.Min(none+uphill, mass(set)-uphill) {
			joint = append(joint, set)
		}
	}
	return joint, nil
}

func (x *Visited) mostProbable() (best int) {
	for at := range x.codes {
		if mass := x.logMass(at); mass > x.logMass(best) {
			best = at
		}
	}
	return best
}
