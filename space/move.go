package space

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
)

// Mover is a Space with its own small reversible changes of models, as proposals for MCMC.
type Mover interface {
	Space
	// Move replaces code (length S) by a proposed model, and permutes z (length D), the coordinates
	// of all parameters including unused ones, so that items that stay in the model keep their
	// coordinates. It returns the log of the probability of the reverse proposal over the
	// probability of this proposal. If the chosen kind of move is impossible it returns −Inf and
	// leaves code and z unchanged.
	Move(random *rand.Rand, code []int32, z []float64) (logRatio float64)
}

// Move calls the Move of s if s is a Mover. Otherwise a uniformly chosen site (digit) of the code
// gets another outcome, chosen uniformly. If all sites have two outcomes, half of the moves instead
// exchange the outcomes of a site with outcome 1 and a site with outcome 0. z does not change,
// because a coordinate belongs to the same outcome in every model. See [Mover] for the result.
func Move(s Space, random *rand.Rand, code []int32, z []float64) (logRatio float64) {
	if mover, ok := s.(Mover); ok {
		return mover.Move(random, code, z)
	}
	cards := s.Cards()
	if slices.Min(cards) == 2 && slices.Max(cards) == 2 && random.IntN(2) == 1 {
		return exchange(random, code)
	}
	site := random.IntN(len(cards))
	if cards[site] < 2 {
		return math.Inf(-1)
	}
	outcome := int32(random.IntN(cards[site] - 1))
	if outcome >= code[site] {
		outcome++
	}
	code[site] = outcome
	return 0
}

// exchange sets a site of outcome 1 to 0 and a site of outcome 0 to 1, both chosen uniformly. The
// reverse exchange has the same probability.
func exchange(random *rand.Rand, code []int32) (logRatio float64) {
	on := apply.Where(len(code), func(site int) bool { return code[site] == 1 })
	off := apply.Where(len(code), func(site int) bool { return code[site] != 1 })
	if len(on) == 0 || len(off) == 0 {
		return math.Inf(-1)
	}
	code[on[random.IntN(len(on))]] = 0
	code[off[random.IntN(len(off))]] = 1
	return 0
}

// Move adds a member drawn in proportion to the weights of items, removes a random member, or does
// both, each with probability 1/3. A new member gets the coordinates of the first unused place.
func (l *Lists) Move(random *rand.Rand, code []int32, z []float64) (logRatio float64) {
	size, kind := l.Size(code), random.IntN(3)
	switch {
	case kind == 0 && size < l.Slots():
		before := l.birth.outside(code[:size])
		item := l.birth.draw(code[:size], random.Float64())
		l.insert(code, z, size, item)
		return math.Log(before / l.birth.each[item] / float64(size+1))
	case kind == 1 && size > 0:
		item := l.remove(code, z, size, random.IntN(size))
		return math.Log(l.birth.each[item] / l.birth.outside(code[:size-1]) * float64(size))
	case kind == 2 && size > 0 && size < l.Items():
		before := l.birth.outside(code[:size])
		fresh := l.birth.draw(code[:size], random.Float64())
		old := l.remove(code, z, size, random.IntN(size))
		l.insert(code, z, size-1, fresh)
		return math.Log(l.birth.each[old] / l.birth.outside(code[:size]) * before / l.birth.each[fresh])
	}
	return math.Inf(-1)
}

// insert inserts item into an ascending list of size members. The item gets the coordinates of the
// first unused place, number size.
func (l *Lists) insert(code []int32, z []float64, size int, item int32) {
	place, _ := slices.BinarySearch(code[:size], item)
	copy(code[place+1:size+1], code[place:size])
	code[place] = item
	rotate(l.blocks(z, place, size+1), -l.width)
}

// remove removes the member at a place from a list of size members and returns it. The coordinates
// of the member move to the place that becomes unused.
func (l *Lists) remove(code []int32, z []float64, size, place int) (item int32) {
	item = code[place]
	copy(code[place:size-1], code[place+1:size])
	code[size-1] = int32(l.Items())
	rotate(l.blocks(z, place, size), l.width)
	return item
}

// blocks returns the part of the coordinates z that belongs to the places first to last−1 of a
// list.
func (l *Lists) blocks(z []float64, first, last int) []float64 {
	return z[l.fixed+first*l.width : l.fixed+last*l.width]
}

// rotate moves the first n entries of x to its end or, if n is negative, the last −n entries to its
// beginning.
func rotate(x []float64, n int) {
	if n < 0 {
		n += len(x)
	}
	head := slices.Clone(x[:n])
	copy(x, x[n:])
	copy(x[len(x)-n:], head)
}
