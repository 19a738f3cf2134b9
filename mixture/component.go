package mixture

import (
	"cmp"
	"slices"
)

// component is one component of a mixture, or a cluster of rows, whose field weight is ignored.
// Parameters are on the working scale, on which a column has midrange 0 and range 1. The family
// determines which parameters are used.
type component struct {
	weight float64
	// mean is the location, or the rate of counts. With several columns it is the location in the
	// first column.
	mean float64
	// variance is the square of the scale, for families with a scale.
	variance float64
	// vector holds the parameters of a component of several columns. It is never changed in place.
	vector *vector
}

// state is a mixture: its components in the order of their means, and the parameters β of the prior
// of components, if the family has such parameters.
type state struct {
	components []component
	beta       []float64
}

func (s *state) size() int { return len(s.components) }

func (s *state) clone() state {
	return state{append([]component(nil), s.components...), append([]float64(nil), s.beta...)}
}

func (s *state) sort() {
	slices.SortStableFunc(s.components, func(a, b component) int { return cmp.Compare(a.mean, b.mean) })
}
