package wide

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/parallel"
)

// mostTriples bounds the number of triples of columns: all triples of 464 columns, in a tenth of a
// second.
const mostTriples = 1 << 24

// bestTriples returns the sets of three predictors with the largest gains in excess of the gains of
// any two together plus the third alone, the best one first. The argument most bounds their number.
// It returns nil if there are too many columns.
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
	parallel.Run(scanHeaps, func(k int) {
		h := &bestJoint{most: most, scan: s, least: leastBeyond}
		for c := k; c < count; c += scanHeaps {
			for d := c + 1; d < count-1; d++ {
				h.lookAtTriples(c, d, products)
			}
		}
		heaps[k] = h.sets
	})
	return bestOf(most, slices.Concat(heaps...))
}

// lookAtTriples considers columns c and d with every later column, given all inner products [C,C].
// After projection off c and d, the later column explains m²/q further squares, where q is its
// squared length (rest in the code) and m its inner product with the residual responses (more).
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
		h.weighTriple([3]int{c, d, e}, [3]float64{r, ofC[e], ofD[e]}, pair, explained(b, a, r)+more*more/rest)
	}
}

// weighTriple computes the gain of three columns, and adds them to the sets if it is large enough.
// inner holds their inner products: first with second, first with third, and second with third.
// pair is the gain of the first two columns, and explained the squares that all three explain.
func (h *bestJoint) weighTriple(columns [3]int, inner [3]float64, pair, explained float64) {
	s := h.scan
	first, second, third := s.predictor[columns[0]], s.predictor[columns[1]], s.predictor[columns[2]]
	if first == third || second == third {
		return
	}
	together := s.largest(explained, func(φ float64) float64 { return s.tripleAt(φ, columns, inner) })
	parts := math.Max(pair, s.alone[columns[0]]+s.alone[columns[1]]) + s.alone[columns[2]]
	for k := 1; k < 3 && together-parts > h.least; k++ {
		c, d, other := columns[k-1], columns[2], columns[2-k]
		alone := s.alone[c] + s.alone[d]
		if 1-inner[k]*inner[k] > collinear {
			alone = math.Max(alone, s.gain(s.along[c], s.along[d], inner[k], s.ridge[c], s.ridge[d]))
		}
		parts = math.Max(parts, alone+s.alone[other])
	}
	if together-parts > h.least {
		h.add(jointGain{[]int{first, second, third}, together, together - parts})
	}
}

// tripleAt returns the gain at one φ, as gainAt does, for three columns. It uses Cramer's rule,
// since even small runs have millions of triples.
func (s *jointScan) tripleAt(φ float64, columns [3]int, inner [3]float64) float64 {
	v, w, x := φ*s.ridge[columns[0]], φ*s.ridge[columns[1]], φ*s.ridge[columns[2]]
	b, c, d := s.along[columns[0]], s.along[columns[1]], s.along[columns[2]]
	bc, bd, cd := inner[0], inner[1], inner[2]
	// minors of the matrix with 1 + v, 1 + w and 1 + x on the diagonal
	ofB, ofC, ofD := (1+w)*(1+x)-cd*cd, (1+v)*(1+x)-bd*bd, (1+v)*(1+w)-bc*bc
	ofBC, ofBD, ofCD := bd*cd-bc*(1+x), bc*cd-bd*(1+w), bc*bd-cd*(1+v)
	det := (1+v)*ofB + bc*ofBC + bd*ofBD
	if !(det > 0) {
		return math.Inf(-1)
	}
	form := b*b*ofB + c*c*ofC + d*d*ofD + 2*(b*c*ofBC+b*d*ofBD+c*d*ofCD)
	return form/det/(2*φ) - math.Log(det/(v*w*x))/2
}
