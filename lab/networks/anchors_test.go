package networks

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// computed returns the tasks with a computed normal approximation of the posterior, by name.
func computed(t *testing.T) map[string]*Task {
	t.Helper()
	tasks, err := Tasks(Options{Computed: true})
	require.NoError(t, err)
	byName := map[string]*Task{}
	for _, task := range tasks {
		byName[task.Name] = task
	}
	return byName
}

// TestAnchorsOfLinearTasksAreExact compares anchors, the normal approximations of posteriors, with
// the posteriors in closed form, for linear regressions and means.
func TestAnchorsOfLinearTasksAreExact(t *testing.T) {
	tasks := computed(t)
	for _, name := range []string{"gaussian-5", "regression-5", "regression-100"} {
		task := tasks[name]
		d := task.dataSet(stream.Rand(3, name))
		a, err := task.anchor(d.rows)
		require.NoError(t, err)
		n, dim := len(d.rows), task.dim
		// The joint normal distribution of θ, with prior N(0, I), and the rows gives the posterior
		// mean.
		joint, cross, observed := mat.NewDense(n, n, nil), mat.NewDense(dim, n, nil), mat.NewVecDense(n, nil)
		if task.kind == gaussianMean { // the mean of the rows is sufficient; it has the distribution N(θ, Σ/n)
			joint, cross, observed = mat.NewDense(dim, dim, nil), mat.NewDense(dim, dim, nil), mat.NewVecDense(dim, nil)
			for i := range dim {
				cross.Set(i, i, 1)
				joint.Set(i, i, 1)
				for _, row := range d.rows {
					observed.SetVec(i, observed.AtVec(i)+row[i]/float64(n))
				}
			}
			var scaled mat.Dense
			scaled.Scale(1/float64(n), task.covariance)
			joint.Add(joint, &scaled)
		} else {
			x := mat.NewDense(n, dim, nil)
			for i, row := range d.rows {
				x.SetRow(i, row[:dim])
				observed.SetVec(i, row[dim])
			}
			joint.Mul(x, x.T())
			for i := range n {
				joint.Set(i, i, joint.At(i, i)+regressionVariance)
			}
			cross.Copy(x.T())
		}
		var gain, mean, covariance, got mat.Dense
		require.NoError(t, gain.Solve(joint.T(), cross.T()))
		mean.Mul(gain.T(), observed)
		covariance.Mul(gain.T(), cross.T())
		got.Mul(a.root, a.root.T())
		for i := range dim {
			require.InDelta(t, mean.At(i, 0), a.center[i], 1e-9, name)
			for j := range dim {
				prior := 0.0
				if i == j {
					prior = 1
				}
				require.InDelta(t, prior-covariance.At(i, j), got.At(i, j), 1e-9, name)
			}
		}
		require.InDelta(t, mat.Det(a.root), math.Exp(a.logDet), 1e-9*math.Exp(a.logDet))
	}
}

// TestAnchorsAreModes checks anchors of tasks without classes. Gradients must agree with finite
// differences, and vanish at the anchor: a Newton step must gain almost nothing. The root must
// belong to the precision, and the maps between z and θ must be inverse to each other.
func TestAnchorsAreModes(t *testing.T) {
	for name, task := range computed(t) {
		if task.parameters() > 300 || task.kind.hasClasses() {
			continue // these take seconds, or are tested in closest_test.go
		}
		random := stream.Rand(4, name)
		d := task.dataSet(random)
		theta := normals(task.parameters(), random)
		density := func(theta []float64) float64 {
			value, _, _ := task.expand(d.rows, theta)
			return value
		}
		_, gradient, _ := task.expand(d.rows, theta)
		want := fd.Gradient(nil, density, theta, &fd.Settings{Formula: fd.Central})
		for j := range theta {
			require.InDelta(t, want[j], gradient[j], 1e-4*(1+math.Abs(want[j])), "%s, parameter %d", name, j)
		}
		a, err := task.anchor(d.rows)
		require.NoError(t, err)
		value, gradient, slopes := task.expand(d.rows, a.center)
		step, err := newtonStep(gradient, slopes, 1)
		require.NoError(t, err)
		if left := floats.Dot(step, gradient); !task.kind.isNetwork() { // for networks the search ends before the mode
			require.Less(t, left, 1e-4, "%s: twice the nats that are left to gain", name)
		}
		require.GreaterOrEqual(t, value, density(theta))
		var precision, unit mat.Dense // unit is rootᵀ (I + S Sᵀ) root = I
		precision.Mul(slopes, slopes.T())
		for i := range theta {
			precision.Set(i, i, precision.At(i, i)+1)
		}
		unit.Product(a.root.T(), &precision, a.root)
		for i := range theta {
			require.InDelta(t, gradient[i], floats.Dot(precision.RawRowView(i), step), 1e-6*(1+math.Abs(gradient[i])))
			for j := range theta {
				want := 0.0
				if i == j {
					want = 1
				}
				require.InDelta(t, want, unit.At(i, j), 1e-6, name)
			}
		}
		z := mat.NewDense(1, len(theta), a.toBase(theta))
		require.InDeltaSlice(t, theta, a.toParams(z).RawRowView(0), 1e-9)
	}
}

