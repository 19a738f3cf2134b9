package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
)

// Posterior is a trained variational family with its model and its training data. Its methods are
// not safe for use by several goroutines at once.
type Posterior struct {
	graphs *evaluate.Graphs
	model  *Model
	config Config
	family *cascade
	feed   *feed
	step   int

	everything *selector
}

func newPosterior(device *gpu.Device, model *Model, data Values, cfg Config) (*Posterior, error) {
	graphs := &evaluate.Graphs{Device: device, Variables: context.New().Checked(false).In(evaluate.FlowScope)}
	p := &Posterior{graphs: graphs, model: model, config: cfg}
	p.feed = &feed{model: model, data: data, dtype: cfg.DType}
	var err error
	if p.family, err = newCascade(model, data, cfg, 1); err != nil {
		return nil, err
	}
	p.everything, err = newSelector(model, nil)
	return p, err
}

// newCascade derives a family from a model. copies is the number of encodings of each member.
func newCascade(m *Model, data Values, cfg Config, copies int) (*cascade, error) {
	if err := cfg.Family.Check(m); err != nil {
		return nil, err
	}
	independent := cfg.Family == MeanField || cfg.Family == ADAVI || cfg.Family == Joint || cfg.Covariance != DenseCovariance
	c := &cascade{latents: latents(m, !independent), free: freeEncodings{seed: cfg.Seed}, meanField: independent, copies: copies}
	switch cfg.Family {
	case PAVIE, ADAVI:
		pool := meanPool
		if cfg.Family == ADAVI || cfg.Encoder.Attention {
			pool = attentionPool
		}
		c.encoder = newSetEncoder(m, data, pool, cfg)
	case AmortizedBranch:
		c.encoder = newSetEncoder(m, data, squarePool, cfg)
		c.freeGlobals = true
	case Joint:
		c.joint, c.blocks = cfg.Covariance != DiagonalCovariance, cfg.Covariance == BlockCovariance
	}
	switch cfg.Family {
	case MeanField, Joint:
		c.conditional = gaussian{}
	case Branch, AmortizedBranch:
		c.conditional = gaussian{dense: cfg.Covariance != DiagonalCovariance}
	default:
		flows, err := newFlows(c.latents, cfg.Encoding, cfg.Flow, cfg.Seed, cfg.Thin)
		if err != nil {
			return nil, err
		}
		c.conditional, c.free.spread = flows, startSpread
	}
	if c.encoder == nil {
		c.encoder = c.free
	}
	return c, nil
}

// Family returns the family that was fitted.
func (p *Posterior) Family() Family { return p.config.Family }

// On returns the posterior given other data, from the same weights in one pass, for a family that
// computes all encodings from the data. The argument model is the trained model, or one with the
// same variables and plates of other sizes. On needs no training if the family was amortized over
// data sets (Config.Amortize).
func (p *Posterior) On(model *Model, data Values) (*Posterior, error) {
	for _, l := range p.family.latents {
		if _, free := p.family.encoderOf(l).(freeEncodings); free {
			return nil, fmt.Errorf("hbm: family %v does not compute all encodings from data: train it on these data", p.config.Family)
		}
	}
	if err := model.CheckData(data); err != nil {
		return nil, err
	}
	if err := sameTemplate(template(p.model), model); err != nil {
		return nil, fmt.Errorf("hbm: %w", err)
	}
	if model == p.model {
		other := *p
		other.feed = &feed{model: model, data: data, dtype: p.config.DType}
		return &other, nil // compiled graphs do not depend on the data and stay valid
	}
	other, err := newPosterior(p.graphs.Device, model, data, p.config)
	if err != nil {
		return nil, err
	}
	other.graphs.Variables, other.step = p.graphs.Variables, p.step
	return other, nil
}

// Steps returns the number of steps of training so far.
func (p *Posterior) Steps() int { return p.step }

// Weights returns the number of trained weights: shared weights and encodings.
func (p *Posterior) Weights() int {
	count := 0
	for variable := range p.graphs.Variables.IterVariablesInScope() {
		if variable.Trainable {
			count += variable.Shape().Size()
		}
	}
	return count
}

// Draws holds draws of all latent variables from a posterior.
type Draws struct {
	// N is the number of draws.
	N int
	// Values holds for each latent variable [N, plates..., event...] in row-major order.
	Values Values
	// LogJoint is log p(θ, x) and LogQ log q(θ) of each draw.
	LogJoint, LogQ []float64
}

// Of returns the values of one draw of a variable, [plates..., event...].
func (d *Draws) Of(v *Variable, draw int) []float64 {
	size := len(d.Values[v]) / d.N
	return d.Values[v][draw*size : (draw+1)*size]
}

// ELBO estimates the evidence lower bound over the whole model, with its standard error, in nats,
// from draws of the stream called name. If a variable has more than 262,144 members, and the family
// was trained on some members of each plate (Config.Batch), each draw uses other members, with the
// weights of training. If ctx is cancelled, ELBO stops as Sample does.
func (p *Posterior) ELBO(ctx gocontext.Context, draws int, name string) (elbo, se float64, err error) {
	members := p.everything
	if p.model.mostMembers() > largestChunk && len(p.config.Batch) > 0 {
		if members, err = newSelector(p.model, p.config.Batch); err != nil {
			return 0, 0, err
		}
	}
	all, err := p.sample(ctx, draws, name, members, false)
	if err != nil {
		return 0, 0, err
	}
	floats.Sub(all.LogJoint, all.LogQ)
	elbo, sd := stat.PopMeanStdDev(all.LogJoint, nil)
	return elbo, sd / math.Sqrt(float64(max(draws-1, 1))), nil
}

