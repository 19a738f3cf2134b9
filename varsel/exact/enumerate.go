package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
)

// MaxGroups is the largest number of selectable predictors of [Enumerate]: 2^25 models take minutes
// and half a gigabyte.
const MaxGroups = 25

// Problem is a Gaussian linear model with independent normal priors on the coefficients,
//
//	y ~ N(X_m θ_m, σ² I),   θ_j ~ N(PriorMean_j, PriorSD_j²),
//
// where model m uses the coordinates in Always and the coordinates of its groups, on the working
// scale (standardised columns).
type Problem struct {
	// X [n, D] is the design matrix and Y [n] the response.
	X *mat.Dense
	Y []float64
	// More is the number of further observations, whose sum of squares, Residual, does not depend
	// on coefficients.
	More     int
	Residual float64
	// Always holds the coordinates that are in every model, and Groups the coordinates of each
	// selectable predictor. Every coordinate is in one of them.
	Always []int
	Groups [][]int
	// PriorMean [D] is nil if all means are zero. PriorSD [D] is positive.
	PriorMean, PriorSD []float64
	// Noise is the prior of σ, or its known value.
	Noise Noise
	// Slab, when not zero, is the prior of the coefficients of groups, for an unknown σ. The
	// coefficients in Always and log σ then have flat priors.
	Slab Slab
	// Prior is the prior over models. Allowed, when set, reports whether a model is possible.
	// LogMass is the log of the total probability of possible models, by which Prior is divided.
	Prior   space.Prior
	Allowed func(code []int32) bool
	LogMass float64
	// TopModels is the number of models to list. If it is 0, all models are listed if there are at
	// most 4096, and the 100 most probable ones otherwise.
	TopModels int
	// Scaling, when set, maps the coefficients to the scale of the table.
	Scaling *design.Scaling
	// LogConstant is added to every log evidence: [design.Design.LogJacobian], or zero.
	LogConstant float64
	// Progress, when set, is called with the number of models done and the number of all models. It
	// is never called concurrently.
	Progress func(done, total int)
}

// Subset is one model of an exact answer.
type Subset struct {
	// Code has one entry per selectable predictor, which is 1 if the predictor is in the model.
	Code []int32
	// Size is the number of predictors in the model.
	Size int
	// LogEvidence is log p(y | m) in nats and Probability p(m | y).
	LogEvidence, Probability float64
}

// Answer is the posterior, up to rounding. Every number is a sum over all models.
type Answer struct {
	// Count is the number of models that the prior does not exclude.
	Count int
	// LogEvidence is log p(y) = log Σ_m p(m) p(y | m) in nats.
	LogEvidence float64
	// Inclusion [G] is the probability that each predictor is in the model.
	Inclusion []float64
	// Models holds the most probable models, the most probable one first. Covered is their total
	// probability.
	Models  []Subset
	Covered float64
	// Coefficients [D] are in the order of the columns of X, followed by σ where it is unknown.
	// They are absent if Slab is not zero, whose coefficients have no quantiles in closed form.
	Coefficients []Coefficient
}

// Validate returns an error that names a missing or contradictory part of the problem.
func (p *Problem) Validate() error {
	if p.X == nil {
		return errors.New("exact: got no design matrix X")
	}
	n, dim := p.X.Dims()
	if len(p.Y) != n || n == 0 {
		return fmt.Errorf("exact: got %s, want one for each of the %s of X", english.Count(len(p.Y), "response"), english.Count(n, "row"))
	}
	if len(p.Groups) > MaxGroups {
		return fmt.Errorf("exact: %d selectable predictors make 2^%d models; at most 2^%d can be enumerated: vti varsel takes any number", len(p.Groups), len(p.Groups), MaxGroups)
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
	for _, values := range [][]float64{p.X.RawMatrix().Data, p.Y, p.PriorMean, {p.Noise.Log, p.Noise.Mean, p.LogConstant}} {
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return errors.New("exact: X, Y, PriorMean, Noise and LogConstant must be finite")
			}
		}
	}
	if !(p.Noise.SD >= 0) || math.IsInf(p.Noise.SD, 1) {
		return fmt.Errorf("exact: standard deviation of log σ: got %v, want a positive number, or zero where σ is known", p.Noise.SD)
	}
	if p.Scaling != nil && len(p.Scaling.SD) != dim {
		return fmt.Errorf("exact: got a scaling of %s, want %d", english.Count(len(p.Scaling.SD), "column"), dim)
	}
	return p.Prior.ValidateFor(len(p.Groups))
}

// Enumerate sums over every subset of the groups, on all cores. The answer is bit-identical for any
// number of cores. If ctx is cancelled it returns the error of ctx.
func Enumerate(ctx context.Context, p Problem) (*Answer, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	e := newEnumeration(&p)
	if err := e.evidences(ctx); err != nil {
		return nil, err
	}
	r := e.answer()
	if p.Slab != (Slab{}) {
		return r, nil
	}
	scaling := p.Scaling
	if scaling == nil {
		none := design.NewScaling(len(p.PriorSD))
		scaling = &none
	}
	var err error
	r.Coefficients, err = Coefficients(ctx, e.matter(), len(p.PriorSD), p.Noise.SD > 0, scaling, func(k int) ([]Weighted, error) {
		mask := e.order[k]
		w := Weighted{Coordinates: e.coordinates(mask), Probability: math.Exp(e.logJoint[mask] - e.total)}
		model, err := e.model(w.Coordinates)
		if err == nil && e.nodes != nil && w.Probability < resolvedShare {
			w.Posterior = model.posteriorAt(e.Noise, e.nodes, e.step)
		} else if err == nil {
			w.Posterior, err = model.Posterior(e.Noise)
		}
		return []Weighted{w}, err
	})
	return r, err
}
