package regression

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// rowDensity is the density of one row given its linear predictor η, in a graph and on the host.
type rowDensity interface {
	// log is log p(y | η, σ) of each row [B, n], up to normaliser: y [1, n], eta [B, n], logNoise
	// [B, 1] or nil.
	log(y, eta, logNoise *Node) *Node
	// working returns the slope of log p in η, and a curvature, positive: that of −log p, or for a
	// heavy tail the largest quadratic that stays below.
	working(y, eta, logNoise *Node) (slope, curvature *Node)
	// normaliser is what log leaves out, summed over rows.
	normaliser(y []float64) float64
	// logAt and workingAt are the same for one row on the host.
	logAt(y, eta, sigma float64) float64
	workingAt(y, eta, sigma float64) (slope, curvature float64)
	// draw draws a response.
	draw(eta, sigma float64, random *rand.Rand) float64
}

// largestLogRate bounds η of a count, so that rates are finite: no count is near e^40.
const largestLogRate = 40

// poissonRow is y ~ Poisson(e^η).
type poissonRow struct{}

func (poissonRow) log(y, eta, _ *Node) *Node {
	eta = MinScalar(eta, largestLogRate)
	return Sub(Mul(y, eta), Exp(eta))
}

func (poissonRow) working(y, eta, _ *Node) (slope, curvature *Node) {
	rate := Exp(MinScalar(eta, largestLogRate))
	return Sub(y, rate), rate
}

func (poissonRow) normaliser(y []float64) (sum float64) {
	for _, count := range y {
		value, _ := math.Lgamma(count + 1)
		sum -= value
	}
	return sum
}

func (poissonRow) logAt(y, eta, _ float64) float64 { return y*eta - math.Exp(eta) }

func (poissonRow) workingAt(y, eta, _ float64) (slope, curvature float64) {
	rate := math.Exp(math.Min(eta, largestLogRate))
	return y - rate, rate
}

func (poissonRow) draw(eta, _ float64, random *rand.Rand) float64 {
	return distuv.Poisson{Lambda: math.Exp(math.Min(eta, largestLogRate)), Src: random}.Rand()
}

// logisticRow is y ~ Bernoulli(1 / (1 + e^−η)).
type logisticRow struct{}

func (logisticRow) log(y, eta, _ *Node) *Node {
	return Sub(Mul(y, eta), Add(MaxScalar(eta, 0), Log1P(Exp(Neg(Abs(eta))))))
}

func (logisticRow) working(y, eta, _ *Node) (slope, curvature *Node) {
	p := Logistic(eta)
	return Sub(y, p), Mul(p, AddScalar(Neg(p), 1))
}

func (logisticRow) normaliser([]float64) float64 { return 0 }

func (logisticRow) logAt(y, eta, _ float64) float64 { return y*eta - softplusAt(eta) }

func (logisticRow) workingAt(y, eta, _ float64) (slope, curvature float64) {
	p := 1 / (1 + math.Exp(-eta))
	return y - p, p * (1 - p)
}

func (logisticRow) draw(eta, _ float64, random *rand.Rand) float64 {
	if random.Float64() < 1/(1+math.Exp(-eta)) {
		return 1
	}
	return 0
}

// studentRow is y ~ η + σ t_ν.
type studentRow struct{ degrees float64 }

func (d studentRow) log(y, eta, logNoise *Node) *Node {
	residual := Mul(Sub(y, eta), Exp(Neg(logNoise)))
	return Sub(MulScalar(Log1P(MulScalar(Square(residual), 1/d.degrees)), -(d.degrees+1)/2), logNoise)
}

func (d studentRow) working(y, eta, logNoise *Node) (slope, curvature *Node) {
	precision := Exp(MulScalar(logNoise, -2))
	error := Sub(y, eta)
	weight := Mul(precision, MulScalar(Reciprocal(AddScalar(Mul(Square(error), precision), d.degrees)), d.degrees+1))
	return Mul(weight, error), weight
}

func (d studentRow) normaliser(y []float64) float64 {
	upper, _ := math.Lgamma((d.degrees + 1) / 2)
	lower, _ := math.Lgamma(d.degrees / 2)
	return float64(len(y)) * (upper - lower - math.Log(d.degrees*math.Pi)/2)
}

func (d studentRow) logAt(y, eta, sigma float64) float64 {
	r := (y - eta) / sigma
	return -(d.degrees+1)/2*math.Log1p(r*r/d.degrees) - math.Log(sigma)
}

func (d studentRow) workingAt(y, eta, sigma float64) (slope, curvature float64) {
	r := (y - eta) / sigma
	weight := (d.degrees + 1) / (d.degrees + r*r) / (sigma * sigma)
	return weight * (y - eta), weight
}

func (d studentRow) draw(eta, sigma float64, random *rand.Rand) float64 {
	return distuv.StudentsT{Mu: eta, Sigma: sigma, Nu: d.degrees, Src: random}.Rand()
}

// gaussianRow is y ~ N(η, σ²).
type gaussianRow struct{}

func (gaussianRow) log(y, eta, logNoise *Node) *Node {
	return Sub(MulScalar(Square(Mul(Sub(y, eta), Exp(Neg(logNoise)))), -0.5), logNoise)
}

func (gaussianRow) working(y, eta, logNoise *Node) (slope, curvature *Node) {
	error := Sub(y, eta)
	precision := Add(Exp(MulScalar(logNoise, -2)), ZerosLike(error))
	return Mul(error, precision), precision
}

func (gaussianRow) normaliser(y []float64) float64 { return -float64(len(y)) * halfLog2Pi }

func (gaussianRow) logAt(y, eta, sigma float64) float64 {
	r := (y - eta) / sigma
	return -r*r/2 - math.Log(sigma)
}

func (gaussianRow) workingAt(y, eta, sigma float64) (slope, curvature float64) {
	return (y - eta) / (sigma * sigma), 1 / (sigma * sigma)
}

func (gaussianRow) draw(eta, sigma float64, random *rand.Rand) float64 {
	return eta + sigma*random.NormFloat64()
}