// TestComputedStartsAreThePosterior checks q(θ | data) before training, for tasks whose posterior
// is normal. If q starts from a normal approximation computed for each data set, it must equal the
// posterior. If it starts from the prior, it must be far from the posterior.
func TestComputedStartsAreThePosterior(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for _, plain := range []bool{false, true} {
		tasks, err := Tasks(Options{Computed: !plain})
		require.NoError(t, err)
		for _, task := range tasks {
			if task.Name != "gaussian-5" && task.Name != "regression-5" {
				continue
			}
			cfg := amortize.Config{
				Steps: 1, Batch: 4, Draws: 2, LearningRate: 1e-9, Seed: 1, Objective: amortize.ReverseKL, Flow: cosmic.Config{Kind: cosmic.Diagonal, Layers: 2, Hidden: 16},
			}
			r, err := Measure(t.Context(), device, task, cfg, 5, func(string) {})
			require.NoError(t, err)
			if plain {
				require.Greater(t, r.Divergence, 5.0, task.Name)
				continue
			}
			require.InDelta(t, 0, r.Divergence, 1e-3, task.Name)
			require.InDelta(t, 1, r.Share, 1e-2, task.Name)
			require.InDelta(t, r.Start, r.Network, 0.05*r.Start, task.Name)
		}
	}
}

// TestGraphsHaveTheDensitiesOfAnchors compares LogJoint with expand, the log density from which
// anchors are computed, up to a constant that depends on the data set only.
func TestGraphsHaveTheDensitiesOfAnchors(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for name, task := range computed(t) {
		if task.parameters() > 300 {
			continue // these take seconds
		}
		cfg := amortize.Config{
			Steps: 1, Batch: 1, Draws: 2, LearningRate: 1e-9, Seed: 1, Objective: amortize.ReverseKL, Flow: cosmic.Config{Kind: cosmic.Diagonal, Layers: 1, Hidden: 4},
		}
		network, err := amortize.Fit(t.Context(), device, task, cfg)
		require.NoError(t, err)
		d := task.dataSet(stream.Rand(5, name))
		problem, a, err := task.problem(d)
		require.NoError(t, err)
		_, z, _, logP, err := network.Sample(problem, "densities")
		require.NoError(t, err)
		theta := a.toParams(z)
		value := func(k int) float64 {
			v, _, _ := task.expand(d.rows, theta.RawRowView(k))
			return v + a.logDet
		}
		first := value(0) - logP[0]
		for k := 1; k < 20; k++ {
			v := value(k)
			require.InDelta(t, first, v-logP[k], 1e-3+1e-5*math.Abs(v), fmt.Sprintf("%s: draw %d", name, k))
		}
	}
}

// TestSources checks that data from outside the model have no parameters, and that the standard
// deviation of functions is functionSD.
func TestSources(t *testing.T) {
	for _, source := range []Source{FromProcess, FromNetwork} {
		tasks, err := Tasks(Options{Source: source})
		require.NoError(t, err)
		squares, count := 0.0, 0
		for _, task := range tasks {
			require.ErrorContains(t, task.check(amortize.BothKL), "want the objective reverse or forward")
			for seed := range uint64(60) {
				d := task.dataSet(stream.Rand(seed, "source"))
				require.Nil(t, d.theta)
				for _, row := range d.rows {
					squares += row[task.dim] * row[task.dim]
					count++
				}
			}
		}
		require.InEpsilon(t, functionSD*functionSD+regressionVariance, squares/float64(count), 0.4, source.String())
	}
}
