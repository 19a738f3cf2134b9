package mixture

import (
	"math"
	"slices"
	"sort"
)

// ties are the different values of a column with the numbers of rows that share them.
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

// most returns the value that the most rows share, and their number.
func (t *ties) most() (value float64, rows int) {
	for at, count := range t.counts {
		if count > rows {
			value, rows = t.values[at], count
		}
	}
	return value, rows
}

// infinite reports whether the posterior of a column with these values has no finite mass. For
// small β, a component of one value that m rows share, integrated over its mean and variance, is
// proportional to β^(−(m−1)/2), a component of different values to β^α, and the prior of β to
// β^(g−1). The sum over components diverges at β = 0 where the exponents add up to −1 or less.
func (t *ties) infinite(o Options) bool {
	largest := slices.Sorted(slices.Values(t.counts))
	exponent := o.ScaleShape
	if len(largest) > o.MaxComponents { // one component for the other values
		largest = largest[len(largest)-o.MaxComponents+1:]
		exponent += o.PrecisionShape
	}
	for _, count := range largest {
		exponent -= float64(count-1) / 2
	}
	return exponent <= 0
}

// spike reports whether a component is narrower than the distance of a shared value to the next.
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

// Limits on spikes: the probability at which a spike is reported, the probability at which more
// draws are useless, and the number of rows of a spike.
const (
	spikeShare    = 0.02
	spikeDominant = 0.5
	spikeRows     = 1.5
)

// spikes are components that describe ties.
type spikes struct {
	share  float64 // of the draws
	column column  // column of the spike
	ties   *ties   // ties of the column
	// infinite: the posterior has no finite mass, and only rounding limits the width of draws
	infinite bool
}

// hopeless reports whether sampling can find only components of equal values.
func (s spikes) hopeless() bool { return s.infinite && s.share > spikeDominant }

// spiked finds the column with the largest share of draws that have a component of ties.
func (s *Sample) spiked() (worst spikes) {
	p := s.problem
	if p.Options.Family == Poisson {
		return spikes{}
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
		if share := float64(found) / float64(len(draws)); share > worst.share {
			worst = spikes{share, c, t, p.Options.Family != Multivariate && t.infinite(p.Options)}
		}
	}
	return worst
}
