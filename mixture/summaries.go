package mixture

import "math"

// Sizes of summaries; chosen by hand.
const (
	summaryDraws  = 2000 // at most, of those kept
	densityPoints = 240
	densityMargin = 0.08 // of the range, on both sides
)

// thinned are at most so many draws, evenly spaced.
func thinned(draws []kept, most int) []kept {
	if len(draws) <= most {
		return draws
	}
	list := make([]kept, most)
	for i := range list {
		list[i] = draws[i*len(draws)/most]
	}
	return list
}

// densities is the density of a new value with bands, in the units of the table.
func (s *Sample) densities() (points []DensityPoint) {
	p := s.problem
	draws := thinned(s.draws, summaryDraws)
	values := make([]float64, len(draws))
	for i := range densityPoints {
		y := -0.5 - densityMargin + (1+2*densityMargin)*float64(i)/(densityPoints-1)
		mean := 0.0
		for d := range draws {
			values[d] = draws[d].state.density(y) / p.scale
			mean += values[d] / float64(len(draws))
		}
		band := summarize(values)
		points = append(points, DensityPoint{Number(p.centre + p.scale*y), Number(mean), band.Q025, band.Q975})
	}
	return points
}

// density of a value on the working scale.
func (s *state) density(y float64) float64 {
	total := 0.0
	for j := range s.weight {
		total += math.Exp(logComponent(s.weight[j], s.mean[j], s.variance[j], y))
	}
	return total
}

// given describes the components of the draws with k of them, and the rows.
func (s *Sample) given(k int) (Given, []Row) {
	p := s.problem
	var draws []kept
	for _, d := range s.draws {
		if d.state.size() == k {
			draws = append(draws, d)
		}
	}
	draws = thinned(draws, summaryDraws)
	g := Given{Components: k, Draws: len(draws), List: make([]Component, k)}
	rows := make([]Row, len(p.y))
	shares := make([]float64, k)
	probability := make([][]float64, len(p.y))
	for i := range rows {
		probability[i] = make([]float64, k)
	}
	for _, d := range draws {
		empty := make([]float64, k) // log probability that no row belongs to a component
		for i, y := range p.y {
			total := 0.0
			for j := range shares {
				shares[j] = math.Exp(logComponent(d.state.weight[j], d.state.mean[j], d.state.variance[j], y))
				total += shares[j]
			}
			for j := range shares {
				probability[i][j] += shares[j] / total / float64(len(draws))
				empty[j] += math.Log1p(-math.Min(shares[j]/total, 1))
			}
		}
		for _, log := range empty {
			g.Empty += Number(math.Exp(log) / float64(len(draws)))
		}
	}
	for j := range g.List {
		var weights, means, sds []float64
		for _, d := range draws {
			weights = append(weights, d.state.weight[j])
			means = append(means, p.centre+p.scale*d.state.mean[j])
			sds = append(sds, p.scale*math.Sqrt(d.state.variance[j]))
		}
		g.List[j] = Component{summarize(weights), summarize(means), summarize(sds)}
	}
	for i := range rows {
		rows[i] = Row{Place: p.numbers[i], Value: Number(p.centre + p.scale*p.y[i])}
		best := 0
		for j, share := range probability[i] {
			rows[i].Probability = append(rows[i].Probability, Number(share))
			if share > probability[i][best] {
				best = j
			}
		}
		rows[i].Component = best + 1
	}
	return g, rows
}
