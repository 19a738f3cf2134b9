//go:build quality

package networks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

// These are the settings of the Markov chains.
const (
	chainIterations = 320
	leapfrogSteps   = 64
	wantedAccepted  = 0.8
	measuredSets    = 50
)

// TestQualityOfPosteriorOfNetworks prints how well the exact posterior predicts fresh rows, as mean
// squared distance or accuracy in percent, for the tasks of Mittal et al. (2023, table 1) with
// networks or classes. The command `vtilab paper exchangeable table1` prints the same figures for
// trained networks on the same data sets. The test draws from each posterior by Hamiltonian Monte
// Carlo, from the true weights, which are one draw from it. If the chains are long enough, their
// four quarters give equal figures. With 25 predictors, the test takes minutes on an idle machine.
//
//	go test -tags quality -v -run PosteriorOfNetworks/nonlinear-5 ./lab/networks
func TestQualityOfPosteriorOfNetworks(t *testing.T) {
	tasks, err := Tasks(Options{Computed: true})
	require.NoError(t, err)
	for _, task := range tasks {
		if !task.kind.isNetwork() && !task.kind.hasClasses() {
			continue
		}
		t.Run(task.Name, func(t *testing.T) {
			var quarters [4][]float64
			var figure, optimum, center, accepted []float64
			for i := range measuredSets {
				random := stream.Rand(1, fmt.Sprintf("data set/%d", i)) // the random numbers of the benchmark's data sets
				d := task.dataSet(random)
				a, err := task.anchor(d.rows)
				require.NoError(t, err)
				rows := make([][]float64, freshRows)
				for k := range rows {
					rows[k] = d.more()
				}
				draws, share := task.hamiltonian(d, stream.Rand(1, fmt.Sprintf("chain/%d", i)))
				for q := range quarters {
					quarters[q] = append(quarters[q], task.expected(rows, part(draws, q, len(quarters))))
				}
				mean := 0.0 // figure of the mean prediction
				half := part(draws, 1, 2)
				for _, row := range rows {
					eta := 0.0
					n, _ := half.Dims()
					for k := range n {
						eta += task.predict(row[:task.dim], half.RawRowView(k), nil) / float64(n)
					}
					if task.Accuracy {
						mean += 100 * indicator(row[task.dim]*eta > 0) / freshRows
					} else {
						mean += (row[task.dim] - eta) * (row[task.dim] - eta) / freshRows
					}
				}
				center, accepted = append(center, mean), append(accepted, share)
				figure, optimum = append(figure, task.expected(rows, half)), append(optimum, task.expected(rows, mat.NewDense(1, len(a.mode), a.mode)))
			}
			for q := range quarters {
				t.Logf("quarter %d of the chains: %.3f", q+1, stat.Mean(quarters[q], nil))
			}
			t.Logf("%d data sets, %.2f accepted: under the posterior %.2f ± %.2f, of its mean prediction %.2f, of a mode %.2f", measuredSets, stat.Mean(accepted, nil),
				stat.Mean(figure, nil), stat.StdDev(figure, nil)/math.Sqrt(measuredSets), stat.Mean(center, nil), stat.Mean(optimum, nil))
		})
	}
}

func indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// part returns the k-th of n equal parts of the rows, counted from 0.
func part(rows *mat.Dense, k, n int) *mat.Dense {
	count, dim := rows.Dims()
	return rows.Slice(k*count/n, (k+1)*count/n, 0, dim).(*mat.Dense)
}

// hamiltonian returns draws from the posterior of a data set by Hamiltonian Monte Carlo, and the
// share of accepted proposals. It tunes the size of steps first.
func (t *Task) hamiltonian(d dataSet, random *rand.Rand) (draws *mat.Dense, accepted float64) {
	dim := t.parameters()
	draws = mat.NewDense(chainIterations, dim, nil)
	position, logStep := append([]float64(nil), d.theta...), math.Log(0.01)
	value, slope := t.slope(d.rows, position)
	tuning := chainIterations / 4
	for i := range tuning + chainIterations {
		if i == tuning { // return to the true weights, a draw from the posterior
			copy(position, d.theta)
			value, slope = t.slope(d.rows, position)
		}
		step := math.Exp(logStep) * (0.8 + 0.4*random.Float64())
		momentum := normals(dim, random)
		energy := value - floats.Dot(momentum, momentum)/2
		next, nextSlope := append([]float64(nil), position...), slope
		var nextValue float64
		for range leapfrogSteps {
			floats.AddScaled(momentum, step/2, nextSlope)
			floats.AddScaled(next, step, momentum)
			nextValue, nextSlope = t.slope(d.rows, next)
			floats.AddScaled(momentum, step/2, nextSlope)
		}
		chance := math.Min(1, math.Exp(nextValue-floats.Dot(momentum, momentum)/2-energy))
		if !(chance >= 0) {
			chance = 0
		}
		if random.Float64() < chance {
			position, value, slope = next, nextValue, nextSlope
		}
		if i < tuning {
			logStep += (chance - wantedAccepted) * 2 / math.Sqrt(float64(i+1))
			continue
		}
		draws.SetRow(i-tuning, position)
		accepted += chance / chainIterations
	}
	return draws, accepted
}
