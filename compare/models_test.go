package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/transdim/vti/internal/report"
)

// reports returns the list of a run that reports only its most probable models. The argument top is
// their number.
func reports(probabilities []float64, se float64, top int) []Model {
	var list []Model
	for i, p := range probabilities {
		list = append(list, Model{Code: fmt.Sprintf("%05b", i), Probability: report.Number(p), SE: report.Number(se)})
	}
	slices.SortStableFunc(list, func(a, b Model) int { return int(math.Copysign(1, float64(b.Probability-a.Probability))) })
	return list[:top]
}

func simplex(random *rand.Rand, n int) []float64 {
	p := make([]float64, n)
	var sum float64
	for i := range p {
		p[i] = math.Pow(random.ExpFloat64(), 4) // a few large probabilities and many small ones
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// TestTotalVariationBounds checks that the interval of the total variation contains its true value,
// and that Low equals High if both lists are complete.
func TestTotalVariationBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		n := rapid.IntRange(2, 32).Draw(r, "models")
		a, b := simplex(random, n), simplex(random, n)
		var truth, kl float64
		for i := range a {
			truth += math.Abs(a[i]-b[i]) / 2
			kl += a[i] * math.Log(a[i]/b[i])
		}
		topA, topB := rapid.IntRange(1, n).Draw(r, "top A"), rapid.IntRange(1, n).Draw(r, "top B")
		m := matchModels(reports(a, 0.01, topA), reports(b, 0.01, topB))
		bounds := m.totalVariation()
		const slack = 2 * completeTol // a list whose probabilities sum to 1 within completeTol counts as complete
		assert.LessOrEqual(r, float64(bounds.Low), truth+slack)
		assert.GreaterOrEqual(r, float64(bounds.High), truth-slack)
		if topA == n && topB == n {
			assert.InDelta(r, truth, float64(bounds.Low), slack)
			assert.InDelta(r, truth, float64(bounds.High), slack)
			assert.InDelta(r, kl, float64(m.divergence(false)), 1e-9)
		}
	})
}

func TestMatchModels(t *testing.T) {
	a := []Model{{Code: "11", Probability: 0.6, SE: 0.03}, {Code: "01", Probability: 0.4, SE: 0.03}}
	b := []Model{{Code: "01", Probability: 0.5, SE: 0.04}, {Code: "10", Probability: 0.3, SE: 0.04}}
	m := matchModels(a, b)
	assert.True(t, m.completeA)
	assert.False(t, m.completeB)
	codes := make([]string, len(m.pairs))
	for i, pair := range m.pairs {
		codes[i] = pair.Code
	}
	assert.Equal(t, []string{"11", "01", "10"}, codes)
	assert.False(t, m.pairs[0].known(), "B may hold 11 among the models it does not list")
	assert.InDelta(t, -2, float64(m.pairs[1].Z), 1e-12)
	assert.Zero(t, float64(m.pairs[2].A), "A lists every model that it gives probability")
	// The probabilities of models 01 (0.4 and 0.5) and 10 (0 and 0.3) are known in both runs. The
	// rest of the probability is 0.6 in A and 0.2 in B.
	tv := m.totalVariation()
	assert.InDelta(t, (0.1+0.3+0.4)/2, float64(tv.Low), 1e-12)
	assert.InDelta(t, (0.1+0.3+0.8)/2, float64(tv.High), 1e-12)
	assert.True(t, math.IsNaN(float64(m.divergence(false))))

	b = append(b, Model{Code: "00", Probability: 0.2})
	m = matchModels(a, b)
	assert.True(t, math.IsInf(float64(m.divergence(false)), 1), "11 is impossible under B")
}

func TestLargestDisagreements(t *testing.T) {
	pairs := []Pair{
		NewPair(0.5, 0.01, 0.52, 0), NewPair(0.3, 0.01, 0.35, 0), NewPair(1e-9, 1e-12, 0, 0), NewPair(0.2, 0, 0.9, 0),
		NewPair(0.4, 0.1, report.Number(math.NaN()), 0), NewPair(0.1, 0.01, 0.2, report.Number(math.NaN())),
	}
	var found []float64
	for _, pair := range Disagreements(pairs) {
		found = append(found, float64(pair.A))
	}
	// Z is infinite for different numbers without errors, and unknown if an error is unknown.
	assert.Equal(t, []float64{0.2, 0.3, 0.5, 0.1}, found)
}
