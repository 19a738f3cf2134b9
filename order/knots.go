package order

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/rank"
)

// knots holds the candidate places of the knots of a spline (Denison, Mallick and Smith 1998), for
// a sum over all sets of up to MaxOrder candidates.
//
// The sets form a tree. A child of a set has one more candidate, which comes after all candidates
// of the set. The columns of later candidates are made orthogonal to the columns of the set, so
// that a set costs only a few scalar products. Columns and response come from the triangle R of the
// design's QR decomposition, which has fewer rows than the design.
type knots struct {
	places []float64 // times of the candidates, increasing

	degree, most, rows int
	response           []float64   // the response in R, orthogonal to the polynomial part
	columns            [][]float64 // the columns of knots in R, orthogonal to the polynomial part
	explained, total   float64     // sum of squares explained by the polynomial part alone; total sum of squares
	logCount           []float64   // log prior of a set of k knots, by k
}

// splines prepares the sum over splines. Candidates for knots are the times of evenly spaced rows.
func (p *Problem) splines(values []float64) error {
	o, n := p.Options, len(values)
	k := &knots{degree: o.Degree, most: o.MaxOrder, rows: n}
	p.knots = k
	// Without rows on both sides of a knot, its column is a linear combination of other columns.
	inner := p.times[o.Degree : n-1]
	count := min(o.Candidates, len(inner))
	k.places = apply.UpTo(count, func(c int) float64 { return inner[(2*c+1)*len(inner)/(2*count)] })
	if count < o.Candidates {
		p.Notes = append(p.Notes, fmt.Sprintf("%s have %s for knots", english.Count(n, "row"), english.Count(count, "place")))
	}
	if o.MaxOrder > count {
		return fmt.Errorf("got %s at %s: want at most as many, a smaller --max-order", english.Count(o.MaxOrder, "knot"), english.Count(count, "place"))
	}
	if sets := k.sets(); sets > mostSets {
		return fmt.Errorf("up to %d knots at %d places have %.2g sets, more than %.2g: want a smaller --max-order or fewer --candidates", k.most, count, sets, float64(mostSets))
	}
	names := apply.To(k.places, func(place float64) string { return fmt.Sprintf("knot at %g", place) })
	p.overTime(values, o.Degree, names)
	k.prepare(p.levels, o.MeanKnots)
	_, err := p.levels.newFit(rank.UpTo(o.Degree), p.levels.total)
	return err
}

func (k *knots) sets() float64 {
	total, ways := 0.0, 1.0
	for size := 0; size <= k.most; size++ {
		total += ways
		ways *= float64(len(k.places)-size) / float64(size+1)
	}
	return total
}

// prepare reads columns and response from the triangle R of the QR decomposition of a design. The
// first rows of R belong to the polynomial part, and the other rows to the space orthogonal to it.
func (k *knots) prepare(d *design, mean float64) {
	rows, last := d.reduced.Dims()
	last--
	column := func(j int) []float64 {
		return apply.UpTo(rows-k.degree, func(i int) float64 { return d.reduced.At(k.degree+i, j) })
	}
	for i := range k.degree {
		k.explained += d.reduced.At(i, last) * d.reduced.At(i, last)
	}
	k.total, k.response = d.total, column(last)
	k.columns = apply.UpTo(len(k.places), func(j int) []float64 { return column(k.degree + j) })
	norm, ways := 0.0, 0.0
	poisson := make([]float64, k.most+1)
	for size := range poisson {
		poisson[size] = float64(size)*math.Log(mean) - logsum.Gamma(float64(size)+1)
		norm += math.Exp(poisson[size])
	}
	for size := range poisson {
		k.logCount = append(k.logCount, poisson[size]-math.Log(norm)-ways)
		ways += math.Log(float64(len(k.places)-size) / float64(size+1))
	}
}

// logJoint returns log p(set) + log p(y | set), up to a constant, for a set of the given number of
// knots (size) that explains the given sum of squares.
func (k *knots) logJoint(size int, explained float64) float64 {
	return k.logCount[size] + logBeta(explained/k.total, k.degree+size, k.rows)
}

