package mixture

// component is one component of a mixture, or a cluster of rows, whose weight is ignored. The
// family determines its parameters, which are on the working scale, on which a column has midrange
// 0 and range 1.
type component struct {
	weight float64
	// mean is the location. For counts it is the rate, and with several columns the location in the
	// first column.
	mean float64
	// variance is the square of the scale, for families with a scale.
	variance float64
	// vector holds the parameters with several columns. They are never changed in place.
	vector *vector
}

// state is a mixture: its components in the order of their means, and the parameters β of their
// prior, which some families lack.
type state struct {
	components []component
	beta       []float64
}

func (s *state) size() int { return len(s.components) }

func (s *state) clone() state {
	return state{append([]component(nil), s.components...), append([]float64(nil), s.beta...)}
}

func (s *state) sort() {
	c := s.components
	for j := 1; j < len(c); j++ {
		for i := j; i > 0 && c[i].mean < c[i-1].mean; i-- {
			c[i], c[i-1] = c[i-1], c[i]
		}
	}
}
