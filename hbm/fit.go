package hbm

import (
	"cmp"
	gocontext "context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/space"
)

// secondDecay is the decay of Adam's second moments. At the start, far from the posterior,
// gradients are many thousand times larger than near it, and steps are too small until the second
// moments have forgotten them. A decay by 10⁸ takes log(10⁸) / (1 − decay) steps: 200 with this
// decay, and 2,000 with a decay of 0.99.
const secondDecay = 0.9

// networkRate is the learning rate of the weights of networks, relative to free encodings and
// affine maps: a change of a weight moves all members at once.
const networkRate = 1. / 20

const networkScope = "network"

// Fit trains a variational family on the posterior of the latent variables of a model given data,
// by stochastic gradients of an ELBO estimated from some members of each plate (PAVI eq. 6). It is
// [vti.Fit] of a space of one model.
//
// If ctx is cancelled, Fit finishes the step in progress, writes a checkpoint if the configuration
// names one, and returns the posterior trained so far with an error that wraps ctx.Err(). Any other
// error comes with a nil posterior. The exception is too many densities that are not finite: then
// the posterior is returned for inspection.
func Fit(ctx gocontext.Context, device *gpu.Device, model *Model, data Values, cfg Config) (*Posterior, error) {
	return fitModel(ctx, device, model, data, cfg, func(target *Target, fit vti.Config) (*vti.Posterior, error) {
		return vti.Fit(ctx, device, target, fit)
	})
}

// Load opens the posterior stored in cfg.Checkpoint by a Fit with the same model, data and
// configuration.
func Load(ctx gocontext.Context, device *gpu.Device, model *Model, data Values, cfg Config) (*Posterior, error) {
	cfg.Resume = true
	return fitModel(ctx, device, model, data, cfg, func(target *Target, fit vti.Config) (*vti.Posterior, error) {
		return vti.Load(device, target, fit)
	})
}

// fitModel fits or loads a model, by the function by, as a space of one model.
func fitModel(ctx gocontext.Context, device *gpu.Device, model *Model, data Values, cfg Config, by func(*Target, vti.Config) (*vti.Posterior, error)) (*Posterior, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	var simulate dataSets
	var err error
	if cfg.Amortize == 0 {
		err = model.CheckData(data)
	} else if simulate, err = newDataSets(device, model, nil, data, cfg); err == nil {
		// Encoders standardise all data by the mean and spread of these simulated data.
		data, err = simulate(ctx, nil, "amortize/scale", nil)
	}
	if err != nil {
		return nil, err
	}
	p, err := newPosterior(device, model, data, cfg)
	if err != nil {
		return nil, err
	}
	one, err := space.NewNested([]int{model.Dim()})
	if err != nil {
		return nil, err
	}
	members, err := newSelector(model, cfg.Batch)
	if err != nil {
		return nil, err
	}
	if cfg.Family == Joint && !members.isWhole() {
		return nil, fmt.Errorf("hbm: got a Batch with family %v, which uses the whole model in each step, want none", Joint)
	}
	target := &Target{model: model, data: data, space: one}
	f := &modelFamily{batchedFamily: &batchedFamily{targetFamily: &targetFamily{Target: target, family: p.family, config: cfg}, selector: members, part: p, simulate: simulate}}
	fit := vti.Config{
		Backbone: f, Models: oneModel{}, ControlVariate: vti.NoControl, LearnAtOnce: true,
		Steps: cfg.Steps, Batch: cmp.Or(cfg.Draws, f.draws()), LearningRate: cfg.LearningRate, SecondDecay: secondDecay, ClipNorm: math.Inf(1),
		Seed: cfg.Seed, DType: cfg.DType, Until: cfg.Until, LogEvery: cfg.LogEvery, Checkpoint: cfg.Checkpoint, Resume: cfg.Resume,
	}
	if cfg.Progress != nil {
		fit.Progress = func(info vti.Info) {
			info.Entropy = math.NaN() // there is no distribution q(m) of models
			cfg.Progress(info)
		}
	}
	trained, err := by(target, fit)
	if trained == nil {
		return nil, err
	}
	p.graphs.Variables, p.step = trained.Beginning().Weights.In(evaluate.FlowScope), trained.Steps()
	return p, err
}

// oneModel is the distribution q(m) over a space of one model.
type oneModel struct{}

// LogProb returns zero.
func (oneModel) LogProb(_ *vti.Context, codes *Node) *Node {
	return Zeros(codes.Graph(), shapes.Make(dtypes.Float64, codes.Shape().Dim(0)))
}

