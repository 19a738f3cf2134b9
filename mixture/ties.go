package mixture

import (
	"math"
	"slices"
	"sort"
)

// ties holds the different values of a column, and counts the rows with each value.
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

// most returns the value that most rows share, and the number of these rows.
func (t *ties) most() (value float64, rows int) {
	for at, count := range t.counts {
		if count > rows {
			value, rows = t.values[at], count
		}
	}
	return value, rows
}

// infinite reports whether the posterior of a column with these values has infinite mass. The
// density of the m rows of a component, integrated over its mean and variance, is for small β
// proportional to β^(−(m−1)/2) if all rows are equal, and otherwise to β^α with α = PrecisionShape.
// The prior of β is proportional to β^(g−1), g = ScaleShape. The integral over β diverges at 0
// where the exponents of the components and of the prior add up to −1 or less.
func (t *ties) infinite(o Options) bool {
	largest := slices.Sorted(slices.Values(t.counts))
	exponent := o.ScaleShape
	if len(largest) > o.MaxComponents { // the last component has all rows whose values are not among the most frequent
		largest = largest[len(largest)-o.MaxComponents+1:]
		exponent += o.PrecisionShape
	}
	for _, count := range largest {
		exponent -= float64(count-1) / 2
	}
	return exponent <= 0
}

// spike reports whether a component is at a value of several rows, and is narrower than half the
// distance to the nearest different value.
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

// Limits on spikes, which are components that describe only equal values. Spikes in more than
// spikeShare of the draws lower the verdict. If they are in more than spikeDominant of the draws
// and the posterior has infinite mass, sampling ends. spikeRows is the least expected number of
// rows of a spike.
const (
	spikeShare    = 0.02
	spikeDominant = 0.5
	spikeRows     = 1.5
)

// spikes describes the spikes of one column.
type spikes struct {
	share  float64 // share of the draws that have a spike
	column column  // column of the spike
	ties   *ties   // ties of the column
	// infinite reports whether the posterior has infinite mass, so that only rounding limits the
	// width of the draws.
	infinite bool
}

// hopeless reports whether sampling can find only components of equal values.
func (s spikes) hopeless() bool { return s.infinite && s.share > spikeDominant }

// spiked returns the column with the largest share of draws that have a spike.
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
