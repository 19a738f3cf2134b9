package changepoint

import "math"

// rows holds the segments of a series: boundary i lies after row i.
type rows struct {
	family
	count    int // number of rows of the series
	shortest int // least number of rows of a segment
	even     bool
}

func (s rows) places() int { return s.count - 1 }

func (s rows) logWeight(int) float64 { return 0 }

func (s rows) logSegment(from, to int) float64 {
	if to-from < s.shortest {
		return math.Inf(-1)
	}
	if s.even {
		return math.Log(float64(to-from)) + s.logEvidence(from, to)
	}
	return s.logEvidence(from, to)
}

// logConstant returns minus the log of the sum, over all partitions into k+1 segments, of the
// product of the segments' factors in the prior. With the prior Uniform the factors are 1. With the
// prior Spaced they are the lengths of the segments, and the sum of their products is C(n+k, 2k+1)
// for n rows.
func (s rows) logConstant(k int) float64 {
	if s.even {
		return -logChoose(s.count+k, 2*k+1)
	}
	partitions := logChoose(s.count-(k+1)*(s.shortest-1)-1, k)
	if math.IsInf(partitions, -1) {
		return partitions // −Inf: no partition is allowed, so that the evidence is 0
	}
	return -partitions
}
