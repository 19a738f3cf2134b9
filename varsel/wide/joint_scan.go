package wide

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/varsel/design"
)

// Two predictors can matter only together. If one is the sum of a cause of the response and a large
// disturbance, and the other measures this disturbance, each alone explains almost nothing, and the
// two together explain all that the cause does. Searches that change one predictor at a time must
// pass through a model with one of them, which can be less probable than the empty model by a
// hundred nats. A scan of all pairs that can be added to a model avoids this; it takes the inner
// products of all columns.

// jointScan holds all columns outside a model, whose pairs it scans. The log likelihood is replaced
// by its quadratic approximation −½ Σ w_i (η_i − ŷ_i)²/φ at the mode of the model, with working
// weights w and working responses ŷ; φ is 1, or unknown. Each column is multiplied by √w, projected
// off the columns of the model and scaled to unit length. The residual responses are √w ŷ,
// projected off the columns of the model.
type jointScan struct {
	rows      int
	columns   []float64 // [C·rows]
	predictor []int     // predictor of each column
	along     []float64 // inner products of the columns with the residual responses
	ridge     []float64 // noise variance divided by the prior variance of the coefficients, at φ = 1
	squares   float64   // S, the squared length of the residual responses
	freedom   float64   // ν, the number of rows minus the number of columns of the model; 0 if φ is known
	alone     []float64 // gain of each column alone in nats, at least 0
	price     []float64 // gain of each column alone, plus the least that its prior costs a pair, in nats

	short   []float64 // columns with rows added up [C·lengths], from which inner products are computed
	lengths int

	// If the inner products of the design are known, columns instead holds the projections of the
	// columns on the model, with a row for each column of the model. The inner product of two
	// columns is then the known inner product (place holds their numbers in the design), times the
	// scales of both, less the inner product of their projections.
	known *design.Products
	place []int
	scale []float64
}

// jointGain is a set of predictors. together is the log Bayes factor, in nats, for adding all of
// them to a model, and beyond its excess over the log Bayes factors for adding subsets that make up
// the set, such as single predictors.
type jointGain struct {
	members          []int // ascending
	together, beyond float64
}

// Settings of the scan. Half and twice the values of all but collinear give the same answers
// (docs/benchmarks/constants.md).
const (
	// mostPaired is the number of columns whose pairs are scanned, those with the largest inner
	// products with the response.
	mostPaired = 1 << 14
	// mostProducts bounds the multiplications of a scan to about a second. If there are too many
	// rows, rows are added up with random signs, which preserves inner products in expectation
	// (Charikar, Chen and Farach-Colton 2004), and almost exactly for nearly equal columns. The
	// gains of the best pairs are computed from all rows.
	mostProducts = 1 << 32
	// scanRows columns are multiplied with scanTile other columns while they are in the cache.
	// scanHeaps is the number of lists of best sets, the same for any number of processors.
	scanRows, scanTile, scanHeaps = 512, 128, 16
	// leastBeyond is the smallest gain of a set in excess of the gains of its parts, in nats.
	leastBeyond = 1
	// collinear is a share of the squared length of a column. If less remains when the column is
	// projected off the model, or off the other column of a pair, the remainder is rounding error.
	collinear = 1e-9
)

