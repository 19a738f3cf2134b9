package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// moments holds the data of a Poisson process in a window, and candidate times of changes. Given
// the number of changes, the density is a product over segments that is smooth in every time of
// change between two events. The integral over these times is therefore a sum over the nodes of
// Gauss–Legendre rules between events.
type moments struct {
	times      []float64 // boundary i is at times[i], the ends of the window included
	logWeights []float64 // log quadrature weight of each boundary; not used at the two ends
	counts     []int     // number of events up to each boundary
	// The weight of quadrature node i is the length of the interval from cells[i-1] to cells[i].
	cells []float64
	// The rate of a segment has the prior Gamma(shape, exposure), with exposure in units of time.
	// even is true if the prior of the places of changes is Spaced.
	shape, exposure float64
	even            bool
}

// newMoments puts quadrature nodes between the events, which are sorted and lie in the window
// [from, to].
func newMoments(events []float64, from, to float64, nodes int, shape, exposure float64, even bool) *moments {
	m := &moments{times: []float64{from}, logWeights: []float64{0}, counts: []int{0}, cells: []float64{from}, shape: shape, exposure: exposure, even: even}
	x, w := make([]float64, nodes), make([]float64, nodes)
	ends := slices.Compact(append(slices.Clone(events), to))
	last := from
	for _, end := range ends {
		if end <= last {
			continue
		}
		count, _ := slices.BinarySearch(events, end) // number of events before this gap ends
		quad.Legendre{}.FixedLocations(x, w, last, end)
		if x[0] > x[nodes-1] { // Legendre does not document the order of its nodes
			slices.Reverse(x)
			slices.Reverse(w)
		}
		cell := last
		for i := range x {
			cell += w[i]
			m.times, m.logWeights, m.counts = append(m.times, x[i]), append(m.logWeights, math.Log(w[i])), append(m.counts, count)
			m.cells = append(m.cells, cell)
		}
		last = end
	}
	m.times, m.logWeights, m.counts = append(m.times, to), append(m.logWeights, 0), append(m.counts, len(events))
	return m
}

func (m *moments) places() int { return len(m.times) - 2 }

func (m *moments) logWeight(i int) float64 { return m.logWeights[i] }

func (m *moments) length(from, to int) float64 { return m.times[to] - m.times[from] }

func (m *moments) logSegment(from, to int) float64 {
	length := m.length(from, to)
	a := m.shape + float64(m.counts[to]-m.counts[from])
	density := m.shape*math.Log(m.exposure) - logsum.Gamma(m.shape) + logsum.Gamma(a) - a*math.Log(m.exposure+length)
	if m.even {
		density += math.Log(length)
	}
	return density
}

// logConstant returns the log of the normalising constant of the prior density of k places. If even
// is true, the places are the even-numbered order statistics of 2k+1 uniform times (Green 1995,
// section 4), otherwise k uniform times.
func (m *moments) logConstant(k int) float64 {
	window := math.Log(m.length(0, len(m.times)-1))
	if m.even {
		return logFactorial(2*k+1) - float64(2*k+1)*window
	}
	return logFactorial(k) - float64(k)*window
}

func (m *moments) draw(from, to int, random *rand.Rand) level {
	a := m.shape + float64(m.counts[to]-m.counts[from])
	rate := stream.Gamma(a, random) / (m.exposure + m.length(from, to))
	return level{mean: rate, sd: math.Sqrt(rate)}
}