// walk visits all sets of knots that have the same first knot.
type walk struct {
	*knots
	ctx gocontext.Context
	// visit is called with every set, given as increasing indices of candidates, and with its log
	// joint density log p(set) + log p(y | set). It must not keep the slice.
	visit func(set []int, log float64)
	set   []int
	// columns and squares hold, for each number of knots in the set, the columns of later
	// candidates made orthogonal to the set, and their squared lengths.
	columns [][][]float64
	squares [][]float64
	exact   bool
}

func (k *knots) visitFrom(ctx gocontext.Context, candidate int, visit func(set []int, log float64)) error {
	w := &walk{knots: k, ctx: ctx, visit: visit}
	for range k.most + 1 {
		level := apply.UpTo(len(k.places), func(int) []float64 { return make([]float64, len(k.response)) })
		w.columns, w.squares = append(w.columns, level), append(w.squares, make([]float64, len(k.places)))
	}
	for j, c := range k.columns {
		copy(w.columns[0][j], c)
		w.squares[0][j] = floats.Dot(c, c)
	}
	w.add(0, candidate, k.explained)
	if w.exact {
		return errExact
	}
	return ctx.Err()
}

// add adds a candidate to a set of knots, whose number is level, visits the resulting set, and then
// the larger sets that begin with it. explained is the sum of squares that the set explains.
func (w *walk) add(level, candidate int, explained float64) {
	column := w.columns[level][candidate]
	square := w.squares[level][candidate]
	if !(square > 0) || w.ctx.Err() != nil {
		return
	}
	product := floats.Dot(column, w.response)
	explained += product * product / square
	if explained > w.total*(1-leastRest) {
		w.exact = true
		return
	}
	size := level + 1
	w.set = append(w.set, candidate)
	w.visit(w.set, w.logJoint(size, explained))
	switch {
	case size == w.most:
	case size == w.most-1:
		w.leaves(level, candidate, explained, product/square)
	default:
		for j := candidate + 1; j < len(w.places); j++ {
			c := w.columns[level+1][j]
			copy(c, w.columns[level][j])
			floats.AddScaled(c, -floats.Dot(column, c)/square, column)
			w.squares[level+1][j] = floats.Dot(c, c)
		}
		for j := candidate + 1; j < len(w.places); j++ {
			w.add(level+1, j, explained)
		}
	}
	w.set = w.set[:level]
}

// leaves visits the sets of the largest size, for which scalar products of columns suffice. slope
// is the scalar product of response and candidate's column, divided by the column's squared length.
func (w *walk) leaves(level, candidate int, explained, slope float64) {
	column, square := w.columns[level][candidate], w.squares[level][candidate]
	for j := candidate + 1; j < len(w.places); j++ {
		c := w.columns[level][j]
		shared := floats.Dot(column, c)
		left := w.squares[level][j] - shared*shared/square
		if !(left > 1e-6*w.squares[level][j]) { // nearly equal to the last column: avoid cancellation
			c = slices.Clone(c)
			floats.AddScaled(c, -shared/square, column)
			if left = floats.Dot(c, c); !(left > 0) {
				continue
			}
		}
		product := floats.Dot(w.columns[level][j], w.response) - shared*slope
		both := explained + product*product/left
		if both > w.total*(1-leastRest) {
			w.exact = true
			return
		}
		w.visit(append(w.set, j), w.logJoint(w.most, both))
	}
}

// knotSum is the exact posterior over sets of knots.
type knotSum struct {
	logEvidence float64   // log evidence summed over all sets, up to a constant
	count       []float64 // p(k | data)
	logCount    []float64 // log p(y | k), up to the same constant
	inclusion   []float64 // inclusion probability of each candidate
	best        [][]int   // the most probable set for each number of knots
	sets        [][]int   // draws of sets, in random order
}

// branch holds the sums over the sets that have the same first knot, divided by exp(top), where top
// is the largest log joint density.
type branch struct {
	top         float64
	count, best []float64
	inclusion   []float64
	sets        [][]int
}