// Sample makes n draws from the posterior, with the seed of the configuration and the stream called
// name: another name gives independent draws. If ctx is cancelled, Sample stops after the batch of
// draws in progress, with an error that wraps ctx.Err().
func (p *Posterior) Sample(ctx gocontext.Context, n int, name string) (*Draws, error) {
	return p.sample(ctx, n, name, p.everything, true)
}

// SampleMembers is Sample for some members of plates, of a model that has too many for Sample.
// Other plates are whole, except that of a plate nested in these only the members that belong to
// them are used. Values are [n, members..., event...], where rows without a member follow, if
// members have different numbers of inner members. Encodings that are computed from data, also the
// encodings of variables without plates, see the data of these members only. The densities LogJoint
// and LogQ are nil.
func (p *Posterior) SampleMembers(ctx gocontext.Context, n int, name string, members map[*Plate][]int32) (*Draws, error) {
	batch := map[*Plate]int{}
	for plate, list := range members {
		if plate == nil || plate.model != p.model || len(list) == 0 || slices.Min(list) < 0 || int(slices.Max(list)) >= plate.size || len(plate.parents) > 0 {
			return nil, fmt.Errorf("hbm: got members of %v, want members of plates of this model that are nested in no other plate", plate)
		}
		batch[plate] = len(list)
	}
	selected, err := newSelector(p.model, batch)
	if err != nil {
		return nil, err
	}
	for plate, list := range members {
		selected.plans[plate].kind, selected.plans[plate].lists = takeListed, [][]int32{list}
	}
	draws, err := p.sample(ctx, n, name, selected, true)
	if err == nil {
		draws.LogJoint, draws.LogQ = nil, nil
	}
	return draws, err
}

// largestChunk bounds the product of members and draws in one graph of the whole model.
const largestChunk = 1 << 18

// sample draws n times from the members that s selects. If values is true, all draws are of the
// same members and have values. Otherwise, draws of a part of the members are each of other
// members.
func (p *Posterior) sample(ctx gocontext.Context, n int, name string, s *selector, values bool) (*Draws, error) {
	f := p.feed
	if n < 1 {
		return nil, fmt.Errorf("hbm: a number of draws must be positive, got %d", n)
	}
	choice := stream.Rand(p.config.Seed, "sample/members/"+name)
	chosen := s.draw(choice)
	rows := 1
	for _, v := range p.model.variables {
		rows = max(rows, product(chosen.dims(v)))
	}
	chunk := max(1, min(256, largestChunk/rows))
	others := !values && !s.isWhole()
	if others {
		chunk = 1
	}
	graph := func(ctx *context.Context, inputs []*Node) []*Node {
		noise, inputs := inputs[:len(p.family.latents)], inputs[len(p.family.latents):]
		r := p.feed.replica(s, inputs)
		logJoint, logQ := p.densitiesAt(ctx, r, noise)
		outputs := []*Node{logJoint, logQ}
		if values {
			for _, l := range p.family.latents {
				outputs = append(outputs, ConvertDType(drawsFirst(r, l.Variable), dtypes.Float64))
			}
		}
		return outputs
	}
	rest := f.inputs(chosen)
	draws := &Draws{N: n, Values: Values{}}
	for start := 0; start < n; start += chunk {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("sampling stopped after %d of %d draws: %w", start, n, err)
		}
		if others && start > 0 {
			chosen = s.draw(choice)
			rest = f.inputs(chosen)
		}
		random := stream.Rand(p.config.Seed, fmt.Sprintf("sample/%s/%d", name, start/chunk))
		inputs := apply.To(p.family.latents, func(l *latent) any { return normals(random, append(chosen.dims(l.Variable), chunk, l.dim)...) })
		outputs, err := p.graphs.Run(fmt.Sprintf("sample/%v/%v/%v", values, s.isWhole(), apply.To(p.model.plates, s.size)), graph, append(inputs, rest...)...)
		if err != nil {
			return nil, err
		}
		keep := min(chunk, n-start)
		take := func(output *tensors.Tensor) []float64 {
			flat := tensors.MustCopyFlatData[float64](output)
			return flat[:len(flat)/chunk*keep]
		}
		draws.LogJoint, draws.LogQ = append(draws.LogJoint, take(outputs[0])...), append(draws.LogQ, take(outputs[1])...)
		for i, output := range outputs[2:] {
			v := p.family.latents[i].Variable
			draws.Values[v] = append(draws.Values[v], take(output)...)
		}
	}
	return draws, nil
}

// drawsFirst returns the value of a variable in a replica as [draws, plates..., event...].
func drawsFirst(r *replica, v *Variable) *Node { return moved(r.values[v], len(v.plates), 0) }

func normals(random *rand.Rand, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(stream.Normals(random, product(dims)), dims...)
}
