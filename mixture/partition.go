package mixture

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
)

// partition is a sampler of the posterior whose state has neither weights nor a number of
// components k. It divides the rows into clusters and sums over k (Miller and Harrison 2018;
// algorithm 8 of Neal 2000). Given t components with rows, the distribution of k has a closed form.
type partition struct {
	p        *Problem
	random   *rand.Rand
	cluster  []int // the cluster of each row
	counts   []int
	clusters []component // parameters of the clusters, with weight 1
	beta     []float64
	// density[c][i] is the density of cluster c at row i.
	density [][]float64
	// fresh holds clusters without rows, drawn from the prior, and freshDensity their densities.
	fresh        [auxiliary]component
	freshDensity [auxiliary][]float64
	// splitDensity holds densities of all rows in the left and in the right cluster of a proposed
	// split, with their weights, and in the cluster that is split.
	splitDensity [3][]float64
	spare        [][]float64 // buffers
	// componentsGiven[t][k-1] is p(k | t clusters). In the prior for the cluster of a row, given t
	// clusters of the other rows, a new cluster has the weight novelty[t], and a cluster of n rows
	// has the weight n + concentration.
	componentsGiven [][]float64
	novelty         []float64
}

// auxiliary is the number of clusters in fresh, to each of which a row may move. Half or twice this
// number gives the same answers (docs/benchmarks/constants.md).
const auxiliary = 3

// newPartition starts with clusters of equal size, cut from the rows in the given order.
func (p *Problem) newPartition(order []int, clusters int, random *rand.Rand) *partition {
	s := &partition{p: p, random: random, cluster: make([]int, p.Rows()), beta: p.family.startHyper()}
	s.componentsGiven, s.novelty = p.sizes()
	for _, rows := range cut(order, clusters) {
		for _, i := range rows {
			s.cluster[i] = len(s.clusters)
		}
		s.counts = append(s.counts, len(rows))
		s.clusters = append(s.clusters, p.family.start(rows))
	}
	for a := range s.freshDensity {
		s.freshDensity[a] = s.buffer()
	}
	for c := range s.splitDensity {
		s.splitDensity[c] = s.buffer()
	}
	s.parameters()
	return s
}

// sizes returns p(k | t) for every number of clusters t, and the weights of new clusters. There are
// k!/(k−t)! ways to make each of t clusters a different one of k components. For n rows the
// integral over Dirichlet weights is 1/(kδ)(kδ+1)⋯(kδ+n−1) times a factor for each cluster, with
// concentration δ.
func (p *Problem) sizes() (componentsGiven [][]float64, novelty []float64) {
	most, d, n := p.Options.MaxComponents, p.Options.Concentration, float64(p.Rows())
	logV := make([]float64, most+2)
	componentsGiven = make([][]float64, most+1)
	for t := range logV {
		logs := make([]float64, most)
		for k := 1; k <= most; k++ {
			logs[k-1] = math.Inf(-1)
			if t >= 1 && k >= t {
				logs[k-1] = logsum.Gamma(float64(k)+1) - logsum.Gamma(float64(k-t)+1) + logsum.Gamma(float64(k)*d) - logsum.Gamma(float64(k)*d+n)
			}
		}
		logV[t] = logsum.Of(logs)
		if t >= 1 && t <= most {
			componentsGiven[t] = logs
			for k := range logs {
				logs[k] = math.Exp(logs[k] - logV[t])
			}
		}
	}
	novelty = make([]float64, most+1)
	for t := 1; t <= most; t++ {
		novelty[t] = d * math.Exp(logV[t+1]-logV[t]) // 0 at the largest number of components
	}
	return componentsGiven, novelty
}

func (s *partition) buffer() []float64 {
	if last := len(s.spare) - 1; last >= 0 {
		b := s.spare[last]
		s.spare = s.spare[:last]
		return b
	}
	return make([]float64, len(s.cluster))
}

