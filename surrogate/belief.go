package surrogate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// Belief is a multivariate normal belief about the expected rewards of a finite set of models.
type Belief interface {
	// Observe updates the belief with a batch: rewards[i], finite, is the reward of one draw of
	// models[i]. movement is the distance in nats by which training of the flow has changed
	// expected rewards since the previous batch. The square of movement is added to the variance of
	// the belief. Observe panics if lengths differ or a model does not exist.
	Observe(models []int, rewards []float64, movement float64)
	// Predict writes the mean and standard deviation of the expected rewards of the models first,
	// first+1, … into mean and sd, which have equal lengths. If sd is nil, only means are computed.
	// Several goroutines may call Predict at once.
	Predict(first int, mean, sd []float64)
	// Draw draws the expected rewards of all models from the belief into dst.
	Draw(random *rand.Rand, dst []float64)
	// State returns a slice of fixed length with the whole state of the belief. SetState checks a
	// state and restores it.
	State() []float64
	SetState(state []float64) error
}

// group summarises the draws of one model in a batch.
type group struct {
	model   int
	count   float64
	mean    float64
	squares float64 // Σ (reward − mean)²
}

func grouped(where string, count int, models []int, rewards []float64) []group {
	if len(models) != len(rewards) {
		panic(fmt.Sprintf("surrogate.%s.Observe: %d models but %d rewards", where, len(models), len(rewards)))
	}
	for _, model := range models {
		if model < 0 || model >= count {
			panic(fmt.Sprintf("surrogate.%s.Observe: model %d of %d", where, model, count))
		}
	}
	order := rank.Order(len(models), func(a, b int) int { return cmp.Compare(models[a], models[b]) })
	var groups []group
	for _, i := range order {
		if len(groups) == 0 || groups[len(groups)-1].model != models[i] {
			groups = append(groups, group{model: models[i]})
		}
		last := &groups[len(groups)-1] // Welford's recursion
		last.count++
		delta := rewards[i] - last.mean
		last.mean += delta / last.count
		last.squares += delta * (rewards[i] - last.mean)
	}
	return groups
}

// meanAndVariance returns the mean and variance of the mean rewards of different models. The
// variance is at least 1.
func meanAndVariance(rewards []float64) (mean, variance float64) {
	for _, reward := range rewards {
		mean += reward / float64(len(rewards))
	}
	for _, reward := range rewards {
		variance += (reward - mean) * (reward - mean) / math.Max(float64(len(rewards)-1), 1)
	}
	return mean, math.Max(variance, 1)
}

// means returns the mean rewards of groups.
func means(groups []group) []float64 {
	return apply.To(groups, func(group group) float64 { return group.mean })
}
