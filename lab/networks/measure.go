package networks

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
)

// Result is the quality of a network on a task. It is measured by a figure: the expected squared
// distance, or the accuracy in percent, of fresh rows under draws of the parameters, averaged over
// data sets.
type Result struct {
	// Prior is the figure under the prior, and Optimum the figure at the mode of the posterior of
	// each data set. Start is the figure under the normal approximation computed for each data set.
	// If the posterior is normal, the approximation is the posterior. Network is the figure under
	// the network, and SE its standard error.
	Prior, Optimum, Start, Network, SE float64
	// Gain is the advantage of the network over the prior, averaged over data sets, and GainSE its
	// standard error.
	Gain, GainSE float64
	// Divergence is KL(network ‖ posterior) in nats if the posterior is known, and NaN otherwise.
	Divergence float64
	// Share is the effective sample size of the network's draws, as importance samples of the
	// posterior, divided by their number, averaged over data sets.
	Share float64
	// Swapped, for a mixture of two components, is the share of draws in the less frequent order of
	// the two means, averaged over data sets, and SwappedSE is its standard error. Modes holds
	// draws for the first data set, one in each row.
	Swapped, SwappedSE float64
	Modes              [][]float64
	// Curve is the mean objective during training.
	Curve []Point
}

// Point is the mean objective over the training steps after the preceding point.
type Point struct {
	Step int     // number of training steps up to this point
	Loss float64 // the mean objective, in nats
}

// freshRows is the number of fresh rows of a data set from which figures are computed.
const freshRows = 50

// Measure trains a network on a task and measures it on dataSets fresh data sets. With the forward
// objective it is trained on data from the model, whatever the source of the data sets.
func Measure(ctx context.Context, device *gpu.Device, t *Task, cfg amortize.Config, dataSets int, progress func(text string)) (*Result, error) {
	r := &Result{Divergence: math.NaN(), Swapped: math.NaN(), SwappedSE: math.NaN()}
	if err := t.check(cfg.Objective); err != nil {
		return nil, err
	}
	cfg.Progress = func(info amortize.Info) {
		r.Curve = append(r.Curve, Point{info.Step, info.Loss})
		progress(fmt.Sprintf("%s: step %d of %d, loss %.4f", t.Name, info.Step, info.Steps, info.Loss))
	}
	trained := *t
	if cfg.Objective == amortize.ForwardKL {
		trained.options.Source = FromModel
	}
	network, err := amortize.Fit(ctx, device, &trained, cfg)
	if err != nil {
		return nil, err
	}
	var prior, optimum, start, figure, gain, divergence, share, swapped []float64
	for i := range dataSets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		random := stream.Rand(cfg.Seed, fmt.Sprintf("data set/%d", i))
		d := t.dataSet(random)
		problem, a, err := t.problem(d)
		if err != nil {
			return nil, err
		}
		_, theta, logQ, logP, err := network.Sample(problem, fmt.Sprintf("benchmark/%d", i))
		if err != nil {
			return nil, err
		}
		share = append(share, effectiveShare(logP, logQ))
		if a != nil {
			theta = a.toParams(theta)
			for k := range logQ {
				logQ[k] -= a.logDet
			}
		} else if a, err = t.anchor(d.rows); err != nil {
			return nil, err
		}
		rows := make([][]float64, freshRows)
		for k := range rows {
			rows[k] = d.more()
		}
		draws, dim := theta.Dims()
		z := mat.NewDense(draws, dim, nil)
		fill(z, random.NormFloat64)
		prior, start, figure = append(prior, t.expected(rows, z)), append(start, t.expected(rows, a.toParams(z))), append(figure, t.expected(rows, theta))
		optimum = append(optimum, t.expected(rows, mat.NewDense(1, dim, a.mode)))
		gain = append(gain, prior[i]-figure[i])
		if t.Accuracy {
			gain[i] = -gain[i]
		}
		if t.kind == mixtureMeans {
			swapped = append(swapped, t.swappedShare(theta, a.mode))
			if i == 0 {
				r.Modes = rowsOf(theta)
			}
		}
		if t.isExact() {
			kl := 0.0
			for k, q := range logQ {
				kl += (q - a.logDensity(theta.RawRowView(k))) / float64(draws)
			}
			divergence = append(divergence, kl)
		}
	}
	r.Prior, r.Optimum, r.Start, r.Share = stat.Mean(prior, nil), stat.Mean(optimum, nil), stat.Mean(start, nil), stat.Mean(share, nil)
	r.Network, r.SE = meanSE(figure)
	r.Gain, r.GainSE = meanSE(gain)
	if t.isExact() {
		r.Divergence = stat.Mean(divergence, nil)
	}
	if t.kind == mixtureMeans {
		r.Swapped, r.SwappedSE = meanSE(swapped)
	}
	return r, nil
}

// meanSE returns the mean of values and its standard error.
func meanSE(values []float64) (mean, se float64) {
	mean, sd := stat.MeanStdDev(values, nil)
	return mean, sd / math.Sqrt(float64(len(values)))
}

// swappedShare returns the share of draws in the less frequent order of the two means. The order of
// a draw is the order in which it is closer to the mode. Under the posterior, which does not depend
// on labels, the share is a half.
func (t *Task) swappedShare(theta *mat.Dense, mode []float64) float64 {
	other := append(slices.Clone(mode[t.dim:]), mode[:t.dim]...)
	n, _ := theta.Dims()
	count := 0.0
	for k := range n {
		if row := theta.RawRowView(k); floats.Distance(row, other, 2) < floats.Distance(row, mode, 2) {
			count++
		}
	}
	share := count / float64(n)
	return math.Min(share, 1-share)
}

func rowsOf(m *mat.Dense) (rows [][]float64) {
	n, _ := m.Dims()
	for k := range n {
		rows = append(rows, m.RawRowView(k))
	}
	return rows
}

// expected returns the mean squared distance or accuracy of rows under the draws in theta.
func (t *Task) expected(rows [][]float64, theta *mat.Dense) (sum float64) {
	draws, _ := theta.Dims()
	for k := range draws {
		for _, row := range rows {
			sum += t.loss(row, theta.RawRowView(k))
		}
	}
	return sum / float64(draws*len(rows))
}

// effectiveShare returns (Σw)² / (n Σw²) for the weights w = p/q of n draws.
func effectiveShare(logP, logQ []float64) float64 {
	largest := math.Inf(-1)
	for k := range logP {
		largest = math.Max(largest, logP[k]-logQ[k])
	}
	var sum, squares float64
	for k := range logP {
		w := math.Exp(logP[k] - logQ[k] - largest)
		sum += w
		squares += w * w
	}
	return sum * sum / squares / float64(len(logP))
}