func (s *partition) fill() {
	for len(s.density) < len(s.clusters) {
		s.density = append(s.density, s.buffer())
	}
	for c, one := range s.clusters {
		one.weight = 1
		s.p.family.fill(s.density[c], one)
	}
}

// refill replaces auxiliary cluster a by a draw from the prior.
func (s *partition) refill(a int) {
	s.fresh[a] = s.p.family.draw(s.beta, s.random)
	s.fresh[a].weight = 1
	s.p.family.fill(s.freshDensity[a], s.fresh[a])
}

// sweep draws the cluster of every row, and then the parameters of the clusters. An auxiliary
// cluster is kept until a row opens it, and a cluster that loses its last row replaces one of the
// auxiliary clusters (Favaro and Teh 2013, section 4). This saves draws from the prior.
func (s *partition) sweep() {
	weights := make([]float64, 0, len(s.clusters)+auxiliary+4)
	s.fill()
	for a := range s.fresh {
		s.refill(a)
	}
	for i := range s.cluster {
		c := s.cluster[i]
		s.counts[c]--
		if s.counts[c] == 0 {
			a := s.random.IntN(auxiliary)
			s.fresh[a] = s.clusters[c]
			s.freshDensity[a], s.density[c] = s.density[c], s.freshDensity[a]
			s.remove(c)
		}
		weights = weights[:0]
		total := 0.0
		for k, count := range s.counts {
			weights = append(weights, (float64(count)+s.p.Options.Concentration)*s.density[k][i])
			total += weights[k]
		}
		open := s.novelty[len(s.counts)] / auxiliary
		for _, density := range s.freshDensity {
			weights = append(weights, open*density[i])
			total += open * density[i]
		}
		at := 0
		if total > 0 {
			at = pick.Func(len(weights), s.random.Float64()*total, func(k int) float64 { return weights[k] })
		} else { // all densities of the row are 0 in float64
			at = s.far(i)
		}
		if a := at - len(s.counts); a >= 0 {
			at = len(s.counts)
			s.counts, s.clusters, s.density = append(s.counts, 0), append(s.clusters, s.fresh[a]), append(s.density, s.freshDensity[a])
			s.freshDensity[a] = s.buffer()
			s.refill(a)
		}
		s.cluster[i] = at
		s.counts[at]++
	}
	s.parameters()
	for range jumps {
		s.splitOrMerge()
	}
}

// far draws the cluster of a row far from all clusters, from the logarithms of their densities.
func (s *partition) far(row int) int {
	logs := apply.UpTo(len(s.clusters), func(k int) float64 {
		return math.Log(float64(s.counts[k])+s.p.Options.Concentration) + s.p.family.logDensity(row, s.clusters[k])
	})
	for _, one := range s.fresh {
		logs = append(logs, math.Log(s.novelty[len(s.counts)]/auxiliary)+s.p.family.logDensity(row, one))
	}
	return pick.Log(logs, s.random.Float64())
}

// remove removes the empty cluster c. The last cluster takes the number c.
func (s *partition) remove(c int) {
	last := len(s.counts) - 1
	if len(s.density) > last { // density is empty after a merge
		s.density[c], s.density[last] = s.density[last], s.density[c]
		s.spare, s.density = append(s.spare, s.density[last]), s.density[:last]
	}
	s.counts[c], s.clusters[c] = s.counts[last], s.clusters[last]
	s.counts, s.clusters = s.counts[:last], s.clusters[:last]
	if c == last {
		return
	}
	for i, at := range s.cluster {
		if at == last {
			s.cluster[i] = c
		}
	}
}

// parameters draws the parameters of the clusters and β.
func (s *partition) parameters() {
	rows := make([][]int, len(s.clusters))
	for i, c := range s.cluster {
		rows[c] = append(rows[c], i)
	}
	for c, one := range s.clusters {
		s.clusters[c] = s.p.family.update(one, rows[c], s.beta, s.random)
	}
	s.beta = s.p.family.updateHyper(s.clusters, s.random)
}
