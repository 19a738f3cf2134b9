package vti

import (
	gocontext "context"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// Context holds the variables of a fit by scope and name.
type Context = context.Context

// Target is a transdimensional posterior known up to its normalising constants: a set of models,
// their prior probabilities, and for each the joint density of data and parameters.
//
// The methods build graphs. B is a batch of (model, parameters) pairs; computations have the float
// type of theta. A Target never adds a density for inactive coordinates: the engine accounts for
// them, and they cancel (eq. 9).
type Target interface {
	// Space returns the set of models and the coordinates that each uses.
	Space() space.Space
	// LogPrior returns log p(m), normalised over the space if possible. [B,S] int32 -> [B].
	LogPrior(codes *graph.Node) *graph.Node
	// LogJoint returns log p(y, θ | m) = log η(θ | m), including the prior of the active
	// coordinates and all constants, so that it integrates to the evidence of m. It must not depend
	// on theta where mask is false. codes [B,S] int32, mask [B,D] bool, theta [B,D] -> [B].
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// Flow is q(θ | m) as a map of standard normal noise z, in place of a flow of package cosmic. Its
// variables live in the given context. All maps have the float type of z or theta.
type Flow interface {
	// ToParams maps z [B,D] under models of mask [B,D] with features feats [B,C] (space.Features)
	// to theta [B,D]. Where mask is false theta is z, on which nothing else depends. logDet [B] is
	// log |det ∂θ/∂z| over the active coordinates.
	ToParams(ctx *Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node)
	// ToBase inverts ToParams; logDet belongs to the map from z to θ, as in ToParams.
	ToBase(ctx *Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node)
}

// WeighedFlow is a Flow that estimates evidences with less error than one weight per draw, such as
// a family of plates, whose members are weighted one by one.
type WeighedFlow interface {
	Flow
	// Weighed returns the evidences of models, few enough to be listed, from the flow with the
	// variables of ctx, or nothing if weights are left to the engine.
	Weighed(device *gpu.Device, ctx *Context) models.Known
}

// BatchedFlow is a Flow whose training steps each fit a part of the target, such as some members of
// each plate, or one of many data sets. All other uses of the flow take the whole target.
type BatchedFlow interface {
	Flow
	// Batch returns the host's inputs of a training step, counted from 0, of constant shapes.
	Batch(ctx gocontext.Context, device *gpu.Device, step int) (inputs []any, err error)
	// Densities draws parameters of models: codes [B,S] -> log q(θ | m) and log p(y, θ | m) of the
	// part selected by inputs, [B] Float64. Over random parts, their difference has the same
	// expectation as for the whole target.
	Densities(ctx *Context, codes *graph.Node, inputs []*graph.Node) (logQ, logJoint *graph.Node)
}

// AmortizedFlow is a BatchedFlow that trains on many data sets and reads the data of its target.
// Training leaves q(m) as it is. [Posterior.Beginning] is an answer for the data of another target.
type AmortizedFlow interface {
	BatchedFlow
	// Codes returns the models of a training step, one for each of its data sets, [B,S].
	Codes(inputs []*graph.Node) *graph.Node
}

// TableFlow is a BatchedFlow with tables of parameters, of which a step uses and changes some rows.
// Methods take a variable by its scope and name.
type TableFlow interface {
	BatchedFlow
	// Pace returns the learning rate of a variable, relative to the others.
	Pace(variable string) float64
	// Used returns the rows of a table [n,1] int32 and their values [n,...] in the graph that
	// Densities last built, which depends on the table by these alone; nil for other variables.
	Used(variable string) (rows, values *graph.Node)
}

// ModelDistribution is q_ψ(m), a distribution over codes. Its variables live in the given context;
// without variables it stays unchanged.
type ModelDistribution interface {
	// LogProb returns log q(m) of codes [B,S] int32 -> [B] float64.
	LogProb(ctx *Context, codes *graph.Node) *graph.Node
	// Sample maps uniforms [B,S] float64 in [0,1) to codes [B,S] int32, deterministically.
	Sample(ctx *Context, uniforms *graph.Node) *graph.Node
}

// GroupedModels is a ModelDistribution whose models take several consecutive rows of a batch, as a
// graph takes one for every node. LogProb gives each row its part of log q(m); flow, target and
// prior give theirs. It computes its own loss, since it knows which choices change which rows.
type GroupedModels interface {
	ModelDistribution
	// Rows returns the number of rows of a model, which divides the size of every batch.
	Rows() int
	// ScoreLoss returns a scalar with the gradient of the expected loss of models with respect to
	// q(m), the number of rows that it leaves out (int32), and the losses of the M drawn models:
	// codes [B,S], logH [B] float64 = log q(θ | m) − log η(θ | m) of rows -> losses [M]. Each step
	// calls it once, and it may change its own variables.
	ScoreLoss(ctx *Context, codes, logH *graph.Node) (scalar, nonFinite, losses *graph.Node)
}

// Learner is a ModelDistribution that learns from the rewards of its draws by itself, without a
// gradient. Its calls come from one goroutine, with the context of LogProb and Sample.
type Learner interface {
	ModelDistribution
	// Begin starts over, or from the state that Store left in ctx.
	Begin(ctx *Context) error
	// Learn updates with a batch: the drawn codes [B*S], rewards [B] = log η(θ | m) − log q(θ | m)
	// of draws θ, and movement, the flow's change of expected rewards since the last batch, in
	// nats.
	Learn(ctx *Context, codes []int32, rewards []float64, movement float64) error
	// Store saves the state in variables of ctx, from which Begin continues to the bit.
	Store(ctx *Context) error
	// Settle sets q(m) to its estimate of the posterior over models, without exploration.
	Settle(ctx *Context) error
}

// QuadraticTarget is a Target that knows a quadratic approximation of each model's log density,
// exact for Gaussian densities. The flow then ends in that normal distribution, model by model.
// Other targets use the Hessian at a mode of the largest model, if a model uses all coordinates.
type QuadraticTarget interface {
	Target
	// Quadratic returns H [B,D,D], symmetric and positive definite on the active coordinates, and b
	// [B,D]: log η(θ | m) is nearly a constant plus −½ θᵀHθ + bᵀθ where it is large. Entries of
	// inactive coordinates do not count. dtype is the type to compute in.
	Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}

// UnimodalTarget is a Target that knows whether the posterior of the parameters has one mode in
// every model, as with log-concave likelihoods and priors. Solve then believes weights that look
// reliable. For any other Target tempered chains check the weights, which cannot show a mode where
// no draw fell. A wrong claim leads to trust in wrong answers.
type UnimodalTarget interface {
	Target
	// Unimodal reports whether there is one mode.
	Unimodal() bool
}

// unimodal reports whether a target claims one mode in every model, as draws around modes require.
func unimodal(target Target) bool {
	if u, ok := target.(UnimodalTarget); ok {
		return u.Unimodal()
	}
	evidences := knownOf(target).Evidences
	return evidences != nil && !evidences.Exact()
}

// KnownTarget is a Target with knowledge of its models before training: evidences, in closed form
// or estimated around a mode, sums over models, members that matter only together, or points near
// modes of the parameters. Certification needs no draws of the flow if evidences are known.
type KnownTarget interface {
	Target
	// Known returns the same value at every call.
	Known() models.Known
}

// knownOf returns a target's knowledge of its models.
func knownOf(target Target) models.Known {
	if known, ok := target.(KnownTarget); ok {
		return known.Known()
	}
	return models.Known{}
}
