//go:build quality

package hbm

import (
	"flag"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

var qualityRatings = flag.String("quality.insteval", "", "the file InstEval.csv of lme4, with columns s, d and y")

// ratings are the ratings of lecturers by students with two crossed effects.
type ratings struct {
	model                            *Model
	rating                           *Plate
	intercept, sdS, sdD, noise, s, d *Variable
	y                                *Variable
	student, lecturer                []int32 // of the held-out ratings
	heldOut                          []float64
	data                             Values
}

func newRatings(t testing.TB, file string, share float64) *ratings {
	all, err := table.ReadFile(file)
	require.NoError(t, err)
	numbered := func(name string) (index []int32, size int) {
		numbers := map[float64]int32{}
		for _, value := range column(t, all, name) {
			if _, ok := numbers[value]; !ok {
				numbers[value] = int32(len(numbers))
			}
			index = append(index, numbers[value])
		}
		return index, len(numbers)
	}
	student, students := numbered("s")
	lecturer, lecturers := numbered("d")
	r := &ratings{model: NewModel()}
	random := stream.Rand(1, "held out")
	var keptStudent, keptLecturer []int32
	var kept []float64
	ofStudent, ofLecturer := make([]int, students), make([]int, lecturers)
	for i := range student {
		ofStudent[student[i]]++
		ofLecturer[lecturer[i]]++
	}
	for i, y := range column(t, all, "y") {
		// every student and every lecturer keeps at least one rating
		if random.Float64() < share && ofStudent[student[i]] > 1 && ofLecturer[lecturer[i]] > 1 {
			ofStudent[student[i]]--
			ofLecturer[lecturer[i]]--
			r.student, r.lecturer, r.heldOut = append(r.student, student[i]), append(r.lecturer, lecturer[i]), append(r.heldOut, y)
			continue
		}
		keptStudent, keptLecturer, kept = append(keptStudent, student[i]), append(keptLecturer, lecturer[i]), append(kept, y)
	}
	m := r.model
	s, d := m.Plate("student", students), m.Plate("lecturer", lecturers)
	r.rating = m.Plate("rating", len(kept)).In(s, keptStudent).In(d, keptLecturer)
	r.intercept = m.Latent("intercept", Normal(Number(3), Number(2)))
	r.sdS, r.sdD = m.Latent("sd of students", HalfNormal(Number(1))), m.Latent("sd of lecturers", HalfNormal(Number(1)))
	r.noise = m.Latent("noise", HalfNormal(Number(2)))
	r.s = m.Latent("student", Normal(Number(0), r.sdS), On(s))
	r.d = m.Latent("lecturer", Normal(Number(0), r.sdD), On(d))
	mean := Of(func(v []*Node) *Node { return Add(Add(v[0], v[1]), v[2]) }, r.intercept, r.s, r.d)
	r.y = m.Observed("y", Normal(mean, r.noise), On(r.rating))
	r.data = Values{r.y: kept}
	return r
}

// predictive returns the mean over held-out ratings of log p, where p is a mean density over draws.
func (r *ratings) predictive(draws *Draws) float64 {
	var total float64
	for i, y := range r.heldOut {
		var density float64
		for n := range draws.N {
			sd := draws.Of(r.noise, n)[0]
			z := (y - draws.Of(r.intercept, n)[0] - draws.Of(r.s, n)[r.student[i]] - draws.Of(r.d, n)[r.lecturer[i]]) / sd
			density += math.Exp(-0.5*z*z) / sd
		}
		total += math.Log(density/float64(draws.N)) - halfLogTwoPi
	}
	return total / float64(len(r.heldOut))
}

// TestQualityOfRatings compares families on 73,421 ratings with crossed effects: the variances from
// all ratings, to compare with restricted maximum likelihood by lme4 (students 0.1062, lecturers
// 0.2737, residual 1.3872, intercept 3.2542), and the log density of a held-out tenth:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfRatings -v ./hbm \
//	    -quality.insteval InstEval.csv -quality.batch 7000
func TestQualityOfRatings(t *testing.T) {
	if *qualityRatings == "" {
		t.Skip("needs -quality.insteval")
	}
	t.Log("| family | held out | members in a step | weights | steps | CPU seconds | ELBO | variance of students | lecturers | residual | intercept | log density held out, per rating |")
	for _, share := range []float64{0, 0.1} {
		r := newRatings(t, *qualityRatings, share)
		for _, family := range []Family{Branch, AmortizedBranch, PAVIF} {
			if !chosen(*qualityFamily, family.String()) {
				continue
			}
			p := measure(t, r.model, r.data, 20, Config{Family: family, Steps: 1500, Batch: map[*Plate]int{r.rating: *qualityBatch}})
			draws, err := p.Sample(t.Context(), 50, "ratings")
			require.NoError(t, err)
			square := func(v *Variable) float64 {
				squares := make([]float64, draws.N)
				for i, sd := range draws.Values[v] {
					squares[i] = sd * sd
				}
				return stat.Mean(squares, nil)
			}
			held := math.NaN()
			if share > 0 {
				held = r.predictive(draws)
			}
			t.Logf("| %v | %.0f%% | %d | %d | %d | %.0f | %.1f ± %.1f | %.4f | %.4f | %.4f | %.4f | %.5f |", family, 100*share, *qualityBatch, p.Weights(), p.Steps(), p.cpu, p.elbo, p.se,
				square(r.sdS), square(r.sdD), square(r.noise), stat.Mean(draws.Values[r.intercept], nil), held)
		}
	}
}
