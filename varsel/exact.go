package varsel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/english"
)

// MaxExactGroups is the largest number of selectable predictors that Exact enumerates: 2^25 models,
// minutes of work. Chosen by hand.
const MaxExactGroups = 25

// ExactProblem is a Gaussian linear model with independent normal priors on the coefficients,
//
//	y ~ N(X_m θ_m, σ² I),   θ_j ~ N(PriorMean_j, PriorSD_j²),
//
// where model m uses the Always coordinates and those of its groups. σ is known, or log σ is
// normal. All of it is on the working scale.
type ExactProblem struct {
	// X [n, D] is the design matrix and Y [n] the response.
	X *mat.Dense
	Y []float64
	// Always and Groups divide the D coordinates; group s is the s-th selectable predictor.
	Always []int
	Groups [][]int
	// PriorMean [D] may be nil for zeros; PriorSD [D] is positive.
	PriorMean, PriorSD []float64
	// Sigma is the known noise scale; zero says that log σ ~ N(LogSigmaMean, LogSigmaSD²).
	Sigma                    float64
	LogSigmaMean, LogSigmaSD float64
	// Prior is the prior over models.
	Prior Prior
	// heredity excludes models; nil: none.
	heredity *heredity
	// TopModels is how many models to list; zero lists all when there are at most 4096, else 100.
	TopModels int
	// Scaling, when set, makes the coefficients those of the table's scale.
	Scaling *Scaling
	// LogConstant is added to every log evidence: [Design.LogJacobian], or zero.
	LogConstant float64
	// Progress, when set, is called from time to time, never concurrently, with the number of
	// models done.
	Progress func(done, total int)
}

// ExactModel is one model of an exact answer.
type ExactModel struct {
	// Code has one entry per selectable predictor, 1 = in.
	Code []int32
	// Size is the number of predictors in it.
	Size int
	// LogEvidence is log p(y | m) in nats and Probability p(m | y).
	LogEvidence, Probability float64
}

// MarginalSummary describes a posterior distribution of one coefficient.
type MarginalSummary struct {
	Mean, SD, Q025, Q975 float64
}

// ExactCoefficient is the posterior of one coefficient: averaged over all models, where it is zero
// in those without it, and given that it is in (NaN when the evidence for that underflows).
type ExactCoefficient struct {
	Averaged, GivenIn MarginalSummary
}

// ExactResult is the posterior, up to rounding.
//
// Every number comes from all models except the quantiles: there the 1024 most probable models
// enter as the normal mixtures they are, and the rest as one normal distribution per coefficient
// with the mass, mean and variance they have together.
type ExactResult struct {
	// Count is the number of possible models: those that the prior does not exclude.
	Count int
	// LogEvidence is log p(y) = log Σ_m p(m) p(y | m) in nats.
	LogEvidence float64
	// Inclusion [G] is the probability that each predictor is in the model.
	Inclusion []float64
	// Models are the most probable models, best first, and Covered their total probability.
	Models  []ExactModel
	Covered float64
	// Coefficients [D] are in the order of the columns of X.
	Coefficients []ExactCoefficient
	// LogSigmaMean and LogSigmaSD are the posterior mean and standard deviation of log σ on the
	// working scale; log Sigma and 0 when it is known.
	LogSigmaMean, LogSigmaSD float64
	// Sigma is the posterior of σ itself, on the table's scale if the problem has a Scaling.
	Sigma MarginalSummary
}

// exactQuantileModels is how many models enter the quantiles one by one. Chosen by hand, not tuned.
const exactQuantileModels = 1024

// Validate reports what is missing or contradictory in the problem.
func (p *ExactProblem) Validate() error {
	if p.X == nil {
		return errors.New("exact: no design matrix")
	}
	n, dim := p.X.Dims()
	if len(p.Y) != n || n == 0 {
		return fmt.Errorf("exact: got %s, want one for each of the %s of X", english.Count(len(p.Y), "response"), english.Count(n, "row"))
	}
	if len(p.Groups) > MaxExactGroups {
		return fmt.Errorf("exact: %d selectable predictors make 2^%d models; at most 2^%d can be enumerated: vti varsel takes any number", len(p.Groups), len(p.Groups), MaxExactGroups)
	}
	seen := make([]bool, dim)
	for _, group := range append([][]int{p.Always}, p.Groups...) {
		for _, j := range group {
			if j < 0 || j >= dim || seen[j] {
				return fmt.Errorf("exact: coordinate %d is outside 0 to %d, or listed twice", j, dim-1)
			}
			seen[j] = true
		}
	}
	if j := slices.Index(seen, false); j >= 0 {
		return fmt.Errorf("exact: coordinate %d is in no group", j)
	}
	if len(p.PriorSD) != dim || p.PriorMean != nil && len(p.PriorMean) != dim {
		return fmt.Errorf("exact: got %d prior means and %d standard deviations, want %d (or no means)", len(p.PriorMean), len(p.PriorSD), dim)
	}
	for j, sd := range p.PriorSD {
		if !(sd > 0) || math.IsInf(sd, 1) {
			return fmt.Errorf("exact: prior standard deviation of coordinate %d: got %v, want a positive number", j, sd)
		}
	}
	for _, values := range [][]float64{p.X.RawMatrix().Data, p.Y, p.PriorMean, {p.LogSigmaMean, p.LogConstant}} {
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return errors.New("exact: X, Y, PriorMean, LogSigmaMean and LogConstant must be finite")
			}
		}
	}
	if p.Sigma < 0 || math.IsNaN(p.Sigma) || math.IsInf(p.Sigma, 0) {
		return fmt.Errorf("exact: Sigma: got %v, want a positive number, or zero for unknown", p.Sigma)
	}
	if p.Sigma == 0 && !(p.LogSigmaSD > 0 && !math.IsInf(p.LogSigmaSD, 1)) {
		return fmt.Errorf("exact: LogSigmaSD: got %v, want a positive number where σ is unknown", p.LogSigmaSD)
	}
	if p.Scaling != nil && len(p.Scaling.SD) != dim {
		return fmt.Errorf("exact: got a scaling of %s, want %d", english.Count(len(p.Scaling.SD), "column"), dim)
	}
	return p.Prior.ValidateFor(len(p.Groups))
}

