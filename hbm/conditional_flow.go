package hbm

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/made"
)

// flows is the conditional distribution of a latent variable in PAVI (plate-amortized variational
// inference). An affine block and a flow map the prior to this distribution. All members of the
// variable (its repetitions over plates) share the block and the flow. Both are conditioned on
// earlier variables and on the encoding of the member: a few numbers for each member.
//
// N(m, s²) is the normal approximation of the prior of a number, given its parents. The affine
// block multiplies it by the normal likelihood of one observation, whose mean x̂ and precision λ it
// reads from the encoding. With w = λs² / (1 + λs²) the result is
//
//	u = m + w (x̂ − m) + s √(1−w) y,  y = flow(z)
//
// If the data of a normal variable amount to one such observation, this u has the posterior
// distribution of the variable, for all values of its parents. With λ = 0 it has the prior
// distribution.
type flows struct {
	encoding int // size of the encodings
	flow     map[*Variable]*cosmic.Flow
	seed     uint64
	// perEncoding says that the dependence on earlier variables differs between members, by their
	// encodings. Data sets of many sizes and scales need this.
	perEncoding bool
}

// newFlows makes a flow for each latent variable, with the architecture of cfg.
func newFlows(list []*latent, encoding int, cfg cosmic.Config, seed uint64, perEncoding bool) (*flows, error) {
	f := &flows{encoding: encoding, flow: map[*Variable]*cosmic.Flow{}, seed: seed, perEncoding: perEncoding}
	for _, l := range list {
		flowConfig := cfg
		flowConfig.Dim, flowConfig.Features, flowConfig.Seed = l.dim, f.width(l)+l.after, seed
		flow, err := cosmic.New(flowConfig)
		if err != nil {
			return nil, err
		}
		f.flow[l.Variable] = flow
	}
	return f, nil
}

// spareEncoding is the default number of entries of an encoding in addition to one mean and one
// precision for each number of a member.
const spareEncoding = 4

func (f *flows) width(l *latent) int {
	if f.encoding > 0 {
		return f.encoding
	}
	return 2*l.dim + spareEncoding
}

// flowParts holds the affine block and the inputs of a flow, computed from encodings and earlier
// variables. A member has U unconstrained numbers, and the flow C further inputs.
type flowParts struct {
	scale, shift   *Node // u = shift + scale y, [plates..., draws or 1, U]
	logScale       *Node // Σ log scale over the numbers that the model has
	mask, features *Node // inputs of the flow [rows, U], [rows, C]
	leading        []int // [plates..., draws]
	rows           int
}

// parts computes the block and inputs of the flow of a latent variable, for a number of draws.
func (f *flows) parts(ctx *context.Context, l *latent, in conditionalInputs, draws int) flowParts {
	width, encoding := f.width(l), in.encoding
	p := flowParts{leading: append(slices.Clone(encoding.Shape().Dimensions[:encoding.Rank()-2]), draws)}
	p.rows = product(p.leading)

	// The affine block starts with the first numbers of the encoding as its x̂ and λ, so that each
	// member can be fitted by itself from the first step.
	start := make([]float64, width*2*l.dim)
	for i := range min(width, 2*l.dim) {
		start[i*2*l.dim+i] = 1
	}
	read := made.Linear(ctx.In("affine"), f.seed, Reshape(encoding, -1, width), 2*l.dim, made.Values(start), made.Zeros)
	read = Reshape(read, append(slices.Clone(encoding.Shape().Dimensions[:encoding.Rank()-1]), 2*l.dim)...)
	features := []*Node{Reshape(BroadcastToDims(encoding, append(slices.Clone(p.leading), width)...), p.rows, width)}
	if in.before != nil {
		before := Reshape(in.before, p.rows, l.after)
		features = append(features, before)
		dims := []int{l.after, 2 * l.dim}
		if in.features != nil {
			dims = append([]int{in.features.Shape().Dim(-1)}, dims...)
		}
		read = Add(read, in.follow(made.Variable(ctx.In("before"), encoding.Graph(), f.seed, "weight", encoding.DType(), made.Zeros, dims...)))
		if f.perEncoding {
			weights := made.Linear(ctx.In(networkScope).In("own"), f.seed, Reshape(encoding, -1, width), 2*l.dim*l.after, made.Zeros, made.Zeros)
			read = Add(read, timesVector(Reshape(weights, append(slices.Clone(encoding.Shape().Dimensions[:encoding.Rank()-1]), 2*l.dim, l.after)...), in.before))
		}
	}
	p.features = Concatenate(features, -1)
	p.mask = Ones(encoding.Graph(), shapes.Make(dtypes.Bool, p.rows, l.dim))
	if in.present != nil {
		p.mask = Reshape(BroadcastToDims(GreaterThan(in.present, ZerosLike(in.present)), append(slices.Clone(p.leading), l.dim)...), p.rows, l.dim)
	}
	last := read.Rank() - 1
	// The observation x̂ is in units of the typical prior standard deviation.
	observed, logPrecision := SliceAxis(read, last, AxisRange(0, l.dim)), SliceAxis(read, last, AxisRange(l.dim))
	logSD := Log(in.sd)
	logOdds := Add(logPrecision, MulScalar(Sub(logSD, Log(in.typicalSD)), 2)) // log λs²
	logScale := Sub(logSD, MulScalar(made.Softplus(logOdds), 0.5))
	observed = Add(in.typicalMean, Mul(in.typicalSD, observed))
	p.shift = Add(in.mean, Mul(Logistic(logOdds), Sub(observed, in.mean)))
	p.scale, p.logScale = Exp(logScale), sumPresent(logScale, in.present)
	return p
}

func (f *flows) push(ctx *context.Context, l *latent, in conditionalInputs, z *Node) (u, logDet *Node) {
	p := f.parts(ctx, l, in, z.Shape().Dim(-2))
	y, logDetFlow := f.flow[l.Variable].ToParams(ctx.In(networkScope).In("flow"), p.mask, p.features, Reshape(z, p.rows, l.dim))
	u = Add(p.shift, Mul(p.scale, Reshape(y, z.Shape().Dimensions...)))
	return u, Add(Reshape(logDetFlow, p.leading...), BroadcastToDims(p.logScale, p.leading...))
}

func (f *flows) pull(ctx *context.Context, l *latent, in conditionalInputs, u *Node) (z, logDet *Node) {
	p := f.parts(ctx, l, in, u.Shape().Dim(-2))
	y := Reshape(Div(Sub(u, p.shift), p.scale), p.rows, l.dim)
	z, logDetFlow := f.flow[l.Variable].ToBase(ctx.In(networkScope).In("flow"), p.mask, p.features, y)
	return Reshape(z, u.Shape().Dimensions...), Add(Reshape(logDetFlow, p.leading...), BroadcastToDims(p.logScale, p.leading...))
}

// shapeOf returns a shape with the float type of a replica (members of a model in one graph).
func shapeOf(r *replica, dims []int) shapes.Shape { return shapes.Make(r.dtype, dims...) }
