package vti

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	mlcontext "github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// pilotStream is the prefix of the names of the random streams of pilot runs. Another name would
// change the numbers that a seed gives.
const pilotStream = "look"

// pilotScope is the scope of Adam's moments while a network q(m) is fitted. Its variables are
// deleted afterwards.
const pilotScope = "pilot"

// pilotRun gives q(m) a warm start. Without it, score-function gradients, which move only the
// logits of models that are drawn, settle on the first good models of a prior over thousands of
// models. A table is set to p(m) times the evidences that importance sampling finds with the
// current flow; training then only needs to follow changes of the flow. A network q(m) is fitted to
// the models of short tempered chains (fitToChains). Tables of more than maxListed models are left
// unchanged, and so are distributions over lists of items, which start from a screening of the
// items.
func pilotRun(ctx context.Context, e *evaluator) error {
	switch q := e.Models.(type) {
	case *modeldist.Autoregressive:
		return fitToChains(ctx, e, func() bool { return false })
	case *modeldist.Categorical:
		if q.Count() <= maxListed {
			return setToEvidences(ctx, e, q)
		}
	}
	return nil
}

// pilotRange is the largest distance in nats below the maximum of log q(m) that a pilot run gives
// to a model. A model at this distance, of relative probability exp(−50), is never drawn, but its
// logit can still rise. Half and twice this value give the same answers
// (docs/benchmarks/constants.md).
const pilotRange = 50

func setToEvidences(ctx context.Context, e *evaluator, table *modeldist.Categorical) error {
	codes := space.ListModels(e.Target.Space())
	if len(codes) != table.Count() {
		return nil // some codes of the table are not models
	}
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return err
	}
	sampler := newImportanceSampler(e, codes, pilotStream)
	if err := sampler.draw(ctx, evenAllocation(logPrior), false); err != nil {
		return err
	}
	logMass := make([]float64, len(codes))
	for i, tally := range sampler.tallies {
		logMass[i] = math.Inf(-1)
		if len(tally.logWeights) > 0 {
			logMass[i] = logPrior[i] + psis.Smooth(tally.logWeights).LogMean
		}
	}
	return e.Set(logPrior, logMass)
}

// Set sets q(m), if it is a table, to probabilities from estimates logMass of log p(m) p(y | m) of
// every model. −Inf or NaN stands for no estimate.
func (e *evaluator) Set(logPrior, logMass []float64) error {
	table, ok := e.Models.(*modeldist.Categorical)
	if !ok || table.Count() != len(logMass) {
		return nil
	}
	largest := math.Inf(-1)
	for _, value := range logMass {
		if !math.IsNaN(value) {
			largest = math.Max(largest, value)
		}
	}
	if math.IsInf(largest, 0) {
		return nil // if no mass is finite q(m) stays unchanged
	}
	if err := e.MakeDeferred(); err != nil {
		return err
	}
	logits := make([]float64, len(logMass))
	for i, value := range logMass {
		switch {
		case math.IsInf(logPrior[i], -1):
			logits[i] = math.Inf(-1)
		case value-largest > -pilotRange:
			logits[i] = value - largest
		default: // a model without an estimate is improbable, not impossible
			logits[i] = -pilotRange
		}
	}
	return table.Variable(e.Variables.In(evaluate.ModelScope)).SetValue(tensors.FromFlatDataAndDimensions(logits, len(logits)))
}

// Settings of the fit of a network q(m) to the models of chains. In the fraction pilotBlur of the
// models, the outcome of one random site (entry of the code) is drawn anew. Models that short
// chains missed then do not become improbable: training lowers probabilities much faster than it
// raises them again. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	pilotChains     = 32
	pilotBurnIn     = 400
	pilotIterations = 800
	// Chains end early once R-hat is at most pilotRHat and there are pilotESS effective draws.
	pilotRHat  = 1.02
	pilotESS   = 3000
	pilotSteps = 300
	pilotRate  = 0.01
	pilotBlur  = 0.1
)

// fitToChains fits a network q(m) by maximum likelihood to the models of short tempered chains.
// Training then starts from all models that the chains found, instead of settling on the models
// that it draws first. If the function late reports that the time is over, the chains end after
// burn-in.
func fitToChains(ctx context.Context, e *evaluator, late func() bool) error {
	settings, err := chainConfig(e, pilotStream+"/chains")
	if err != nil {
		return err
	}
	settings.Chains, settings.BurnIn, settings.Iterations = pilotChains, pilotBurnIn, pilotIterations
	settings.Enough = func(chains *rjmcmc.Result) bool {
		worst := models.WorstOf(e.Target.Space(), chains)
		return late() || worst.RHat <= pilotRHat && worst.ESS >= pilotESS
	}
	chains, err := rjmcmc.Run(ctx, e.Device.Backend(), e.Target, settings)
	if err != nil {
		return err
	}
	return fitModels(ctx, e, func(random *rand.Rand) []int32 { return chains.Codes(random.IntN(chains.Draws())) })
}

