package mixture

// component is one component of a mixture, or a cluster of rows, whose weight is ignored. Its
// parameters belong to its family, on the working scale.
type component struct {
	weight float64
	// mean is the location: the rate of counts, and the location in the first of several columns.
	mean float64
	// variance is the square of the scale, for families with a scale.
	variance float64
	// vector holds the parameters of several columns, which are never changed in place.
	vector *vector
}

// state is a mixture: components in the order of their means, and β of their prior, maybe empty.
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
