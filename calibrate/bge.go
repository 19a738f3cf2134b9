package calibrate

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// The parameters of the BGe prior of vti dag, written down again so that an error in the program is
// not repeated here (Geiger and Heckerman 2002; Kuipers, Moffa and Heckerman 2014): α_μ, α_w − N,
// and t. A node with k parents is a regression with
//
//	σ² ~ IG((α_w − N + k + 1)/2, t/2),  w | σ² ~ N(0, σ²/t I),  intercept | σ² ~ N(0, σ²/α_μ).
const (
	BGeMean    = 1.0
	BGeDegrees = 2.0
	BGeScale   = 0.5
)

// drawBGe draws the column of a node given its parents, and their weights.
func drawBGe(parents [][]float64, rows int, random *rand.Rand) (column, weights []float64) {
	shape := (BGeDegrees + float64(len(parents)) + 1) / 2
	sigma := math.Sqrt(BGeScale / 2 / distuv.Gamma{Alpha: shape, Beta: 1, Src: random}.Rand())
	column = make([]float64, rows)
	level := sigma / math.Sqrt(BGeMean) * random.NormFloat64()
	for i := range column {
		column[i] = level + sigma*random.NormFloat64()
	}
	for _, parent := range parents {
		w := sigma / math.Sqrt(BGeScale) * random.NormFloat64()
		weights = append(weights, w)
		floats.AddScaled(column, w, parent)
	}
	return column, weights
}
