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
// The methods build computation graphs for batches of B pairs of a model and its parameters, in the
// float type of theta. A Target has no density for inactive coordinates: it would be the same as
// their density in q, which cancels (the VTI paper, eq. 9).
type Target interface {
	// Space returns the set of models, with the coordinates that each model uses.
	Space() space.Space
	// LogPrior returns log p(m), normalised over the space if possible: codes [B,S] int32 -> [B].
	LogPrior(codes *graph.Node) *graph.Node
	// LogJoint returns log p(y, θ | m), including the prior of the active coordinates and all
	// constants, so that its exponential integrates to the evidence of m. It must not depend on
	// theta where mask is false. codes [B,S] int32, mask [B,D] bool, theta [B,D] -> [B].
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// Flow is q(θ | m), given as a map of standard normal noise z to θ, in place of a flow of package
// cosmic. Its variables are in the given context. All maps have the float type of z or theta.
type Flow interface {
	// ToParams maps z [B,D] to theta [B,D] for models with masks mask [B,D] and features feats
	// [B,C] (space.Features). Where mask is false theta equals z, and the other coordinates do not
	// depend on this entry of z. logDet [B] is log |det ∂θ/∂z| over the active coordinates.
	ToParams(ctx *Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node)
	// ToBase inverts ToParams. Its logDet too is the log determinant of the map from z to θ.
	ToBase(ctx *Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node)
}

// WeighedFlow is a Flow that estimates evidences with a smaller error than the mean of the
// importance weights of its draws. An example is the flow of a model with plates, sets of
// exchangeable members such as groups (package hbm): it weights draws of each member separately,
// and multiplies the mean weights of all members.
type WeighedFlow interface {
	Flow
	// Weighed returns a Known whose Evidences use the flow with the variables of ctx. It is called
	// for spaces whose models can be listed. It returns the zero Known if the engine should weight
	// draws of the flow instead.
	Weighed(device *gpu.Device, ctx *Context) models.Known
}

// BatchedFlow is a Flow whose training steps each use a minibatch of the target: the data of some
// groups, for example, or one of many data sets. Outside training the flow is used for the whole
// target.
type BatchedFlow interface {
	Flow
	// Batch returns the inputs of a training step, computed on the processor (host). step counts
	// from 0. The inputs have the same shapes in all steps.
	Batch(ctx gocontext.Context, device *gpu.Device, step int) (inputs []any, err error)
	// Densities draws parameters of models: codes [B,S] -> log q(θ | m) and log p(y, θ | m) of the
	// minibatch that inputs selects, [B] Float64. The expectation of their difference over random
	// minibatches equals the difference for the whole target.
	Densities(ctx *Context, codes *graph.Node, inputs []*graph.Node) (logQ, logJoint *graph.Node)
}

// AmortizedFlow is a BatchedFlow that trains on many data sets, and takes the data of its target as
// an input. Training leaves q(m) unchanged. The trained weights ([Posterior.Beginning]) give an
// answer for another target with other data.
type AmortizedFlow interface {
	BatchedFlow
	// Codes returns the models of a training step, one for each of its data sets, [B,S].
	Codes(inputs []*graph.Node) *graph.Node
}

// TableFlow is a BatchedFlow whose variables include tables, such as a table with a row for each
// group. A step uses and changes only the rows of its minibatch. Methods take a variable by its
// scope and name.
type TableFlow interface {
	BatchedFlow
	// Pace returns the factor by which the learning rate is multiplied for a variable.
	Pace(variable string) float64
	// Used returns the numbers [n,1] int32 of the rows of a table that the graph last built by
	// Densities uses, and the nodes [n,...] that hold these rows. A gradient with respect to the
	// table is a gradient with respect to these nodes. Used returns nil for variables that are not
	// tables.
	Used(variable string) (rows, values *graph.Node)
}

// ModelDistribution is q(m), a distribution over codes. Its variables are in the given context. If
// it has no variables training leaves it unchanged.
type ModelDistribution interface {
	// LogProb returns log q(m) of codes [B,S] int32 -> [B] float64.
	LogProb(ctx *Context, codes *graph.Node) *graph.Node
	// Sample maps uniforms [B,S] float64 in [0,1) to codes [B,S] int32, deterministically.
	Sample(ctx *Context, uniforms *graph.Node) *graph.Node
}

// GroupedModels is a ModelDistribution whose models take several consecutive rows of a batch. If
// models are graphs, for example, each node takes a row. The log density of a model, under q(m),
// flow, target or prior, is the sum over its rows of the values that LogProb returns. The loss is
// computed by ScoreLoss, because only the distribution knows which choices change which rows.
type GroupedModels interface {
	ModelDistribution
	// Rows returns the number of rows of a model, which divides the size of every batch.
	Rows() int
	// ScoreLoss returns three results: a scalar with the gradient of the expected loss of models
	// with respect to q(m), the number of rows that the scalar leaves out (int32), and the losses
	// [M] of the drawn models. codes [B,S] and logH [B] float64, which is log q(θ | m) − log p(y, θ
	// | m), belong to rows. Each step calls ScoreLoss once, and ScoreLoss may change its own
	// variables.
	ScoreLoss(ctx *Context, codes, logH *graph.Node) (scalar, nonFinite, losses *graph.Node)
}

// Learner is a ModelDistribution that learns from the rewards (negative losses) of its draws by its
// own rule, without a gradient. Its methods are called from one goroutine, with the same context as
// LogProb and Sample.
type Learner interface {
	ModelDistribution
	// Begin starts anew, or continues from the state that Store wrote to ctx.
	Begin(ctx *Context) error
	// Learn updates q(m) with a batch of drawn codes [B*S] and their rewards [B], log p(y, θ | m) −
	// log q(θ | m) at a draw θ. movement is the change of expected rewards since the last batch, in
	// nats, which comes from the training of the flow.
	Learn(ctx *Context, codes []int32, rewards []float64, movement float64) error
	// Store saves the state in variables of ctx, from which Begin continues to the bit.
	Store(ctx *Context) error
	// Settle sets q(m) to its estimate of the posterior over models, without exploration.
	Settle(ctx *Context) error
}

// QuadraticTarget is a Target that knows a quadratic approximation of the log density of each
// model, which is exact for Gaussian densities. For each model, the last layer of the flow then
// maps the standard normal to the normal distribution of this approximation. For other targets one
// Hessian serves all models: the Hessian at a mode of the largest model, if this model uses all
// coordinates.
type QuadraticTarget interface {
	Target
	// Quadratic returns precision H [B,D,D], symmetric and positive definite on the active
	// coordinates, and linear b [B,D], such that log p(y, θ | m) is nearly a constant plus −½ θᵀHθ
	// + bᵀθ where it is large. Entries of inactive coordinates are ignored. dtype is the float type
	// of the results.
	Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}

// UnimodalTarget is a Target that knows whether the posterior of the parameters has one mode in
// every model, as with log-concave likelihoods and priors. Solve then accepts weights that look
// reliable. For any other Target tempered chains check the weights, since weights cannot show a
// mode where no draw fell. A wrong claim leads to trust in wrong answers.
type UnimodalTarget interface {
	Target
	// Unimodal reports whether the posterior of the parameters has one mode in every model.
	Unimodal() bool
}

// unimodal reports whether the posterior of every model is taken to have one mode: because the
// target says so, or because it estimates evidences from draws around one mode.
func unimodal(target Target) bool {
	if u, ok := target.(UnimodalTarget); ok {
		return u.Unimodal()
	}
	evidences := knownOf(target).Evidences
	return evidences != nil && !evidences.Exact()
}

// KnownTarget is a Target that can compute some quantities without training (see models.Known).
// They are evidences of models, in closed form or estimated around a mode; the sum over models;
// predictors or other members of models that have an effect only together; and points near modes of
// the parameters. If evidences are known, certification needs no draws of the flow.
type KnownTarget interface {
	Target
	// Known returns the same value at every call.
	Known() models.Known
}

// knownOf returns the result of the method Known of a target, or the zero value if it has none.
func knownOf(target Target) models.Known {
	if known, ok := target.(KnownTarget); ok {
		return known.Known()
	}
	return models.Known{}
}
