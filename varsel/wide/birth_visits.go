package wide

// modelOdds holds the odds of adding each column to one model, given σ. With V the covariance of
// the responses y given the model, and s² the prior variance of the coefficient of an item, grown
// and linear hold 1 + s² x'V⁻¹x and x'V⁻¹y for all columns x [C].
type modelOdds struct {
	key           uint64  // of the columns in which the model differs from the first model of the sweep (differing)
	logEvidence   float64 // log p(y | m, σ)
	grown, linear []float64
	// If rated is true, rate is the sum of the odds of adding each column. odds holds numbers in
	// proportion to the odds, sum their sum, and sums their sums over blocks of columns.
	rated      bool
	rate, sum  float64
	odds, sums []float64
}

func newModelOdds(columns int) *modelOdds {
	numbers := make([]float64, 3*columns)
	return &modelOdds{
		grown: numbers[:columns:columns], linear: numbers[columns : 2*columns : 2*columns], odds: numbers[2*columns:],
		sums: make([]float64, (columns+oddsBlock-1)/oddsBlock),
	}
}

// mostVisited is the largest number of models of a sweep, after the first one, that visits holds at
// a time. Most jumps of a sweep return to one of them.
const mostVisited = 16

// visits holds the models that a sweep has visited so far. The process often returns to a model: a
// member without which the model is improbable comes back at once, and an improbable member leaves
// soon.
type visits struct {
	first       *modelOdds
	models      [mostVisited]*modelOdds // as many as the number count; the oldest ones are replaced, in turn, at the index next
	count, next int
}

// beginVisits makes the present model the first model of a sweep.
func (s *birthState) beginVisits() {
	v, ok := s.births.visits.Get().(*visits)
	if !ok {
		v = &visits{}
	}
	s.visits = v
	v.first, v.count, v.next = s.modelOdds, 0, 0
	s.key, s.rated = 0, false
}

// after returns the model that differs from the argument from in column c. If the sweep has not
// visited it, or the memory was used again, known is false, and the result is memory for it.
func (v *visits) after(from *modelOdds, c int) (to *modelOdds, known bool) {
	key := from.key ^ differing(c)
	if key == 0 {
		return v.first, true
	}
	for _, model := range v.models[:v.count] {
		if model.key == key {
			return model, true
		}
	}
	if v.count == mostVisited {
		if v.models[v.next] == from {
			v.next = (v.next + 1) % mostVisited
		}
		to, v.next = v.models[v.next], (v.next+1)%mostVisited
	} else {
		if v.models[v.count] == nil {
			v.models[v.count] = newModelOdds(len(from.grown))
		}
		to = v.models[v.count]
		v.count++
	}
	to.key, to.rated = key, false
	return to, false
}

// differing returns 64 mixed bits of the number of a column (Steele, Lea and Flood 2014). The key
// of several columns is the exclusive or of their bits (Zobrist 1970). Two of the few models of a
// sweep have equal keys with a probability of about 10⁻¹⁷.
func differing(c int) uint64 {
	x := uint64(c+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
