package vti

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Settings of the search for pairs, chosen by hand, not tuned.
const (
	// mostPairings bounds the models that pairs are looked for around, each more probable than the
	// one before.
	mostPairings = 8
	// pairRange is how far below the most probable model, in nats, one with a pair may be: what is
	// near it may be better.
	pairRange = 7
	// uphill is how much more probable, in nats, a model must be than one with a member less for
	// chains to go there: less leaves them to chance.
	uphill = 2
	// mostJoint bounds the pairs that chains move together.
	mostJoint = 32
)

// searchPairs looks at pairs of members that matter only together on top of the most probable
// model, goes on from models with what it finds, and adds what it looks at to the masses. It
// returns the pairs that count, those of the most probable models first.
func (x *modelMasses) searchPairs(ctx context.Context) (joint []jointPair, err error) {
	target, ok := x.e.target.(PairTarget)
	if !ok || len(x.codes) == 0 {
		return nil, nil
	}
	var looked []jointPair
	around := map[int]bool{}
	for range mostPairings {
		next := x.mostProbable()
		for _, pair := range joint { // even improbable ones: it may take two pairs
			if !around[next] {
				break
			}
			next = x.position[codeKey(pair.code)]
		}
		if around[next] {
			break
		}
		around[next] = true
		found, err := x.pairsAround(ctx, target, x.codes[next])
		if err != nil {
			return nil, err
		}
		looked = append(looked, found...)
		if joint, err = x.apart(ctx, looked); err != nil {
			return nil, err
		}
	}
	least := x.logMass(x.mostProbable()) - pairRange
	return slices.DeleteFunc(joint, func(pair jointPair) bool {
		return !(x.logMass(x.position[codeKey(pair.code)]) > least)
	}), nil
}

// pairsAround adds the models that a target finds around one. It returns their pairs, and those of
// the members of the model itself.
func (x *modelMasses) pairsAround(ctx context.Context, target PairTarget, code []int32) (pairs []jointPair, err error) {
	key, members := codeKey(code), x.members()
	pairs, known := x.e.pairs.around[key]
	if !known {
		with, without, err := target.Pairs(ctx, code)
		if err != nil {
			return nil, err
		}
		for i := range with {
			old := members(without[i])
			fresh := slices.DeleteFunc(members(with[i]), func(member int32) bool { return slices.Contains(old, member) })
			pairs = append(pairs, jointPair{with[i], [2]int32{fresh[0], fresh[1]}})
		}
		own := members(code)
		for k, member := range own {
			for _, other := range own[:k] {
				pairs = append(pairs, jointPair{code, [2]int32{other, member}})
			}
		}
		if x.e.pairs.around == nil {
			x.e.pairs.around = map[string][]jointPair{}
		}
		x.e.pairs.around[key] = pairs
	}
	codes := make([][]int32, len(pairs))
	for i, pair := range pairs {
		codes[i] = pair.code
	}
	_, err = x.add(ctx, codes, nil)
	return pairs, err
}

// apart are the pairs that chains would not come upon one by one: which are not worth having
// without each other. Those of the most probable models are first.
func (x *modelMasses) apart(ctx context.Context, pairs []jointPair) (joint []jointPair, err error) {
	of, ok := itemsOf(x.e.target.Space())
	if !ok {
		return nil, nil
	}
	mass := func(pair jointPair) float64 { return x.logMass(x.position[codeKey(pair.code)]) }
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b jointPair) int { return cmp.Compare(mass(b), mass(a)) })
	members := x.members()
	for _, pair := range pairs {
		same := func(other jointPair) bool { return other.members == pair.members }
		if len(joint) == mostJoint || slices.ContainsFunc(joint, same) {
			continue
		}
		without := func(of ...int32) []int32 {
			return slices.DeleteFunc(members(pair.code), func(member int32) bool { return slices.Contains(of, member) })
		}
		a, b := pair.members[0], pair.members[1]
		at, err := x.add(ctx, codesOfSets(of, [][]int32{without(a, b), without(a), without(b)}), nil)
		if err != nil {
			return nil, err
		}
		between := math.Max(x.logMass(at[1]), x.logMass(at[2]))
		if between < math.Min(x.logMass(at[0])+uphill, mass(pair)-uphill) {
			joint = append(joint, pair)
		}
	}
	return joint, nil
}

// mostProbable is the position of the model with the largest mass.
func (x *modelMasses) mostProbable() (best int) {
	for at := range x.codes {
		if mass := x.logMass(at); mass > x.logMass(best) {
			best = at
		}
	}
	return best
}
