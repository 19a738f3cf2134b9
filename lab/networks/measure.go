package networks

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
)

// Result is how good a network is on a task. Figures are the expected squared distance, or the
// accuracy in percent, of fresh rows under draws, in the mean over data sets.
type Result struct {
	Task      string  `json:"task"`
	Accuracy  bool    `json:"accuracy,omitempty"`
	Encoder   string  `json:"encoder"`
	Flow      string  `json:"flow"`
	Objective string  `json:"objective"`
	Computed  bool    `json:"computed"` // whether the network starts from what is computed for a data set
	Source    string  `json:"source"`
	Steps     int     `json:"steps"`
	Seconds   float64 `json:"seconds"` // of training
	// Prior, Start and Network are the figures under the prior, under the normal approximation that
	// is computed for each data set, and under the network; SE is the standard error of the last.
	// Optimum is that of a mode of each data set. Where the posterior has a closed form, Start is
	// its figure.
	Prior   float64 `json:"prior"`
	Optimum float64 `json:"optimum"`
	Start   float64 `json:"start"`
	Network float64 `json:"network"`
	SE      float64 `json:"se"`
	// Exact reports whether Start is the posterior, and Divergence is KL(network ‖ posterior) in
	// nats there.
	Exact      bool     `json:"exact,omitempty"`
	Divergence *float64 `json:"divergence,omitempty"`
	// Share is the effective share of draws.
	Share     float64    `json:"effective_share"`
	Published [3]float64 `json:"published"` // prior, optimum, best network of the paper
	Curve     []Point    `json:"curve"`
}

// Point is the mean objective of the steps before one.
type Point struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`
}

// freshRows is the number of fresh rows of a data set by which draws are judged.
const freshRows = 50

// Measure trains a network on a task and measures it on so many fresh data sets. By the objective
// forward it is trained on data of the model, wherever those of the task come from.
func Measure(ctx context.Context, device *gpu.Device, t *Task, cfg amortize.Config, dataSets int, progress func(text string)) (*Result, error) {
	r := &Result{
		Task: t.Name, Accuracy: t.Accuracy, Encoder: t.encoder.Config().Kind.String(), Flow: cfg.Flow.Kind.String(), Objective: cfg.Objective.String(),
		Computed: t.options.Computed, Source: t.options.Source.String(), Published: t.Published,
	}
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
	started := time.Now()
	network, err := amortize.Fit(ctx, device, &trained, cfg)
	if err != nil {
		return nil, err
	}
	r.Steps, r.Seconds = network.Steps(), time.Since(started).Seconds()
	var prior, optimum, start, figure, divergence, share []float64
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
		if t.isExact() {
			kl := 0.0
			for k, q := range logQ {
				kl += (q - a.logDensity(theta.RawRowView(k))) / float64(draws)
			}
			divergence = append(divergence, kl)
		}
	}
	r.Prior, r.Optimum, r.Start, r.Share = stat.Mean(prior, nil), stat.Mean(optimum, nil), stat.Mean(start, nil), stat.Mean(share, nil)
	r.Network, r.SE = stat.Mean(figure, nil), stat.StdDev(figure, nil)/math.Sqrt(float64(dataSets))
	if r.Exact = t.isExact(); r.Exact {
		kl := stat.Mean(divergence, nil)
		r.Divergence = &kl
	}
	return r, nil
}

// expected is the mean figure of rows under draws.
func (t *Task) expected(rows [][]float64, theta *mat.Dense) (sum float64) {
	draws, _ := theta.Dims()
	for k := range draws {
		for _, row := range rows {
			sum += t.loss(row, theta.RawRowView(k))
		}
	}
	return sum / float64(draws*len(rows))
}

// effectiveShare is (Σw)² / (n Σw²) with w = p/q.
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