// jointScan prepares the scan of pairs to add to a model whose mode f has found.
func (f *screenFit) jointScan(model []int) *jointScan {
	t := f.target
	rows, _ := t.X.Dims()
	s := &jointScan{rows: rows}
	root := make([]float64, rows)
	rest := make([]float64, rows)
	for i, w := range f.weights {
		root[i] = math.Sqrt(math.Max(w, 0))
		rest[i] = root[i] * f.response[i]
	}
	var basis [][]float64
	for _, j := range f.coordinates(model) {
		x := make([]float64, rows)
		vectors.Mul(x, t.Columns[j], root)
		floats.AddScaled(rest, -t.Mean[j], x)
		if length := outside(x, basis); length > 0 {
			floats.Scale(1/length, x)
			basis = append(basis, x)
		}
	}
	outside(rest, basis)
	s.squares = floats.Dot(rest, rest)
	if t.Scale >= 0 && (t.Kind.Conjugate() || t.Kind.HeavyTails()) {
		s.freedom = float64(rows + t.Responses.More - len(basis))
		s.squares += t.Responses.Residual * math.Exp(-2*f.logScale)
		if !(s.freedom > 0) || !(s.squares > 0) {
			return &jointScan{rows: rows}
		}
	}
	type candidate struct {
		predictor, column int
		unit              []float64
		along, length     float64
	}
	// beside writes column j, weighted, projected off the model and scaled, to x. It returns the
	// inner product with the residual responses, and the length, 0 if the column depends on the
	// model.
	beside := func(j int, x []float64) (along, length float64) {
		vectors.Mul(x, t.Columns[j], root)
		if length = outside(x, basis); length > 0 {
			vectors.MulScalar(x, x, 1/length)
		}
		return floats.Dot(x, rest), length
	}
	if known, columns := t.Stored(), f.coordinates(model); known != nil {
		if projected := known.Beside(columns, collinear, root[0]); projected != nil {
			s.known, s.rows, beside = known, len(columns), projected
		}
	}
	var candidates []candidate
	s.columns = make([]float64, 0, len(t.Columns)*s.rows)
	for predictor, p := range f.design.Predictors {
		if slices.Contains(model, predictor) {
			continue
		}
		for _, j := range p.Coordinates {
			at := len(s.columns)
			x := s.columns[at : at+s.rows]
			if along, length := beside(j, x); length > 0 {
				candidates = append(candidates, candidate{predictor, j, x, along, length})
				s.columns = s.columns[:at+s.rows]
			}
		}
	}
	if len(candidates) > mostPaired {
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(math.Abs(b.along), math.Abs(a.along)) })
		candidates, s.columns = candidates[:mostPaired], make([]float64, 0, mostPaired*s.rows)
		for _, c := range candidates {
			s.columns = append(s.columns, c.unit...)
		}
	}
	for _, c := range candidates {
		s.predictor = append(s.predictor, c.predictor)
		s.along = append(s.along, c.along)
		s.place, s.scale = append(s.place, c.column), append(s.scale, root[0]/c.length)
		scale := t.SD[c.column] * c.length
		ridge := 1 / (scale * scale)
		s.ridge = append(s.ridge, ridge)
		alone := math.Max(0, s.gain(c.along, 0, 0, ridge, math.Inf(1)))
		s.alone, s.price = append(s.alone, alone), append(s.price, alone+math.Log1p(1/(ridge*s.base()))/2)
	}
	s.shorten(mostProducts / max(s.pairs(), 1))
	return s
}

// outside subtracts from x its projection on orthogonal unit vectors. It returns the length of the
// remainder, or 0 if the remainder is rounding error.
func outside(x []float64, basis [][]float64) (length float64) {
	before := floats.Norm(x, 2)
	for range 2 { // two rounds make the remainder orthogonal up to rounding
		for _, u := range basis {
			floats.AddScaled(x, -floats.Dot(u, x), u)
		}
	}
	length = floats.Norm(x, 2)
	if !(length*length > collinear*before*before) || math.IsInf(length, 0) {
		return 0
	}
	return length
}

// pairs returns the number of pairs of columns.
func (s *jointScan) pairs() int { return len(s.predictor) * (len(s.predictor) - 1) / 2 }

// shorten adds up rows if there are more than the argument most, so that most sums remain.
func (s *jointScan) shorten(most int) {
	count := len(s.predictor)
	s.short, s.lengths = s.columns, s.rows
	if s.rows <= most {
		return
	}
	s.lengths = most
	s.short = make([]float64, count*most)
	random := stream.Rand(0, "pairs of predictors")
	place, sign := make([]int, s.rows), make([]float64, s.rows)
	for i := range s.rows {
		place[i], sign[i] = random.IntN(most), float64(1-2*random.IntN(2))
	}
	for c := range count {
		column := s.short[c*most : (c+1)*most]
		for i, x := range s.columns[c*s.rows : (c+1)*s.rows] {
			column[place[i]] += sign[i] * x
		}
		if length := floats.Norm(column, 2); length > 0 {
			floats.Scale(1/length, column)
		}
	}
}

