package amortizecheck

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
)

// Result is how good a network is on a task.
type Result struct {
	Task      string  `json:"task"`
	Accuracy  bool    `json:"accuracy,omitempty"`
	Encoder   string  `json:"encoder"`
	Flow      string  `json:"flow"`
	Objective string  `json:"objective"`
	Steps     int     `json:"steps"`
	Seconds   float64 `json:"seconds"` // of training
	// Prior, Network and Exact are the expected figure of a fresh row under draws of the prior, of
	// the network and of the exact posterior, in the mean over data sets, and SE the standard
	// error of that of the network; Exact is absent where there is no closed form.
	Prior   float64  `json:"prior"`
	Network float64  `json:"network"`
	SE      float64  `json:"se"`
	Exact   *float64 `json:"exact,omitempty"`
	// Divergence is KL(network ‖ exact) in nats, where there is a closed form.
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

// Fresh rows of a data set by which draws are judged, and data sets.
const (
	freshRows = 50
	dataSets  = 100
)

// Measure trains a network on a task and measures it on 100 fresh data sets.
func Measure(ctx context.Context, device *gpu.Device, t *Task, cfg vti.AmortizedConfig, progress func(text string)) (*Result, error) {
	r := &Result{Task: t.Name, Accuracy: t.Accuracy, Encoder: t.encoder.Config().Kind.String(), Flow: cfg.Flow.Kind.String(), Objective: cfg.Objective.String(), Published: t.Published}
	cfg.Progress = func(info vti.AmortizedInfo) {
		r.Curve = append(r.Curve, Point{info.Step, info.Loss})
		progress(fmt.Sprintf("%s: step %d of %d, loss %.4f", t.Name, info.Step, info.Steps, info.Loss))
	}
	started := time.Now()
	network, err := vti.FitAmortized(ctx, device, t, cfg)
	if err != nil {
		return nil, err
	}
	r.Steps, r.Seconds = network.Steps(), time.Since(started).Seconds()
	if r.Share, err = network.Efficiency(ctx, dataSets, "benchmark"); err != nil {
		return nil, err
	}
	var figures, priors, exact, divergences []float64
	for i := range dataSets {
		random := stream.Rand(cfg.Seed, fmt.Sprintf("data set/%d", i))
		problem, err := t.Simulate(random)
		if err != nil {
			return nil, err
		}
		_, theta, logQ, _, err := network.Sample(problem, fmt.Sprintf("benchmark/%d", i))
		if err != nil {
			return nil, err
		}
		rows := make([][]float64, freshRows)
		for k := range rows {
			rows[k] = t.drawRow(problem.Theta, random)
		}
		figures = append(figures, t.expected(rows, theta))
		draws, dim := theta.Dims()
		prior := mat.NewDense(draws, dim, nil)
		fill(prior, random.NormFloat64)
		priors = append(priors, t.expected(rows, prior))
		if posterior := t.posterior(problem); posterior != nil {
			exact = append(exact, t.expected(rows, posterior.draw(draws, random.NormFloat64)))
			kl := 0.0
			for k, q := range logQ {
				kl += (q - posterior.logDensity(theta.RawRowView(k))) / float64(draws)
			}
			divergences = append(divergences, kl)
		}
	}
	r.Network, r.SE = stat.Mean(figures, nil), stat.StdDev(figures, nil)/math.Sqrt(dataSets)
	r.Prior = stat.Mean(priors, nil)
	if len(exact) > 0 {
		e, d := stat.Mean(exact, nil), stat.Mean(divergences, nil)
		r.Exact, r.Divergence = &e, &d
	}
	return r, nil
}

func fill(m *mat.Dense, draw func() float64) {
	values := m.RawMatrix().Data
	for i := range values {
		values[i] = draw()
	}
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

// normal is an exact posterior N(mean, precision⁻¹).
type normal struct {
	mean   *mat.VecDense
	factor mat.Cholesky // of the precision
}

// posterior is the exact one, or nil where it is not normal.
func (t *Task) posterior(p *vti.Problem) *normal {
	if t.kind != gaussianMean && t.kind != regression {
		return nil
	}
	d := t.dim
	precision, linear := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	var inverse mat.SymDense
	if t.kind == gaussianMean && t.root.InverseTo(&inverse) != nil {
		return nil
	}
	for i := range d {
		precision.SetSym(i, i, 1)
	}
	for k, present := range p.Data[1].Values {
		if present == 0 {
			continue
		}
		row := p.Data[0].Values[k*t.width() : (k+1)*t.width()]
		x := mat.NewVecDense(d, append([]float64(nil), row[:d]...))
		if t.kind == regression {
			precision.SymRankOne(precision, 1/regressionVariance, x)
			linear.AddScaledVec(linear, row[d]/regressionVariance, x)
			continue
		}
		precision.AddSym(precision, &inverse)
		var weighted mat.VecDense
		weighted.MulVec(&inverse, x)
		linear.AddVec(linear, &weighted)
	}
	n := &normal{mean: mat.NewVecDense(d, nil)}
	if !n.factor.Factorize(precision) || n.factor.SolveVecTo(n.mean, linear) != nil {
		return nil
	}
	return n
}

func (n *normal) draw(draws int, random func() float64) *mat.Dense {
	d := n.mean.Len()
	var upper mat.TriDense
	n.factor.UTo(&upper) // precision = UᵀU
	out := mat.NewDense(draws, d, nil)
	z := mat.NewVecDense(d, nil)
	for k := range draws {
		for j := range d {
			z.SetVec(j, random())
		}
		var x mat.VecDense
		_ = x.SolveVec(&upper, z) // of full rank
		for j := range d {
			out.Set(k, j, n.mean.AtVec(j)+x.AtVec(j))
		}
	}
	return out
}

func (n *normal) logDensity(theta []float64) float64 {
	d := n.mean.Len()
	left := mat.NewVecDense(d, append([]float64(nil), theta...))
	left.SubVec(left, n.mean)
	var upper mat.TriDense
	n.factor.UTo(&upper)
	var y mat.VecDense
	y.MulVec(&upper, left)
	return n.factor.LogDet()/2 - mat.Dot(&y, &y)/2 - float64(d)/2*math.Log(2*math.Pi)
}