// listed returns how many models the result lists.
func (p *ExactProblem) listed() int {
	count := 1 << len(p.Groups)
	switch {
	case p.TopModels > 0:
		return min(p.TopModels, count)
	case count <= maxListedModels:
		return count
	}
	return topModels
}

// Exact enumerates every subset of the groups, in memory that does not grow with their number, on
// all cores. The answer is bit-identical whatever their number. Cancelling ctx returns its error.
//
// Appending a column to a model appends a row to the Cholesky factor of its posterior precision, so
// a model of k coordinates costs O(k²), times the points of the grid over log σ when σ is unknown.
func Exact(ctx context.Context, p ExactProblem) (*ExactResult, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	space := newExactSpace(&p)
	if !space.finite() {
		return nil, errors.New("exact: the sums of squares of X and Y overflow; rescale the columns")
	}
	if p.Sigma > 0 {
		if math.Log(p.Sigma) < space.resolution() {
			return nil, errRounding
		}
		space.setGrid([]float64{math.Log(p.Sigma)}, []float64{0})
		sums, top, err := space.enumerate(ctx, &p)
		if err != nil {
			return nil, err
		}
		return space.result(&p, sums, top)
	}
	grid := newLogSigmaGrid(space, &p)
	for {
		space.setGrid(grid.points(), grid.logWeights(&p))
		sums, top, err := space.enumerate(ctx, &p)
		if err != nil {
			return nil, err
		}
		if !grid.widen(sums.grid, sums.total) {
			if grid.unresolved(sums.grid, sums.total) {
				return nil, errRounding
			}
			return space.result(&p, sums, top)
		}
	}
}

// enumerate sums over all models. The first few inclusion decisions define tasks; their sums are
// combined in the order of the tasks, whoever computed them.
func (s *exactSpace) enumerate(ctx context.Context, p *ExactProblem) (*exactSums, *topList, error) {
	const maxSplit = 10
	split := min(len(s.groups), maxSplit)
	tasks := 1 << split
	perTask := 1 << (len(s.groups) - split)
	parts := make([]*exactSums, tasks)
	top := newTopList(max(p.listed(), exactQuantileModels))
	var (
		next atomic.Int64
		lock sync.Mutex // guards top, done and Progress
		done int
		wait sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), tasks) {
		wait.Go(func() {
			w := newWalker(s)
			for ctx.Err() == nil {
				task := int(next.Add(1)) - 1
				if task >= tasks {
					return
				}
				lock.Lock()
				w.begin(top.threshold(), top.limit)
				lock.Unlock()
				w.enumerateTask(task, split)
				parts[task] = w.sums
				lock.Lock()
				top.merge(w.top)
				done += perTask
				if p.Progress != nil {
					p.Progress(done, tasks*perTask)
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for _, part := range parts[1:] {
		if part.total > 0 { // else the prior excludes all its models
			parts[0].merge(part)
		}
	}
	return parts[0], top, nil
}

// result turns sums into the answer, unless rounding has made them wrong.
func (s *exactSpace) result(p *ExactProblem, sums *exactSums, top *topList) (*ExactResult, error) {
	logTotal := sums.ref + math.Log(sums.total)
	r := &ExactResult{Count: s.count(), LogEvidence: logTotal + p.LogConstant, Inclusion: make([]float64, len(s.groups))}
	for g, mass := range sums.inclusion {
		r.Inclusion[g] = mass / sums.total
	}
	best := top.sorted()
	if err := s.check(p, best); err != nil {
		return nil, err
	}
	for _, entry := range best[:min(p.listed(), len(best))] {
		m := ExactModel{Code: make([]int32, len(s.groups)), Probability: math.Exp(entry.logJoint - logTotal)}
		for g := range m.Code {
			if entry.mask>>g&1 == 1 {
				m.Code[g] = 1
				m.Size++
			}
		}
		m.LogEvidence = entry.logJoint - s.logPrior[m.Size] + p.LogConstant
		r.Covered += m.Probability
		r.Models = append(r.Models, m)
	}
	r.Coefficients = s.coefficients(sums, best[:min(len(best), exactQuantileModels)])
	var first, second float64
	for t, mass := range sums.grid {
		first += mass / sums.total * s.logSigma[t]
	}
	for t, mass := range sums.grid {
		second += mass / sums.total * (s.logSigma[t] - first) * (s.logSigma[t] - first)
	}
	r.LogSigmaMean, r.LogSigmaSD = first, math.Sqrt(second)
	unit := 1.0
	if p.Scaling != nil {
		unit = p.Scaling.YSD
	}
	r.Sigma = sigmaPosterior(s.logSigma, sums.grid, sums.total, unit)
	return r, nil
}
