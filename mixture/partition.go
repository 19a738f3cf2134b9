package mixture

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// partition is a sampler of the same posterior that knows nothing of weights and jumps: its state
// divides the rows into clusters, and the number of components is summed over (Miller and Harrison
// 2018; algorithm 8 of Neal 2000). Given t occupied clusters, p(k) is a closed form.
type partition struct {
	p      *Problem
	random *rand.Rand
	of     []int // the cluster of each row
	counts []int
	mean   []float64
	// deviation is the sd of a cluster
	deviation []float64
	beta      float64
	// given[t][k-1] is p(k | t clusters), novelty[t] the weight of a new cluster beside t others,
	// relative to one row in a cluster with concentration added.
	given   [][]float64
	novelty []float64
}

// auxiliary is the number of clusters from the prior that a row may open; chosen by hand.
const auxiliary = 2

// newPartition starts with the rows cut by their order into clusters of equal size.
func (p *Problem) newPartition(order []int, clusters int, random *rand.Rand) *partition {
	s := &partition{p: p, random: random, of: make([]int, len(p.y)), beta: p.Options.ScaleShape / p.Options.ScaleRate}
	s.given, s.novelty = p.sizes()
	for rank, i := range order {
		s.of[i] = rank * clusters / len(order)
	}
	for c := range clusters {
		s.counts, s.mean, s.deviation = append(s.counts, 0), append(s.mean, 0), append(s.deviation, 1)
		for _, at := range s.of {
			if at == c {
				s.counts[c]++
			}
		}
	}
	s.parameters()
	return s
}

// sizes are p(k | t) and the weights of new clusters: of k components t are occupied in k!/(k−t)!
// ways, and the Dirichlet integrates to 1/(kδ)(kδ+1)⋯(kδ+n−1) beside factors of clusters.
func (p *Problem) sizes() (given [][]float64, novelty []float64) {
	most, d, n := p.Options.MaxComponents, p.Options.Concentration, float64(len(p.y))
	logV := make([]float64, most+2)
	given = make([][]float64, most+1)
	for t := range logV {
		logs := make([]float64, most)
		for k := 1; k <= most; k++ {
			logs[k-1] = math.Inf(-1)
			if t >= 1 && k >= t {
				logs[k-1] = logGamma(float64(k)+1) - logGamma(float64(k-t)+1) + logGamma(float64(k)*d) - logGamma(float64(k)*d+n)
			}
		}
		logV[t] = logsum.Of(logs)
		if t >= 1 && t <= most {
			given[t] = logs
			for k := range logs {
				logs[k] = math.Exp(logs[k] - logV[t])
			}
		}
	}
	novelty = make([]float64, most+1)
	for t := 1; t <= most; t++ {
		novelty[t] = d * math.Exp(logV[t+1]-logV[t]) // 0 at the largest number
	}
	return given, novelty
}

// sweep draws the cluster of every row, and then the parameters of the clusters.
func (s *partition) sweep() {
	o := s.p.Options
	var newMean, newDeviation [auxiliary]float64
	weights := make([]float64, 0, len(s.counts)+auxiliary+4)
	for i, y := range s.p.y {
		c := s.of[i]
		s.counts[c]--
		first := 0 // auxiliary clusters drawn anew
		if s.counts[c] == 0 {
			newMean[0], newDeviation[0] = s.mean[c], s.deviation[c]
			first = 1
			s.remove(c)
		}
		for a := first; a < auxiliary; a++ {
			newMean[a] = o.MeanSD * s.random.NormFloat64()
			newDeviation[a] = math.Sqrt(s.beta / stream.Gamma(o.PrecisionShape, s.random))
		}
		weights = weights[:0]
		total := 0.0
		for k, count := range s.counts {
			total += (float64(count) + o.Concentration) * normal(y, s.mean[k], s.deviation[k])
			weights = append(weights, total)
		}
		fresh := s.novelty[len(s.counts)] / auxiliary
		for a := range auxiliary {
			total += fresh * normal(y, newMean[a], newDeviation[a])
			weights = append(weights, total)
		}
		if total == 0 { // the row is too far from everything for float64
			total = s.far(y, weights, newMean[:], newDeviation[:])
		}
		u, at := s.random.Float64()*total, 0
		for at < len(weights)-1 && weights[at] <= u {
			at++
		}
		if k := at - len(s.counts); k >= 0 {
			s.counts, s.mean, s.deviation = append(s.counts, 0), append(s.mean, newMean[k]), append(s.deviation, newDeviation[k])
			at = len(s.counts) - 1
		}
		s.of[i] = at
		s.counts[at]++
	}
	s.parameters()
	for range jumps {
		s.splitOrMerge()
	}
}

// far fills the cumulated weights of a row relative to the largest, and returns their sum.
func (s *partition) far(y float64, weights, newMean, newDeviation []float64) float64 {
	logs := make([]float64, len(weights))
	logNormal := func(mean, sd float64) float64 { return -0.5*(y-mean)*(y-mean)/(sd*sd) - math.Log(sd) }
	t := len(s.counts)
	for k := range logs {
		if k < t {
			logs[k] = math.Log(float64(s.counts[k])+s.p.Options.Concentration) + logNormal(s.mean[k], s.deviation[k])
		} else {
			logs[k] = math.Log(s.novelty[t]/auxiliary) + logNormal(newMean[k-t], newDeviation[k-t])
		}
	}
	whole, total := logsum.Of(logs), 0.0
	for k, l := range logs {
		total += math.Exp(l - whole)
		weights[k] = total
	}
	return total
}

// normal is a normal density without the factor 1/√(2π), which all weights have.
func normal(y, mean, sd float64) float64 {
	z := (y - mean) / sd
	return math.Exp(-0.5*z*z) / sd
}

// remove takes an empty cluster out; the last takes its number.
func (s *partition) remove(c int) {
	last := len(s.counts) - 1
	s.counts[c], s.mean[c], s.deviation[c] = s.counts[last], s.mean[last], s.deviation[last]
	s.counts, s.mean, s.deviation = s.counts[:last], s.mean[:last], s.deviation[:last]
	if c == last {
		return
	}
	for i, at := range s.of {
		if at == last {
			s.of[i] = c
		}
	}
}

// parameters draws means, variances and β given the clusters.
func (s *partition) parameters() {
	o, t := s.p.Options, len(s.counts)
	sums, squares := make([]float64, t), make([]float64, t)
	for i, y := range s.p.y {
		sums[s.of[i]] += y
		squares[s.of[i]] += y * y
	}
	shape, rate := o.ScaleShape, o.ScaleRate
	for c, count := range s.counts {
		n, variance := float64(count), s.deviation[c]*s.deviation[c]
		v := 1 / (n/variance + 1/(o.MeanSD*o.MeanSD))
		s.mean[c] = sums[c]/variance*v + math.Sqrt(v)*s.random.NormFloat64()
		about := math.Max(0, squares[c]-2*s.mean[c]*sums[c]+n*s.mean[c]*s.mean[c])
		variance = (s.beta + about/2) / stream.Gamma(o.PrecisionShape+n/2, s.random)
		s.deviation[c] = math.Sqrt(variance)
		shape, rate = shape+o.PrecisionShape, rate+1/variance
	}
	s.beta = stream.Gamma(shape, s.random) / rate
}