// fitModels fits q(m) by maximum likelihood to models that the function draw returns. If it fails
// or ctx is done, q(m) stays as it was, so that a resumed run makes the same fit.
func fitModels(ctx context.Context, e *evaluator, draw func(random *rand.Rand) []int32) (err error) {
	if err := e.MakeDeferred(); err != nil {
		return err
	}
	restore, err := keepModels(e)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, restore())
		}
		err = errors.Join(err, e.Variables.InAbsPath("/"+pilotScope).DeleteVariablesInScope())
	}()
	exec, err := mlcontext.NewExec(e.Device.Backend(), e.Variables, func(ctx *Context, codes, step *Node) *Node {
		loss := Neg(train.FiniteMean(e.Models.LogProb(ctx.In(evaluate.ModelScope), codes)))
		variables := train.VariablesIn(ctx, evaluate.ModelScope, codes.Graph())
		gradients := Gradient(loss, train.ValuesOf(codes.Graph(), variables)...)
		apply := IsFinite(train.GlobalNorm(gradients))
		for i, increment := range (train.Adam{}).Increments(ctx, pilotScope, variables, gradients, train.LearningRate(step, pilotRate, pilotSteps), step, apply) {
			variables[i].SetValueGraph(Add(variables[i].ValueGraph(codes.Graph()), increment))
		}
		return loss
	})
	if err != nil {
		return err
	}
	batch, sites, _ := e.Sizes()
	cards := e.Target.Space().Cards()
	codes, random := make([]int32, batch*sites), e.Random(pilotStream+"/fit")
	grouped, size := false, sites // size is the length of the code of a model
	if models, ok := e.Models.(GroupedModels); ok {
		grouped, size = true, sites*models.Rows()
	}
	for step := range pilotSteps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the pilot run stopped after %d of %d steps: %w", step, pilotSteps, err)
		}
		for code := range slices.Chunk(codes, size) {
			copy(code, draw(random))
			if !grouped && random.Float64() < pilotBlur { // the sites of grouped models depend on each other
				site := random.IntN(sites)
				code[site] = int32(random.IntN(cards[site]))
			}
		}
		if _, err := train.Call(func() ([]*tensors.Tensor, error) {
			return exec.Exec(tensors.FromFlatDataAndDimensions(codes, batch, sites), float64(step+1))
		}); err != nil {
			return err
		}
	}
	return nil
}

// keepModels returns a function that gives the variables of q(m) their present values again, and
// deletes variables that do not exist yet.
func keepModels(e *evaluator) (restore func() error, err error) {
	variables := e.Variables.InAbsPath("/" + evaluate.ModelScope)
	before := map[string]*tensors.Tensor{}
	for v := range variables.IterVariablesInScope() {
		if before[v.ScopeAndName()], err = evaluate.Clone(v); err != nil {
			return nil, err
		}
	}
	return func() error {
		var errs []error
		for _, v := range slices.Collect(variables.IterVariablesInScope()) {
			if value, ok := before[v.ScopeAndName()]; ok {
				errs = append(errs, v.SetValue(value))
			} else {
				errs = append(errs, e.Variables.DeleteVariable(v.Scope(), v.Name()))
			}
		}
		return errors.Join(errs...)
	}, nil
}

// Fit fits q(m) to weighted models. A table is set to the frequencies of the models if weights is
// nil. In all other cases q(m) is fitted by maximum likelihood.
func (e *evaluator) Fit(ctx context.Context, codes [][]int32, weights []float64) error {
	table, ok := e.Models.(*modeldist.Categorical)
	if ok && weights == nil {
		if table.Count() > maxListed {
			return nil
		}
		return e.setToCounts(codes)
	}
	byWeight := pick.NewTable(weights)
	return fitModels(ctx, e, func(random *rand.Rand) []int32 {
		if weights == nil {
			return codes[random.IntN(len(codes))]
		}
		return codes[byWeight.Index(random.Float64())]
	})
}

func (e *evaluator) setToCounts(drawn [][]int32) error {
	codes := space.ListModels(e.Target.Space())
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return err
	}
	counts := map[string]float64{}
	for _, code := range drawn {
		counts[space.Key(code)]++
	}
	logMass := apply.To(codes, func(code []int32) float64 { return math.Log(counts[space.Key(code)] + 0.5) })
	return e.Set(logPrior, logMass)
}
