package calibrate

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// The parameters of the BGe prior of vti dag: α_μ, α_w − N with N the number of nodes, and t
// (Geiger and Heckerman 2002; Kuipers, Moffa and Heckerman 2014). They are written down again here
// so that an error in the tested program is not repeated. The column of a node with k parents is a
// regression with noise variance σ² and weights w:
//
//	σ² ~ IG((α_w − N + k + 1)/2, t/2),  w | σ² ~ N(0, σ²/t I),  intercept | σ² ~ N(0, σ²/α_μ).
const (
	BGeMean    = 1.0
	BGeDegrees = 2.0
	BGeScale   = 0.5
)

// drawBGe draws the column of a node and its regression weights. The argument effects holds the
// columns of the regression (see [MixedColumn.Effects]). The argument numbers is the number of
// numeric parents.
func drawBGe(effects [][]float64, numbers, rows int, random *rand.Rand) (column, weights []float64) {
	shape := (BGeDegrees + float64(numbers) + 1) / 2
	sigma := math.Sqrt(BGeScale / 2 / distuv.Gamma{Alpha: shape, Beta: 1, Src: random}.Rand())
	level := sigma / math.Sqrt(BGeMean) * random.NormFloat64()
	return drawLinear(effects, rows, level, sigma, sigma/math.Sqrt(BGeScale), random)
}
