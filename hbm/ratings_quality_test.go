//go:build quality

package hbm

import (
	"flag"
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
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
	student, lecturer                []int32 // of the ratings held out
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
		// nobody is left without
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

// predictive is the mean log density of the ratings held out, each under the mixture of the draws.
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

// TestQualityOfRatings compares families on 73,421 ratings with crossed effects: the variances on
// all of them, to set against restricted maximum likelihood by lme4 (students 0.1062, lecturers
// 0.2737, residual 1.3872, intercept 3.2542), and the log density of a tenth when it is held out:
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

// regressions is eq. 16 of the branch paper: a linear regression in each group with coefficients
// about common ones.
type regressions struct {
	model        *Model
	group, row   *Plate
	x, y         *Variable
	groups, rows int
	data         Values
	logEvidence  float64
}

const regressors = 10

// newRegressions simulates data, with so many rows in each group, and finds the evidence in closed
// form. With A = X'X and b = X'y of a group,
//
//	log p(y | θ) = −½ (n log 2π + log|I + A| + y'y − (θ + b)'(I + A)⁻¹(θ + b) + θ'θ),
//
// which is quadratic in θ.
func newRegressions(t testing.TB, groups, rows int) *regressions {
	g := &regressions{model: NewModel(), groups: groups, rows: rows}
	m := g.model
	g.group, g.row = m.Plate("group", groups), m.Plate("row", rows)
	theta := m.Latent("theta", Normal(Number(0), Number(1)), Event(regressors))
	z := m.Latent("z", Normal(theta, Number(1)), On(g.group), Event(regressors))
	g.x = m.Constant("x", On(g.group, g.row), Event(regressors))
	predictor := Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, g.x, z)
	g.y = m.Observed("y", Normal(predictor, Number(1)), On(g.group, g.row))

	random := stream.Rand(1, fmt.Sprintf("regressions/%d", groups))
	vector := func(about []float64) []float64 {
		v := make([]float64, regressors)
		for i := range v {
			v[i] = random.NormFloat64()
			if about != nil {
				v[i] += about[i]
			}
		}
		return v
	}
	common := vector(nil)
	g.data = Values{}
	precision, linear, constant := identity(regressors), mat.NewVecDense(regressors, nil), 0.0
	for range groups {
		own := vector(common)
		a, b, yy := identity(regressors), mat.NewVecDense(regressors, nil), 0.0
		for range rows {
			x := vector(nil)
			y := random.NormFloat64()
			for i := range x {
				y += x[i] * own[i]
			}
			g.data[g.x], g.data[g.y] = append(g.data[g.x], x...), append(g.data[g.y], y)
			column := mat.NewVecDense(regressors, x)
			a.SymRankOne(a, 1, column)
			b.AddScaledVec(b, y, column)
			yy += y * y
		}
		var cholesky mat.Cholesky
		require.True(t, cholesky.Factorize(a))
		var inverse mat.SymDense
		require.NoError(t, cholesky.InverseTo(&inverse))
		var shift mat.VecDense
		shift.MulVec(&inverse, b)
		constant -= 0.5 * (float64(rows)*math.Log(2*math.Pi) + cholesky.LogDet() + yy - mat.Dot(b, &shift))
		linear.AddVec(linear, &shift)
		for i := range regressors {
			for j := i; j < regressors; j++ {
				own := -inverse.At(i, j)
				if i == j {
					own++
				}
				precision.SetSym(i, j, precision.At(i, j)+own)
			}
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(precision))
	var mode mat.VecDense
	require.NoError(t, cholesky.SolveVecTo(&mode, linear))
	g.logEvidence = constant + 0.5*mat.Dot(linear, &mode) - 0.5*cholesky.LogDet()
	return g
}

func identity(n int) *mat.SymDense {
	m := mat.NewSymDense(n, nil)
	for i := range n {
		m.SetSym(i, i, 1)
	}
	return m
}

// TestQualityOfBranches compares joint, branch and amortized branch with the exact evidence on eq.
// 16 of the branch paper. The encoder reads products of two numbers. Where there are many groups a
// step takes part in 100 of them:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfBranches -v ./hbm -quality.sizes 10,1000
func TestQualityOfBranches(t *testing.T) {
	t.Log("| groups | rows in each | family | weights | steps | CPU seconds | log evidence | ELBO | below, nats | below, nats per group |")
	for _, size := range []struct{ groups, rows, batch, steps, draws int }{{10, 100, 0, 6000, 2000}, {1000, 100, 100, 2000, 20}, {100_000, 10, 100, 2000, 2}} {
		if !chosen(*qualityGroups, fmt.Sprint(size.groups)) {
			continue
		}
		g := newRegressions(t, size.groups, size.rows)
		for _, family := range []Family{Joint, Branch, AmortizedBranch} {
			if !chosen(*qualityFamily, family.String()) || family == Joint && size.groups*regressors > MaxJoint {
				continue
			}
			p := measure(t, g.model, g.data, size.draws, Config{Family: family, Products: true, Steps: size.steps, Batch: map[*Plate]int{g.group: size.batch}})
			gap := g.logEvidence - p.elbo
			t.Logf("| %d | %d | %v | %d | %d | %.0f | %.2f | %.2f ± %.2f | %.2f | %.4f |", g.groups, g.rows, family, p.Weights(), p.Steps(), p.cpu, g.logEvidence, p.elbo, p.se, gap, gap/float64(g.groups))
		}
	}
}