// gain returns the log Bayes factor for adding two more unit columns to the model. b and c are
// their inner products with the residual responses, and r is their inner product with each other. v
// and w are their ridges at φ = 1; an infinite ridge leaves a column out.
func (s *jointScan) gain(b, c, r, v, w float64) float64 {
	most := b * b
	if !math.IsInf(w, 1) {
		most = explained(b, c, r)
	}
	return s.largest(most, func(φ float64) float64 { return s.gainAt(φ, b, c, r, v, w) })
}

// largest returns the gain at the known φ. If φ is unknown, it returns the largest of the gains at
// three values, from φ of the model to φ of the model with columns that explain the given squares.
func (s *jointScan) largest(explained float64, gainAt func(φ float64) float64) float64 {
	if s.freedom == 0 {
		return gainAt(1)
	}
	base := s.base()
	least := math.Max(s.squares-explained, collinear*s.squares) / s.freedom
	half := math.Log(least/base) / 2
	best := math.Inf(-1)
	for k, φ := range [...]float64{base, math.Sqrt(base * least), least} {
		change := -s.freedom/2*float64(k)*half - s.squares/2*(1/φ-1/base)
		best = math.Max(best, change+gainAt(φ))
	}
	return best
}

// base returns the estimate of φ given the model.
func (s *jointScan) base() float64 {
	if s.freedom == 0 {
		return 1
	}
	return s.squares / s.freedom
}

// gainAt returns the gain at one φ: b'(R + φA)⁻¹b/2φ − ½ log |I + R/φA|, where the vector b holds
// the inner products of the columns with the residual responses, R their inner products with each
// other, and the diagonal matrix A the ridges.
func (s *jointScan) gainAt(φ, b, c, r, v, w float64) float64 {
	v *= φ
	if math.IsInf(w, 1) {
		return b*b/(1+v)/(2*φ) - math.Log1p(1/v)/2
	}
	w *= φ
	det := (1+v)*(1+w) - r*r
	return ((1+w)*b*b-2*r*b*c+(1+v)*c*c)/det/(2*φ) - math.Log(det/(v*w))/2
}

// explained returns the squares of the residual responses that two unit columns explain.
func explained(b, c, r float64) float64 { return (b*b - 2*r*b*c + c*c) / (1 - r*r) }

// needed returns the squares that a pair must explain to have the gain, whatever its prior.
func (s *jointScan) needed(gain float64) float64 {
	if s.freedom == 0 {
		return 2 * gain
	}
	return -s.squares * math.Expm1(-2*gain/s.freedom)
}

// best returns the pairs with the largest gains in excess of the gains of their two predictors
// alone, the best one first. The argument most bounds their number.
func (s *jointScan) best(most int) []jointGain {
	count := len(s.predictor)
	type tile struct{ first, second int }
	var tiles []tile
	for first := 0; first < count; first += scanRows {
		for second := first; second < count; second += scanTile {
			tiles = append(tiles, tile{first, second})
		}
	}
	heaps := make([][]jointGain, scanHeaps)
	parallel.Run(scanHeaps, func(k int) {
		t := scanTiles{jointScan: s, products: make([]float64, scanRows*scanTile)}
		h := &bestJoint{most: most, scan: s, least: leastBeyond}
		for i := k; i < len(tiles); i += scanHeaps {
			first, second := tiles[i].first, tiles[i].second
			width := min(scanTile, count-second)
			products := t.inners(first, second, min(scanRows, second+width-first), width)
			for c := 0; len(products) > 0; c, products = c+1, products[width:] {
				from := max(0, first+c+1-second)
				h.look(first+c, second+from, products[from:width])
			}
		}
		heaps[k] = h.sets
	})
	return bestOf(most, slices.Concat(heaps...))
}

// scanTiles computes tiles of the matrix of inner products. Its fields besides the scan are memory.
type scanTiles struct {
	*jointScan
	products, shared, local []float64
}

