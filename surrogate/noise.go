package surrogate

import "math"

const (
	// leastNoise is a lower bound, in nats², for targets that the flow fits exactly. The numbers
	// here are not tuned.
	leastNoise = 1e-6
	// noiseMemory is the share of earlier batches in the estimate, a memory of about fifty.
	noiseMemory = 0.98
	// surprise bounds, in standard deviations, the error that a model can add to the estimate.
	surprise = 5
)

// noise is the learned variance of a reward given its model, by expectation and maximisation: a
// batch adds the expected squared distance of its draws from f(m), given the draws. For a model
// drawn n times, with v the prior variance of f(m), this is Σ(y − ȳ)² + n((1 − g)²(ȳ − μ)² + (1 −
// g)v) with the gain g = v/(v + σ_ε²/n). It is never negative, and σ_ε² itself where nothing was
// known of f(m).
type noise struct {
	value          float64
	moment, weight float64 // decaying sums; weight is in draws
}

// learn takes in a batch: predict returns mean and variance of the prediction of each group.
func (n *noise) learn(groups []group, predict func(i int) (mean, variance float64)) {
	n.moment *= noiseMemory
	n.weight *= noiseMemory
	for i, group := range groups {
		mean, variance := predict(i)
		expected := variance + n.value/group.count
		left := n.value / group.count / expected // 1 − g
		square := math.Min((group.mean-mean)*(group.mean-mean), surprise*surprise*expected)
		n.moment += group.squares + group.count*(left*left*square+left*variance)
		n.weight += group.count
	}
	n.value = math.Max(n.moment/n.weight, leastNoise)
}

// guessed is the weight of the first guess of the noise, in draws. Not tuned.
const guessed = 4

// start takes in the first batch, which has no predictions: a guess, and the spread of draws of the
// same model if there are any.
func (n *noise) start(groups []group, spread float64) {
	n.moment, n.weight = guessed*math.Min(1, spread), guessed
	for _, group := range groups {
		n.moment += group.squares
		n.weight += group.count - 1
	}
	n.value = math.Max(n.moment/n.weight, leastNoise)
}
