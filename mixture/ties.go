package mixture

import (
	"math"
	"slices"
	"sort"
)

// ties are the values of a column that rows share.
type ties struct {
	values []float64 // all different values, increasing
	counts []int
}

func newTies(y []float64) *ties {
	t := &ties{}
	for _, v := range slices.Sorted(slices.Values(y)) {
		if last := len(t.values) - 1; last >= 0 && t.values[last] == v {
			t.counts[last]++
		} else {
			t.values, t.counts = append(t.values, v), append(t.counts, 1)
		}
	}
	return t
}

// spike reports whether a component at a place with a scale describes one shared value: it is
// narrower than the distance of that value to the next. A density of equal values has no bound but
// that of the prior.
func (t *ties) spike(mean, scale float64) bool {
	at := sort.SearchFloat64s(t.values, mean)
	if at == len(t.values) || at > 0 && mean-t.values[at-1] < t.values[at]-mean {
		at--
	}
	gap := math.Inf(1)
	if at > 0 {
		gap = t.values[at] - t.values[at-1]
	}
	if at+1 < len(t.values) {
		gap = math.Min(gap, t.values[at+1]-t.values[at])
	}
	return t.counts[at] > 1 && scale < gap/2 && math.Abs(mean-t.values[at]) < 3*scale
}

// Spikes: how probable one may be before it is said, and how many rows it has; chosen by hand.
const (
	spikeShare = 0.02
	spikeRows  = 1.5
)

// spiked is the share of draws with a component that describes ties, and a column where that is.
func (s *Sample) spiked() (share float64, column string) {
	p := s.problem
	if p.Options.Family == Poisson {
		return 0, ""
	}
	draws := thinned(s.draws, summaryDraws)
	for at, c := range p.columns {
		t := newTies(c.y)
		if len(t.values) == p.Rows() {
			continue
		}
		found := 0
		for d := range draws {
			if slices.ContainsFunc(draws[d].state.components, func(one component) bool {
				location, scale := p.family.summary(at, one)
				return one.weight*float64(p.Rows()) > spikeRows && t.spike(location, scale)
			}) {
				found++
			}
		}
		if own := float64(found) / float64(len(draws)); own > share {
			share, column = own, c.name
		}
	}
	return share, column
}
