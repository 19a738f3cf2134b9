package sem

import (
	"math"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
)

func (s Simulation) mixed() *Simulated {
	out, order := s.graph()
	out.Levels = make([][]string, s.Nodes)
	random := stream.Rand(s.Seed, "mechanisms")
	for j := 1; j < s.Nodes; j += 2 {
		out.Levels[j] = []string{"a", "b", "c"}[:2+random.IntN(2)]
	}
	size := func(least, most float64) float64 {
		return math.Copysign(least+(most-least)*random.Float64(), random.Float64()-0.5)
	}
	// effects [parent][node][level of the node][level of the parent], with one level for a number
	effects := make([][][][]float64, s.Nodes)
	for i := range effects {
		effects[i] = make([][][]float64, s.Nodes)
		for j := range effects[i] {
			sign := size(1, 1)
			for l := range max(len(out.Levels[j]), 1) {
				slopes := make([]float64, max(len(out.Levels[i]), 1))
				for k := range slopes {
					slopes[k] = sign * math.Abs(size(0.5, 1.5)) * float64(1-2*((k+l)%2))
					if out.Levels[i] == nil && out.Levels[j] == nil {
						slopes[k] = size(0.3, 0.7)
					}
				}
				effects[i][j] = append(effects[i][j], slopes)
			}
		}
	}
	random = stream.Rand(s.Seed, "noise")
	for range s.Rows {
		row := make([]float64, s.Nodes)
		for _, j := range order {
			predictors := make([]float64, max(len(out.Levels[j]), 1))
			for _, i := range out.Truth.Parents(j) {
				for l := range predictors {
					if out.Levels[i] == nil {
						predictors[l] += effects[i][j][l][0] * row[i]
					} else {
						predictors[l] += effects[i][j][l][int(row[i])]
					}
				}
			}
			if out.Levels[j] == nil {
				row[j] = predictors[0] + s.Noise*random.NormFloat64()
				continue
			}
			row[j] = float64(pick.Index(logsum.Shares(predictors), random.Float64()))
		}
		out.Values = append(out.Values, row)
	}
	return out
}
