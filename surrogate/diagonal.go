package surrogate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Diagonal is the belief that expected rewards are independent normal variables. It runs a Kalman
// filter for each model, with the movement of the flow as process noise. A batch of B draws takes
// O(M + B log B) operations for M models. The first batch, drawn from p(m), sets the mean and the
// variance of models that were never drawn.
type Diagonal struct {
	mean, variance []float64
	noise          noise
	batches        float64
}

var _ Belief = (*Diagonal)(nil)

// NewDiagonal returns a belief in which the expected rewards of the given number of models are
// standard normal. It panics if models is below 1.
func NewDiagonal(models int) *Diagonal {
	if models < 1 {
		panic(fmt.Sprintf("surrogate.NewDiagonal: %d models", models))
	}
	return &Diagonal{mean: make([]float64, models), variance: slices.Repeat([]float64{1}, models), noise: noise{value: 1}}
}

// Observe updates the belief with a batch. For a model drawn n times with mean reward ȳ and noise
// variance σ_ε², the mean μ and variance v become μ' = v'(μ/v + nȳ/σ_ε²) and v', where 1/v' = 1/v +
// n/σ_ε².
func (d *Diagonal) Observe(models []int, rewards []float64, movement float64) {
	groups := grouped("Diagonal", len(d.mean), models, rewards)
	if len(groups) == 0 {
		return
	}
	if d.batches == 0 {
		mean, variance := meanAndVariance(means(groups))
		for m := range d.mean {
			d.mean[m], d.variance[m] = mean, variance
		}
		d.noise.start(groups, variance)
	} else {
		for m := range d.variance {
			d.variance[m] += movement * movement
		}
		d.noise.learn(groups, func(i int) (mean, variance float64) { return d.mean[groups[i].model], d.variance[groups[i].model] })
	}
	d.batches++
	for _, group := range groups {
		gain := d.variance[group.model] / (d.variance[group.model] + d.noise.value/group.count)
		d.mean[group.model] += gain * (group.mean - d.mean[group.model])
		d.variance[group.model] *= 1 - gain
	}
}

// Predict writes the mean and standard deviation of the models first, first+1, ….
func (d *Diagonal) Predict(first int, mean, sd []float64) {
	copy(mean, d.mean[first:first+len(mean)])
	for i := range sd {
		sd[i] = math.Sqrt(d.variance[first+i])
	}
}

// Draw draws the expected rewards of all models independently.
func (d *Diagonal) Draw(random *rand.Rand, dst []float64) {
	for m := range dst {
		dst[m] = d.mean[m] + math.Sqrt(d.variance[m])*random.NormFloat64()
	}
}

// State returns the means, the variances and the estimate of the noise.
func (d *Diagonal) State() []float64 {
	return slices.Concat(d.mean, d.variance, []float64{d.noise.value, d.noise.moment, d.noise.weight, d.batches})
}

// SetState restores a state returned by State.
func (d *Diagonal) SetState(state []float64) error {
	count := len(d.mean)
	if len(state) != 2*count+4 {
		return fmt.Errorf("surrogate: a diagonal belief about %d models has a state of %d numbers, got %d", count, 2*count+4, len(state))
	}
	copy(d.mean, state)
	copy(d.variance, state[count:])
	rest := state[2*count:]
	d.noise, d.batches = noise{rest[0], rest[1], rest[2]}, rest[3]
	return nil
}