// Sample returns the model.
func (oneModel) Sample(_ *vti.Context, uniforms *Node) *Node {
	return ZerosLike(ConvertDType(uniforms, dtypes.Int32))
}

// modelFamily is the family of one model, without a choice of models.
type modelFamily struct {
	*batchedFamily
	last *replica // the replica of the graph that was built last
}

var _ vti.TableFlow = (*modelFamily)(nil)

// familySettings describes a family and its training in checkpoints.
type familySettings struct {
	Family     string        `json:"family"`
	Covariance Covariance    `json:"covariance,omitzero"`
	Encoding   int           `json:"encoding"`
	Products   bool          `json:"products"`
	Encoder    EncoderConfig `json:"encoder,omitzero"`
	Thin       bool          `json:"thin"`
	Flow       cosmic.Config `json:"flow"`
	Amortize   int           `json:"amortize"`
	Members    []int         `json:"members"` // number of members of each plate in a step
	Template   []string      `json:"template"`
	Model      []string      `json:"model"`
	Data       string        `json:"data"`
}

// String describes the family for checkpoints.
func (f *modelFamily) String() string {
	c := f.config
	s := familySettings{
		Family: c.Family.String(), Covariance: c.Covariance, Encoding: c.Encoding, Products: c.Products, Encoder: c.Encoder, Thin: c.Thin, Flow: c.Flow, Amortize: c.Amortize,
		Template: template(f.model), Data: fingerprint(f.model, f.data),
		Model:   apply.To(f.model.variables, func(v *Variable) string { return fmt.Sprintf("%s %v", v.role, v) }),
		Members: apply.To(f.model.plates, f.selector.size),
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Pace implements [vti.TableFlow]. Free encodings are stored divided by encodingRate.
func (f *modelFamily) Pace(variable string) float64 {
	if strings.Contains(variable, "/"+networkScope+"/") || strings.HasSuffix(variable, "/"+encodingsName) {
		return networkRate
	}
	return 1
}

// Densities implements [vti.BatchedFlow].
func (f *modelFamily) Densities(ctx *vti.Context, codes *Node, inputs []*Node) (logQ, logJoint *Node) {
	f.last = f.part.feed.replica(f.selector, inputs)
	logJoint, logQ = f.part.densities(ctx, f.last, codes.Shape().Dim(0))
	return logQ, logJoint
}

// Used implements [vti.TableFlow].
func (f *modelFamily) Used(variable string) (rows, values *Node) {
	for v, encodings := range f.last.encodings {
		if strings.HasSuffix(variable, "/"+v.scope()+"/"+encodingsName) {
			return f.last.rows[v], encodings
		}
	}
	return nil, nil
}

// dataSets makes the data sets of a step of amortized training. If codes are not nil, each data set
// is simulated from the model of its code. See Config.Simulate.
type dataSets func(ctx gocontext.Context, codes [][]int32, name string, left map[*Plate][]bool) (Values, error)

// newDataSets simulates a model, or the models of a Target, given the constants in data.
func newDataSets(device *gpu.Device, model *Model, over *Target, data Values, cfg Config) (dataSets, error) {
	if cfg.Simulate != nil {
		return func(ctx gocontext.Context, codes [][]int32, name string, left map[*Plate][]bool) (Values, error) {
			return cfg.Simulate(ctx, cfg.Amortize, codes, cfg.Seed, name, left)
		}, model.Err()
	}
	var simulator *Simulator
	var err error
	if over != nil {
		simulator, err = over.Simulator(device)
	} else {
		simulator, err = NewSimulator(device, model)
	}
	if err != nil {
		return nil, err
	}
	constants := Values{}
	for _, v := range model.withRole(Constant) {
		constants[v] = data[v]
	}
	return func(ctx gocontext.Context, codes [][]int32, name string, _ map[*Plate][]bool) (Values, error) {
		return simulator.DrawSets(ctx, constants, cfg.Amortize, codes, cfg.Seed, name)
	}, nil
}

// DefaultDraws returns the default number of draws in a step, given the number of members of the
// largest latent variable in the step. Members times draws are about 1,024, with 8 to 64 draws.
func DefaultDraws(members int) int {
	const manyRows, fewest, most = 1024, 8, 64
	return min(max(manyRows/members, fewest), most)
}

// draws returns the default number of draws in a step of training.
func (f *modelFamily) draws() int {
	members := 1
	for _, l := range f.family.latents {
		members = max(members, product(apply.To(l.plates, f.selector.size)))
	}
	return DefaultDraws(members)
}
