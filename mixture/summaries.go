package mixture

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"gonum.org/v1/gonum/floats"
)

// Settings of summaries.
const (
	summaryDraws = 2000 // the largest number of kept draws that are used
	// densityPoints is the number of points at which a density is computed.
	densityPoints = 240
	densityMargin = 0.08 // fraction of the range of a column that is added on both sides
)

// thinned returns at most the given number, most, of evenly spaced draws.
func thinned(draws []kept, most int) []kept {
	if len(draws) <= most {
		return draws
	}
	return apply.UpTo(most, func(i int) kept { return draws[i*len(draws)/most] })
}

// grid returns the points at which the density of column c is computed. For counts these are whole
// numbers from 0: all of them, or about densityPoints evenly spaced ones.
func (p *Problem) grid(c int) []float64 {
	low, high := slices.Min(p.columns[c].y), slices.Max(p.columns[c].y)
	margin := densityMargin * (high - low)
	if p.Options.Family == Poisson {
		var grid []float64
		last := math.Ceil(high + margin)
		for y := 0.0; y <= last; y += math.Max(1, math.Floor(last/densityPoints)) {
			grid = append(grid, y)
		}
		return grid
	}
	return apply.UpTo(densityPoints, func(i int) float64 { return low - margin + (high-low+2*margin)*float64(i)/(densityPoints-1) })
}

// densities returns the density of a new value in each column, with bands, in the units of the
// table.
func (s *Sample) densities() (points []DensityPoint) {
	p := s.problem
	draws := thinned(s.draws, summaryDraws)
	values := make([]float64, len(draws))
	for c, column := range p.columns {
		for _, y := range p.grid(c) {
			mean := 0.0
			for d := range draws {
				density, _ := p.mixed(c, y, &draws[d].state)
				values[d] = density / column.scale
				mean += values[d] / float64(len(draws))
			}
			band := summarize(values)
			points = append(points, DensityPoint{column.name, Number(column.value(y)), Number(mean), band.Q025, band.Q975})
		}
	}
	return points
}

// mixed returns the density and the distribution function at y of a mixture in one column, on the
// working scale (midrange 0, range 1).
func (p *Problem) mixed(column int, y float64, s *state) (density, cumulative float64) {
	for _, c := range s.components {
		d, below := p.family.marginal(column, y, c)
		density += c.weight * d
		cumulative += c.weight * below
	}
	return density, cumulative
}

// shares writes the probabilities that a row belongs to each component of a state.
func (p *Problem) shares(row int, s *state, into []float64) {
	for j, c := range s.components {
		into[j] = math.Log(c.weight) + p.family.logDensity(row, c)
	}
	logsum.Shares(into)
}

func (s *Sample) summariseGiven(k int) (Given, []Row) {
	p := s.problem
	draws := thinned(apply.Keep(s.draws, func(d kept) bool { return d.state.size() == k }), summaryDraws)
	if p.Options.Family == Multivariate {
		draws = p.relabel(draws)
	}
	g := Given{Components: k, Draws: len(draws)}
	rows := make([]Row, p.Rows())
	shares := make([]float64, k)
	probability := apply.UpTo(len(rows), func(int) []float64 { return make([]float64, k) })
	for _, d := range draws {
		empty := make([]float64, k) // log probability that a component has no rows
		for i := range rows {
			p.shares(i, &d.state, shares)
			for j, share := range shares {
				probability[i][j] += share / float64(len(draws))
				empty[j] += math.Log1p(-math.Min(share, 1))
			}
		}
		for _, log := range empty {
			g.Empty += Number(math.Exp(log) / float64(len(draws)))
		}
	}
	g.List = apply.UpTo(k, func(j int) Component { return p.describe(draws, j) })
	for i := range rows {
		rows[i] = Row{Place: p.numbers[i], Component: floats.MaxIdx(probability[i]) + 1}
		rows[i].Values = apply.To(p.columns, func(c column) Number { return Number(c.value(c.y[i])) })
		rows[i].Probability = apply.To(probability[i], func(share float64) Number { return Number(share) })
	}
	return g, rows
}

func (p *Problem) describe(draws []kept, j int) (one Component) {
	over := func(value func(c component) float64) Summary {
		return summarize(apply.To(draws, func(d kept) float64 { return value(d.state.components[j]) }))
	}
	one.Weight = over(func(c component) float64 { return c.weight })
	for at, column := range p.columns {
		summary := ColumnSummary{Column: column.name, Mean: over(func(c component) float64 {
			location, _ := p.family.summary(at, c)
			return column.value(location)
		})}
		if p.Options.Family != Poisson {
			sd := over(func(c component) float64 {
				_, scale := p.family.summary(at, c)
				return column.scale * scale
			})
			summary.SD = &sd
		}
		one.Columns = append(one.Columns, summary)
		if f, several := p.family.(vectors); several {
			for before := range at {
				one.Correlations = append(one.Correlations, Correlation{p.columns[before].name, column.name, over(func(c component) float64 { return f.correlation(before, at, c) })})
			}
		}
	}
	return one
}
