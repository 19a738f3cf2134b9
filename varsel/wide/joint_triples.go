package wide

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/parallel"
)

// mostTriples bounds the number of triples of columns: all triples of 464 columns, in a tenth of a
// second. Not tuned.
const mostTriples = 1 << 24

// bestTriples are sets of three predictors with the largest gains beyond two of them and the third
// alone, at most most of them, best first; none if there are too many columns.
func (s *jointScan) bestTriples(most int) []jointGain {
	count := len(s.predictor)
	if count < 3 || count*(count-1)/2*(count-2)/3 > mostTriples {
		return nil
	}
	products := make([]float64, count*count)
	for c := range count {
		s.inners(products[c*count:(c+1)*count], c, 0, s.columns, s.rows)
	}
	heaps := make([][]jointGain, scanHeaps)
	_ = parallel.Do(scanHeaps, func(k int) error {
		h := &bestJoint{most: most, scan: s, least: leastBeyond}
		for c := k; c < count; c += scanHeaps {
			for d := c + 1; d < count-1; d++ {
				h.lookAtTriples(c, d, products)
			}
		}
		heaps[k] = h.sets
		return nil
	})
	return bestOf(most, slices.Concat(heaps...))
}

// lookAtTriples tries two columns with every later one, given the inner products [C,C]. With the
// projection on both removed, the third explains b²/q more.
func (h *bestJoint) lookAtTriples(c, d int, products []float64) {
	s, count := h.scan, len(h.scan.predictor)
	ofC, ofD := products[c*count:(c+1)*count], products[d*count:(d+1)*count]
	r, b, a := ofC[d], s.along[c], s.along[d]
	left := 1 - r*r
	if !(left > collinear) || s.predictor[c] == s.predictor[d] {
		return
	}
	pair := math.Max(0, s.gain(b, a, r, s.ridge[c], s.ridge[d]))
	price := math.Max(s.price[c], s.price[d])
	price = math.Max(price, pair+s.price[c]-s.alone[c])
	needed := s.needed(h.least+price) - explained(b, a, r)
	for e := d + 1; e < count; e++ {
		u, v := (ofC[e]-r*ofD[e])/left, (ofD[e]-r*ofC[e])/left
		more, rest := s.along[e]-u*b-v*a, 1-u*ofC[e]-v*ofD[e]
		if more*more < needed*rest || !(rest > collinear) {
			continue
		}
		h.weighTriple([3]int{c, d, e}, [3]float64{r, ofC[e], ofD[e]}, explained(b, a, r)+more*more/rest)
	}
}

// weighTriple computes the gain of three columns from their inner products, first with second,
// first with third and second with third, and from the squares that they explain.
func (h *bestJoint) weighTriple(columns [3]int, inner [3]float64, explained float64) {
	s := h.scan
	members := []int{s.predictor[columns[0]], s.predictor[columns[1]], s.predictor[columns[2]]}
	if members[0] == members[2] || members[1] == members[2] {
		return
	}
	together := s.largest(explained, func(φ float64) float64 { return s.tripleAt(φ, columns, inner) })
	parts := 0.0
	for k, pair := range [3][2]int{{0, 1}, {0, 2}, {1, 2}} { // columns of inner[k]
		c, d, other := columns[pair[0]], columns[pair[1]], columns[2-k]
		alone := s.alone[c] + s.alone[d]
		if 1-inner[k]*inner[k] > collinear {
			alone = math.Max(alone, s.gain(s.along[c], s.along[d], inner[k], s.ridge[c], s.ridge[d]))
		}
		parts = math.Max(parts, alone+s.alone[other])
	}
	h.add(jointGain{members, together, together - parts})
}

// tripleAt is gainAt for three columns.
func (s *jointScan) tripleAt(φ float64, columns [3]int, inner [3]float64) float64 {
	var v, x [3]float64
	logDet := 0.0
	for k, c := range columns {
		v[k], x[k] = 1+φ*s.ridge[c], s.along[c]
		logDet -= math.Log(φ * s.ridge[c])
	}
	factor, ok := dense.Factorize([]float64{v[0], 0, 0, inner[0], v[1], 0, inner[1], inner[2], v[2]}, 3, 0)
	if !ok {
		return math.Inf(-1)
	}
	factor.SolveLower(x[:])
	return floats.Dot(x[:], x[:])/(2*φ) - (logDet+factor.LogDet())/2
}
