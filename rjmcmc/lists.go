package rjmcmc

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/space"
)

// list is a space of short ascending lists of items: [space.Lists] or a type that embeds it. Its
// coordinates belong to places in the list, so that the coefficient of an item moves to another
// coordinate when a smaller item is added or removed.
type list interface {
	space.Mover
	Items() int
	Slots() int
	Fixed() int
	Width() int
	Set(code []int32) []int32
	Code(set []int32, dst []int32) []int32
	Valid(code []int32) bool
	WithWeights(weights []float64) (*space.Lists, error)
}

var _ list = (*space.Lists)(nil)

// label returns a number that identifies the parameter at coordinate j in every model: the
// coefficient of an item has the same label at every place of the list. The labels of the active
// coordinates ascend. In spaces other than lists the label of a coordinate is j.
func (s *sampler) label(code []int32, j int) int {
	if s.list == nil || j < s.list.Fixed() {
		return j
	}
	slot, place := (j-s.list.Fixed())/s.list.Width(), (j-s.list.Fixed())%s.list.Width()
	return s.list.Fixed() + int(code[slot])*s.list.Width() + place
}

const (
	// uniformShare is the share of proposed new items that are drawn uniformly, so that items of
	// small weight are proposed too. Half or twice this share gives the same answers
	// (docs/benchmarks/constants.md).
	uniformShare = 0.25
	// guessWeight is the number of proposals to which the previous estimate is equivalent when
	// estimates are renewed.
	guessWeight = 1
)

// itemWeights learns during burn-in how often to propose each item. A proposal to add or remove an
// item compares the model with the item to the model without it, at the present state of the rest
// of the chain. The comparison gives the posterior odds o that the item is in the model, even if
// the proposal is refused. The mean of o/(1+o) estimates the inclusion probability of the item, and
// the item is proposed in proportion to this estimate.
type itemWeights struct {
	inclusion  []float64 // [p] estimates so far, p the number of items
	sum, count []float64 // [p] sums over the proposals since the last renewal
}

// newItemWeights starts from inclusion probabilities with the sum 2, in proportion to weights, or
// equal if weights is nil.
func newItemWeights(items int, weights []float64) *itemWeights {
	const members = 2
	w := &itemWeights{
		inclusion: slices.Repeat([]float64{min(0.5, members/float64(items))}, items),
		sum:       make([]float64, items), count: make([]float64, items),
	}
	if weights != nil {
		total := floats.Sum(weights)
		for i, v := range weights {
			w.inclusion[i] = min(0.5, members*v/total)
		}
	}
	return w
}

// observe adds a proposal to change the list from into the list to, with log posterior odds
// logOdds. Exchanges of items are ignored, because they have no information about one item alone.
func (w *itemWeights) observe(from, to []int32, logOdds float64) {
	longer, shorter := to, from
	if len(from) > len(to) {
		longer, shorter, logOdds = from, to, -logOdds
	}
	if len(longer) != len(shorter)+1 || math.IsNaN(logOdds) {
		return
	}
	place := 0
	for place < len(shorter) && shorter[place] == longer[place] {
		place++
	}
	item := longer[place]
	w.sum[item] += 1 / (1 + math.Exp(-logOdds))
	w.count[item]++
}

// renew updates the estimates, clears the sums, and returns the weights for proposals of items.
func (w *itemWeights) renew() []float64 {
	var total float64
	for i, n := range w.count {
		w.inclusion[i] = (w.sum[i] + guessWeight*w.inclusion[i]) / (n + guessWeight)
		total += w.inclusion[i]
	}
	clear(w.sum)
	clear(w.count)
	weights := make([]float64, len(w.inclusion))
	for i, p := range w.inclusion {
		weights[i] = (1-uniformShare)*p/total + uniformShare/float64(len(weights))
	}
	return weights
}
