package surrogate

import "math"

const (
	// leastNoise is a lower bound of the noise variance, in nats², for targets that the flow fits
	// exactly. Half or twice each constant gives the same answers (docs/benchmarks/constants.md).
	leastNoise = 1e-6
	// noiseMemory is the factor by which the weight of earlier batches decays from batch to batch:
	// the estimate averages over about fifty batches.
	noiseMemory = 0.98
	// surprise is the bound, in standard deviations, to which prediction errors are cut off.
	surprise = 5
)

// noise is the learned variance σ_ε² of a reward given its model, estimated by expectation and
// maximisation. A batch adds the expected squared distance of its rewards from the expected reward
// f(m), given the rewards. For a model drawn n times with mean reward ȳ, and with μ and v the mean
// and variance of f(m) before the batch, this is Σ(y − ȳ)² + n((1 − g)²(ȳ − μ)² + (1 − g)v) with
// the gain g = v/(v + σ_ε²/n). If n = 1 it tends to σ_ε² as v grows.
type noise struct {
	value          float64
	moment, weight float64 // sums of squares and of draws, with weights that decay from batch to batch
}

// learn updates the estimate with a batch. predict returns the predicted mean and variance of the
// expected reward of groups[i], before the batch.
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

// guessed is the weight of the initial guess of the noise, in draws. Half or twice this weight
// gives the same answers (docs/benchmarks/constants.md).
const guessed = 4

// start updates the estimate with the first batch, for which there are no predictions. It combines
// a guess, from the spread of rewards, with the variance among draws of the same model if there are
// any.
func (n *noise) start(groups []group, spread float64) {
	n.moment, n.weight = guessed*math.Min(1, spread), guessed
	for _, group := range groups {
		n.moment += group.squares
		n.weight += group.count - 1
	}
	n.value = math.Max(n.moment/n.weight, leastNoise)
}
