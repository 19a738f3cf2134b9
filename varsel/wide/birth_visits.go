package wide

// modelOdds holds the odds of adding each column to one model, given σ. With V the covariance of
// the responses y given the model, and s² the prior variance of the coefficient of a predictor,
// grown and linear hold 1 + s² x'V⁻¹x and x'V⁻¹y for all columns x [C].
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

// mostVisited is the largest number of models of a sweep that a state holds at a time. The process
// often returns to a model: a member without which the model is improbable comes back at once, and
// an improbable member leaves soon.
const mostVisited = 32

// beginVisits makes the present model the first model of a sweep.
func (s *birthState) beginVisits() {
	s.key, s.rated, s.visited = 0, false, map[uint64]*modelOdds{0: s.modelOdds}
}

// endVisits makes first, the first model of the sweep, the present model. Sweeps of other states
// may then use the memory of the other models.
func (s *birthState) endVisits(first *modelOdds) {
	for _, model := range s.visited {
		if model != first {
			s.spare.Put(model)
		}
	}
	s.modelOdds, s.visited = first, nil
}

// after returns the model that differs from the present one in column c. If the state does not hold
// it, known is false, and the result is memory for it.
func (s *birthState) after(c int) (to *modelOdds, known bool) {
	key := s.key ^ differing(c)
	if to, known = s.visited[key]; !known {
		if len(s.visited) == mostVisited {
			clear(s.visited)
		}
		if to, _ = s.spare.Get().(*modelOdds); to == nil {
			to = newModelOdds(len(s.grown))
		}
		to.key, to.rated, s.visited[key] = key, false, to
	}
	return to, known
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
