package hbm

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/space"
)

// targetFamily is one of the families of this package over the models of a Target, as q(θ | m). The
// encoding of a member is linear in the features of the model m (space.Features).
type targetFamily struct {
	*Target
	family *cascade
	config Config
	most   int // largest number of features of a model
}

var _ vti.Flow = (*targetFamily)(nil)

// Family returns a family of approximations of the latent variables, as the Backbone of a
// vti.Config. It reads Family, Covariance, Encoding, Products, Encoder, Flow, Batch, DType and
// Until of cfg. After the time Until, the evidence of a model is estimated from a single batch of
// draws. With Amortize it is a vti.AmortizedFlow, trained on data sets simulated by Simulate and
// Thin.
func (t *Target) Family(cfg Config) (vti.Flow, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	if cfg.Family == Joint {
		return nil, fmt.Errorf("hbm: family %v is a flow of package cosmic over the space: leave vti.Config.Backbone out", Joint)
	}
	f := &targetFamily{Target: t, config: cfg, most: space.FeatureDimOf(t.space)}
	var err error
	if f.family, err = newCascade(t.model, t.data, cfg, 1+f.most); err != nil {
		return nil, err
	}
	members, err := newSelector(t.model, cfg.Batch)
	if err != nil || members.isWhole() && cfg.Amortize == 0 {
		return f, err
	}
	part := &feed{model: f.model, data: f.data, dtype: cfg.DType, target: f}
	batched := &batchedFamily{targetFamily: f, selector: members, part: &Posterior{model: f.model, config: cfg, family: f.family, feed: part}}
	if cfg.Amortize > 0 {
		return &amortizedFamily{batchedFamily: batched}, nil
	}
	return batched, nil
}

// String describes the family for checkpoints.
func (f *targetFamily) String() string {
	return fmt.Sprintf("%v, covariance %d, encodings of %d, products %v, %+v, %+v", f.config.Family, f.config.Covariance, f.config.Encoding, f.config.Products, f.config.Encoder, f.config.Flow)
}

func (f *targetFamily) conditionedReplica(mask, feats *Node, dtype dtypes.DType) *replica {
	r := f.replica(mask.Graph(), dtype)
	f.tell(r, mask, feats)
	return r
}

// tell sets in a replica which numbers the model of each draw has, from mask [B, D], and the
// features of the models, from feats.
func (f *targetFamily) tell(r *replica, mask, feats *Node) {
	r.present = apart(r, f.family.latents, StopGradient(ConvertDType(mask, r.dtype)))
	ones := OnesLike(SliceAxis(feats, 1, AxisRange(0, 1)))
	// A step of Adam changes the weight of each feature by about the learning rate. If the
	// gradients of twenty features of a model agree, the encoding would move twenty times as far,
	// and training would lose its good start. So features are scaled to sum to at most one.
	r.about = ConvertDType(Concatenate([]*Node{ones, MulScalar(feats, 1/float64(f.most))}, 1), r.dtype)
}

func (f *targetFamily) startDescent(ctx *vti.Context, mask, feats *Node, like *Node) *descent {
	return f.family.startDescent(ctx, f.conditionedReplica(mask, feats, like.DType()))
}

// ToParams maps noise to the unconstrained numbers of all latent variables: see vti.Flow.
func (f *targetFamily) ToParams(ctx *vti.Context, mask, feats, z *Node) (theta, logDet *Node) {
	descent := f.startDescent(ctx, mask, feats, z)
	descent.noise = apart(descent.r, f.family.latents, z)
	for _, l := range f.family.latents {
		in := descent.inputsOf(l, z.Shape().Dim(0))
		u, memberLogDet := f.family.conditional.push(descent.scope(l), l, in, descent.noise[l.Variable])
		descent.place(l, in, u)
		logDet = plus(logDet, descent.r.sumMembers(l.Variable, memberLogDet))
	}
	return Where(mask, together(f.family.latents, descent.r.unconstrained), z), ConvertDType(logDet, z.DType())
}

// ToBase inverts ToParams: see vti.Flow.
func (f *targetFamily) ToBase(ctx *vti.Context, mask, feats, theta *Node) (z, logDet *Node) {
	descent := f.startDescent(ctx, mask, feats, theta)
	values := apart(descent.r, f.family.latents, theta)
	for _, l := range f.family.latents {
		in := descent.inputsOf(l, theta.Shape().Dim(0))
		noise, memberLogDet := f.family.conditional.pull(descent.scope(l), l, in, values[l.Variable])
		descent.noise[l.Variable] = noise
		descent.place(l, in, values[l.Variable])
		logDet = plus(logDet, descent.r.sumMembers(l.Variable, memberLogDet))
	}
	return Where(mask, together(f.family.latents, descent.noise), theta), ConvertDType(logDet, theta.DType())
}