// inners returns the inner products, with rows added up, of columns from first on with columns from
// second on [count, width].
func (t *scanTiles) inners(first, second, count, width int) []float64 {
	to := t.products[:count*width]
	if t.known != nil {
		for c := range count {
			t.jointScan.inners(to[c*width:(c+1)*width], first+c, second, t.short, t.lengths)
		}
		return to
	}
	plan := kernel.NewProductPlan[float64](kernel.Detect(), count, t.lengths, width, nil, nil)
	t.shared = slices.Grow(t.shared[:0], plan.SharedScratch())[:plan.SharedScratch()]
	t.local = slices.Grow(t.local[:0], plan.LocalScratch())[:plan.LocalScratch()]
	part := func(from, count int) kernel.Matrix[float64] {
		return kernel.Dense(t.short[from*t.lengths:(from+count)*t.lengths], count, t.lengths)
	}
	plan.Run(kernel.Dense(to, count, width), part(first, count), part(second, width).Transpose(), false, t.shared, t.local)
	return to
}

// bestOf returns the best of all sets, the best one first. The argument most bounds their number.
// The list all can hold a set more than once if predictors have several columns.
func bestOf(most int, all []jointGain) (kept []jointGain) {
	slices.SortFunc(all, func(a, b jointGain) int {
		return cmp.Or(cmp.Compare(b.beyond, a.beyond), slices.Compare(a.members, b.members))
	})
	for _, one := range all {
		same := func(other jointGain) bool { return slices.Equal(other.members, one.members) }
		if len(kept) < most && !slices.ContainsFunc(kept, same) {
			kept = append(kept, one)
		}
	}
	return kept
}

// bestJoint holds the best sets of predictors found so far, the best one first.
type bestJoint struct {
	scan  *jointScan
	most  int
	least float64 // a further set needs a larger gain in excess of the gains of its parts
	sets  []jointGain
}

// add inserts one more set if it is good enough.
func (h *bestJoint) add(one jointGain) {
	if !(one.beyond > h.least) {
		return
	}
	slices.Sort(one.members)
	at, _ := slices.BinarySearchFunc(h.sets, one, func(a, b jointGain) int { return cmp.Compare(b.beyond, a.beyond) })
	if len(h.sets) == h.most {
		h.sets = h.sets[:h.most-1]
	}
	h.sets = slices.Insert(h.sets, at, one)
	if len(h.sets) == h.most {
		h.least = h.sets[h.most-1].beyond
	}
}

// look considers the pairs of column c with the column whose number is the argument from and with
// the columns after it. products holds the inner products of these pairs.
func (h *bestJoint) look(c, from int, products []float64) {
	s, b := h.scan, h.scan.along[c]
	bb, needed := b*b, s.needed(h.least+s.price[c])
	for i, d := range s.along[from : from+len(products)] {
		r := products[i]
		explained, left := bb-2*r*b*d+d*d, 1-r*r
		if explained < needed*left && left > 0 || explained < s.needed(h.least+s.price[from+i])*left && left > 0 {
			continue
		}
		h.computePair(c, from+i)
	}
}

// computePair adds the pair of columns c and d, with its gain computed from all rows.
func (h *bestJoint) computePair(c, d int) {
	s := h.scan
	if s.predictor[c] == s.predictor[d] {
		return
	}
	r := s.inner(c, d)
	if !(1-r*r > collinear) {
		return
	}
	together := s.gain(s.along[c], s.along[d], r, s.ridge[c], s.ridge[d])
	h.add(jointGain{[]int{s.predictor[c], s.predictor[d]}, together, together - s.alone[c] - s.alone[d]})
}

func (s *jointScan) inner(c, d int) float64 {
	var r [1]float64
	s.inners(r[:], c, d, s.columns, s.rows)
	return r[0]
}

// inners computes the inner products of column c with the column whose number is the argument from
// and with the columns after it. It fills the slice named to. columns [C·rows] holds the columns,
// with all rows or with rows added up.
func (s *jointScan) inners(to []float64, c, from int, columns []float64, rows int) {
	vectors.DotRows(to, columns[from*rows:(from+len(to))*rows], rows, columns[c*rows:(c+1)*rows])
	if s.known != nil {
		for i, projected := range to {
			to[i] = s.known.Inner(s.place[c], s.place[from+i])*s.scale[c]*s.scale[from+i] - projected
		}
	}
}
