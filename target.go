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

// Target is a transdimensional posterior known up to its normalising constants: which models there
// are, their prior probabilities, and for each the joint density of data and parameters.
//
// The methods build graphs. B is a batch of (model, parameters) pairs; the float type of theta is
// the type to compute in. A Target never adds a density for inactive coordinates: the engine
// accounts for them, and they cancel (eq. 9).
type Target interface {
	// Space is the set of models and the coordinates each of them uses.
	Space() space.Space
	// LogPrior is log p(m), normalised over the space where that is possible. [B,S] int32 -> [B].
	LogPrior(codes *graph.Node) *graph.Node
	// LogJoint is log p(y, θ | m) = log η(θ | m), the prior of the active coordinates included and
	// all constants kept, so that it integrates to the evidence of m. It must not depend on theta
	// where mask is false. codes [B,S] int32, mask [B,D] bool, theta [B,D] -> [B].
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// Flow is q(θ | m) as a map of standard normal noise z, in place of a flow of package cosmic. Its
// variables live in the context it is given. All maps are of the type of z or theta.
type Flow interface {
	// ToParams maps z [B,D] under models of mask [B,D] with features feats [B,C] (space.Features)
	// to theta [B,D], which is z where mask is false, and nothing else depends on z there. logDet
	// [B] is log |det ∂θ/∂z| over the active coordinates.
	ToParams(ctx *Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node)
	// ToBase inverts ToParams, with the same logDet, of the map from z to θ.
	ToBase(ctx *Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node)
}

// WeighedFlow is a Flow that estimates evidences of models with less error than one weight for each
// draw leaves, as a family of plates does, whose members are weighed one by one.
type WeighedFlow interface {
	Flow
	// Weighed is what the flow with the variables of ctx tells of its models, few enough to be
	// listed: evidences, or nothing where it leaves weights to the engine.
	Weighed(device *gpu.Device, ctx *Context) models.Known
}

// BatchedFlow is a Flow that a step of training fits to a part of the target, such as some members
// of each plate, or to one of many data sets. Whatever else takes the flow takes the whole target.
type BatchedFlow interface {
	Flow
	// Batch returns what a training step, counted from 0, takes from the host: tensors of the same
	// shapes in every step.
	Batch(ctx gocontext.Context, step int) (inputs []any, err error)
	// Densities draws parameters of models, codes [B,S] -> log q(θ | m) and log p(y, θ | m) of the
	// part that inputs say, [B] Float64. Over parts, their difference has the expectation of that
	// of the whole target.
	Densities(ctx *Context, codes *graph.Node, inputs []*graph.Node) (logQ, logJoint *graph.Node)
}

// ModelDistribution is q_ψ(m), a distribution over codes. Its variables live in the context it is
// given; one without variables stays as it is.
type ModelDistribution interface {
	// LogProb is log q(m) of codes [B,S] int32 -> [B] float64.
	LogProb(ctx *Context, codes *graph.Node) *graph.Node
	// Sample maps uniforms [B,S] float64 in [0,1) to codes [B,S] int32, a deterministic function of
	// them.
	Sample(ctx *Context, uniforms *graph.Node) *graph.Node
}

// GroupedModels is a ModelDistribution whose models take several consecutive rows of a batch each,
// as graphs take one for every node: LogProb says of each row its part of log q(m), and the flow,
// the target and the prior say of each row theirs. It makes the loss that q(m) follows by itself,
// since it knows which rows which of its choices can change.
type GroupedModels interface {
	ModelDistribution
	// Rows is the number of rows of a model. Batches are multiples of it.
	Rows() int
	// ScoreLoss returns a scalar with the gradient of the expected loss of models with respect to
	// q(m), the number of rows that it leaves out (int32), and the losses of the M models drawn:
	// codes [B,S], logH [B] float64 = log q(θ | m) − log η(θ | m) of rows -> losses [M]. It is
	// called once in a step, in which it may change variables of its own.
	ScoreLoss(ctx *Context, codes, logH *graph.Node) (scalar, nonFinite, losses *graph.Node)
}

// Learner is a ModelDistribution that learns from the rewards of its draws by itself, and not along
// a gradient. Its calls come from one goroutine, with the context that LogProb and Sample are
// given.
type Learner interface {
	ModelDistribution
	// Begin starts over, from what Store left in ctx if there is anything.
	Begin(ctx *Context) error
	// Learn updates with a batch: codes [B*S] that were drawn, rewards [B] = log η(θ | m) − log q(θ
	// | m) of draws θ, and movement, how far, in nats, the flow has moved expected rewards since
	// the batch before.
	Learn(ctx *Context, codes []int32, rewards []float64, movement float64) error
	// Store leaves what was learned in variables of ctx, from which Begin continues to the bit.
	Store(ctx *Context) error
	// Settle sets q(m) to its estimate of the posterior over models, without exploration.
	Settle(ctx *Context) error
}

// QuadraticTarget is a Target that knows a quadratic approximation of the log density of each
// model, exact where the density is Gaussian. The engine then ends the flow in the normal
// distribution that it gives, model by model. Other targets get one from the Hessian at a mode of
// the largest model, which takes a model that uses all coordinates.
type QuadraticTarget interface {
	Target
	// Quadratic returns H [B,D,D], symmetric and positive definite on the active coordinates, and b
	// [B,D] such that log η(θ | m) is nearly a constant plus −½ θᵀHθ + bᵀθ where it is large.
	// Entries of inactive coordinates do not count. dtype is the type to compute in.
	Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}

// UnimodalTarget is a Target that knows whether the posterior of the parameters has one mode in
// every model, as those of log-concave likelihoods and priors have. Solve then believes weights
// that look reliable. For any other Target tempered chains check the weights, which cannot show a
// mode where no draw fell: if a target says so wrongly, wrong answers are trusted.
type UnimodalTarget interface {
	Target
	// Unimodal reports whether there is one mode.
	Unimodal() bool
}

// unimodal reports whether a target says that posteriors of its parameters have one mode. Draws
// around a mode estimate evidences only then.
func unimodal(target Target) bool {
	if u, ok := target.(UnimodalTarget); ok {
		return u.Unimodal()
	}
	evidences := knownOf(target).Evidences
	return evidences != nil && !evidences.Exact()
}

// KnownTarget is a Target that knows something of its models before anything is trained: evidences,
// in closed form or estimated around a mode, sums over models, members that matter only together,
// or where modes of the parameters are. Certification needs no draws of the flow where evidences
// are known.
type KnownTarget interface {
	Target
	// Known is the same whenever it is asked for.
	Known() models.Known
}

// knownOf is what a target knows of its models.
func knownOf(target Target) models.Known {
	if known, ok := target.(KnownTarget); ok {
		return known.Known()
	}
	return models.Known{}
}
