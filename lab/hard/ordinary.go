package hard

import (
	"context"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
)

// Ordinary draws ordinary tables: 30 to 200 rows, one to eight predictors whose neighbours have
// correlations up to 0.95, and any likelihood. Parameters are drawn from the prior, as by
// [calibrate.Varsel], so that ranks and probabilities can also be checked.
type Ordinary struct {
	// Device computes the answers.
	Device *gpu.Device
	// Record holds all settings except the likelihood.
	Record varsel.Record
}

// Name implements [calibrate.Source].
func (o Ordinary) Name() string { return "varsel, ordinary" }

const mostCorrelated = 0.95

// Replicate implements [calibrate.Source].
func (o Ordinary) Replicate(ctx context.Context, seed uint64, dir string) (*calibrate.Replicate, error) {
	random := stream.Rand(seed, "ordinary")
	v := calibrate.Varsel{Device: o.Device, Record: o.Record, Exact: ExactVarsel, Correlation: uniform(random, 0, mostCorrelated)}
	v.Rows = []int{30, 40, 60, 100, 200}[random.IntN(5)]
	v.Predictors = 1 + random.IntN(8)
	kind := []likelihood.Kind{likelihood.GaussianKind, likelihood.RobustKind, likelihood.StudentKind, likelihood.LogisticKind, likelihood.PoissonKind}[random.IntN(5)]
	switch few := random.Float64() < 0.5; {
	case !few || kind == likelihood.GaussianKind:
	case kind == likelihood.StudentKind: // the noise scale is one more parameter
		v.Predictors = 1
	default: // exact answers exist up to this number of predictors
		v.Predictors = 1 + random.IntN(mostParameters-1)
	}
	v.Record.Design.Likelihood, v.Record.Model.Likelihood = kind, kind
	return v.Replicate(ctx, seed, dir)
}