func (b *branch) add(set []int, log float64) {
	if log > b.top {
		by := math.Exp(b.top - log)
		floats.Scale(by, b.count)
		floats.Scale(by, b.inclusion)
		b.top = log
	}
	weight := math.Exp(log - b.top)
	b.count[len(set)] += weight
	for _, j := range set {
		b.inclusion[j] += weight
	}
	if log > b.best[len(set)] {
		b.best[len(set)], b.sets[len(set)] = log, slices.Clone(set)
	}
}

// sum visits all sets of knots twice: once to sum, and once to draw.
func (k *knots) sum(ctx gocontext.Context, draws int, random *rand.Rand) (*knotSum, error) {
	branches := make([]*branch, len(k.places)+1)
	for b := range branches {
		best := slices.Repeat([]float64{math.Inf(-1)}, k.most+1)
		branches[b] = &branch{math.Inf(-1), make([]float64, k.most+1), best, make([]float64, len(k.places)), make([][]int, k.most+1)}
	}
	none := k.logJoint(0, k.explained)
	branches[len(k.places)].add(nil, none)
	if err := parallel.Do(len(k.places), func(j int) error { return k.visitFrom(ctx, j, branches[j].add) }); err != nil {
		return nil, err
	}
	s := &knotSum{logEvidence: math.Inf(-1), count: make([]float64, k.most+1), logCount: make([]float64, k.most+1), inclusion: make([]float64, len(k.places)), best: make([][]int, k.most+1)}
	masses := apply.To(branches, func(b *branch) float64 { return math.Log(floats.Sum(b.count)) + b.top })
	s.logEvidence = floats.LogSumExp(masses)
	most := slices.Repeat([]float64{math.Inf(-1)}, k.most+1)
	for _, b := range branches {
		scale := math.Exp(b.top - s.logEvidence)
		floats.AddScaled(s.count, scale, b.count)
		floats.AddScaled(s.inclusion, scale, b.inclusion)
		for size, log := range b.best {
			if log > most[size] {
				most[size], s.best[size] = log, b.sets[size]
			}
		}
	}
	prior := 0.0 // log of the number of sets with this number of knots
	for size := range s.count {
		s.logCount[size] = math.Log(s.count[size]) + s.logEvidence - k.logCount[size] - prior
		prior += math.Log(float64(len(k.places)-size) / float64(size+1))
	}
	var err error
	s.sets, err = k.draw(ctx, masses, s.logEvidence, draws, random)
	return s, err
}

// draw draws sets of knots: first a branch (the sets with a common first knot) in proportion to its
// probability, then the set at a uniform position in the branch's sum. masses holds the logarithms
// of the sums of the branches.
func (k *knots) draw(ctx gocontext.Context, masses []float64, logEvidence float64, draws int, random *rand.Rand) ([][]int, error) {
	wanted := make([][]float64, len(masses))
	for range draws {
		at := pick.Func(len(masses), random.Float64(), func(j int) float64 { return math.Exp(masses[j] - logEvidence) })
		wanted[at] = append(wanted[at], random.Float64())
	}
	found := make([][][]int, len(masses))
	err := parallel.Do(len(masses), func(j int) error {
		if len(wanted[j]) == 0 {
			return nil
		}
		if j == len(k.places) {
			found[j] = make([][]int, len(wanted[j]))
			return nil
		}
		slices.Sort(wanted[j])
		below := 0.0
		var last []int
		err := k.visitFrom(ctx, j, func(set []int, log float64) {
			below += math.Exp(log - masses[j])
			for len(found[j]) < len(wanted[j]) && wanted[j][len(found[j])] < below {
				found[j] = append(found[j], slices.Clone(set))
			}
			if len(found[j]) < len(wanted[j]) {
				last = append(last[:0], set...)
			}
		})
		for len(found[j]) < len(wanted[j]) { // rounding errors at the end of the sum
			found[j] = append(found[j], slices.Clone(last))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sets := slices.Concat(found...)
	random.Shuffle(len(sets), func(a, b int) { sets[a], sets[b] = sets[b], sets[a] })
	return sets, nil
}
