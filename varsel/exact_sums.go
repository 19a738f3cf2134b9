package varsel

import (
	"cmp"
	"container/heap"
	"math"
	"math/bits"
	"slices"
)

// exactSums accumulates posterior sums over models, all multiplied by exp(−ref). The reference is
// the log joint of a model already seen and is raised only when a far better one comes, so that no
// weight overflows and those that matter never underflow.
type exactSums struct {
	ref       float64
	total     float64
	inclusion []float64 // [G]
	first     []float64 // Σ w E φ_j [D]
	second    []float64 // Σ w E φ_j² [D]
	grid      []float64 // Σ w by point of the grid over log σ [T]

	levelFirst, levelSecond float64 // of the level coefficient less levelShift
}

func newExactSums(s *exactSpace) *exactSums {
	return &exactSums{
		ref: math.Inf(-1), inclusion: make([]float64, len(s.groups)),
		first: make([]float64, s.dim), second: make([]float64, s.dim), grid: make([]float64, len(s.logSigma)),
	}
}

// weight returns exp(logJoint − ref), moving the reference first if needed.
func (s *exactSums) weight(logJoint float64) float64 {
	const headroom = 200 // e^200 leaves room for 2^25 terms and their squares
	if logJoint > s.ref+headroom || math.IsInf(s.ref, -1) {
		s.rescale(logJoint)
	}
	return math.Exp(logJoint - s.ref)
}

// rescale changes the reference.
func (s *exactSums) rescale(ref float64) {
	factor := math.Exp(s.ref - ref)
	s.ref = ref
	s.total *= factor
	s.levelFirst *= factor
	s.levelSecond *= factor
	for _, values := range [][]float64{s.inclusion, s.first, s.second, s.grid} {
		for i := range values {
			values[i] *= factor
		}
	}
}

// add accumulates the walker's current model; scale turns its grid weights into joint weights.
func (s *exactSums) add(w *walker, scale float64) {
	f := &w.frames[w.depth]
	points := len(w.logSigma)
	weights := w.weights[w.low:w.high]
	grid := s.grid[w.low:w.high]
	levelMean, levelVariance := f.levelMean[w.low:w.high], f.levelVariance[w.low:w.high]
	var mass, levelFirst, levelSecond float64
	for t, v := range weights {
		v *= scale
		mass += v
		grid[t] += v
		levelFirst += v * levelMean[t]
		levelSecond += v * (levelVariance[t] + levelMean[t]*levelMean[t])
	}
	s.total += mass
	s.levelFirst += levelFirst
	s.levelSecond += levelSecond
	for rest := w.mask; rest != 0; rest &= rest - 1 {
		s.inclusion[bits.TrailingZeros32(rest)] += mass
	}
	for a, j := range w.coordinates {
		means := f.mean[a*points+w.low : a*points+w.high]
		variances := f.variance[a*points+w.low : a*points+w.high]
		var first, second float64
		for t, v := range weights {
			m := means[t]
			first += v * m
			second += v * (variances[t] + m*m)
		}
		s.first[j] += scale * first
		s.second[j] += scale * second
	}
}

// merge adds the sums of other, which is left unusable.
func (s *exactSums) merge(other *exactSums) {
	if ref := max(s.ref, other.ref); ref > s.ref {
		s.rescale(ref)
	} else {
		other.rescale(ref)
	}
	s.total += other.total
	s.levelFirst += other.levelFirst
	s.levelSecond += other.levelSecond
	pairs := [][2][]float64{{s.inclusion, other.inclusion}, {s.first, other.first}, {s.second, other.second}, {s.grid, other.grid}}
	for _, pair := range pairs {
		for i, v := range pair[1] {
			pair[0][i] += v
		}
	}
}

// topEntry is a model with log p(m) + log p(y | m).
type topEntry struct {
	logJoint float64
	mask     uint32
}

// compare orders better models first, and equal ones by mask, so that the order is total.
func (e topEntry) compare(other topEntry) int {
	if c := cmp.Compare(other.logJoint, e.logJoint); c != 0 {
		return c
	}
	return cmp.Compare(e.mask, other.mask)
}

// topList keeps the best entries added; those of a full list are a heap with the worst at its root.
type topList struct {
	limit   int
	floor   float64 // entries below it are not kept
	entries []topEntry
}

func newTopList(limit int) *topList { return &topList{limit: limit, floor: math.Inf(-1)} }

// threshold returns the log joint below which no entry can enter.
func (l *topList) threshold() float64 {
	if len(l.entries) < l.limit {
		return l.floor
	}
	return l.entries[0].logJoint
}

func (l *topList) add(e topEntry) {
	switch {
	case e.logJoint < l.floor:
	case len(l.entries) < l.limit:
		if l.entries = append(l.entries, e); len(l.entries) == l.limit {
			heap.Init(l) // its root is needed from now on
		}
	case e.compare(l.entries[0]) < 0:
		l.entries[0] = e
		heap.Fix(l, 0)
	}
}

func (l *topList) merge(other *topList) {
	for _, e := range other.entries {
		l.add(e)
	}
}

// sorted returns the entries, best first.
func (l *topList) sorted() []topEntry {
	return slices.SortedFunc(slices.Values(l.entries), topEntry.compare)
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (l *topList) Len() int           { return len(l.entries) }
func (l *topList) Less(i, j int) bool { return l.entries[i].compare(l.entries[j]) > 0 }
func (l *topList) Swap(i, j int)      { l.entries[i], l.entries[j] = l.entries[j], l.entries[i] }
func (l *topList) Push(e any)         { l.entries = append(l.entries, e.(topEntry)) }
func (l *topList) Pop() any {
	last := l.entries[len(l.entries)-1]
	l.entries = l.entries[:len(l.entries)-1]
	return last
}
