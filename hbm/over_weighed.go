package hbm

import (
	gocontext "context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// weighed estimates evidences of models by importance weights of draws of a variational family, for
// each member of a plate (such as a group) separately.
type weighed struct {
	posterior *Posterior // its graph inputs name no model; see conditionOn
	ceilings  *ceilings
	mutex     sync.Mutex // held by one evaluation at a time
	// kept holds the weighted draws of each model, so that an amortized family, which should answer
	// in about a second, draws once. It is nil for other families, which draw anew in each call.
	// numbers counts the numbers in kept.
	kept    map[string]*Certificate
	numbers int
}

// weighedStages lists the stages in which evidences of single models are estimated. A model takes
// part in a stage unless the draws of the stage before show reliably that its log evidence is more
// than the field within, in nats, below the largest. Each stage has a quarter of the draws of the
// next.
var weighedStages = []struct {
	draws  int
	within float64
}{{64, math.Inf(1)}, {256, 50}, {1024, negligibleNats}}

const (
	// fewWeighed is the number of draws for the parameters of a model whose posterior probability
	// is below a hundredth. Other models have the draws of a run with a single model.
	fewWeighed = 1024
	// openedWeighed is the number of draws for a model that may matter in an answer by an amortized
	// family. This many draws show how heavy the tail of the weights is.
	openedWeighed = 2048
	// mostModels is the largest number of models of a space whose evidences are all estimated.
	mostModels = 128
	// A model whose log evidence is negligibleNats below the largest, or more, does not matter for
	// the answer. 128 such models together have a posterior probability below a thousandth.
	negligibleNats = 12
	// Models within drawnNats of the largest log evidence need no further draws for their evidence:
	// the later draws of their parameters make the answer doubtful if weights have no mean. Half
	// and twice this number give the same answers (docs/benchmarks/constants.md).
	drawnNats = 5
)

// Weighed implements [vti.WeighedFlow].
func (f *targetFamily) Weighed(device *gpu.Device, ctx *vti.Context) models.Known {
	count, few := space.CountModels(f.space)
	if _, ok := f.space.(space.RowMasker); !ok || !few || count > mostModels {
		return models.Known{}
	}
	everything, err := newSelector(f.model, nil)
	if err != nil {
		return models.Known{}
	}
	feed64 := &feed{model: f.model, data: f.data, dtype: dtypes.Float64, target: f}
	graphs := &evaluate.Graphs{Device: device, Variables: ctx}
	p := &Posterior{graphs: graphs, model: f.model, config: f.config, family: f.family, feed: feed64, everything: everything}
	ceilings, err := newCeilings(device, f.Target)
	if err != nil {
		return models.Known{}
	}
	w := &weighed{posterior: p, ceilings: ceilings}
	if f.config.Amortize > 0 {
		w.kept = map[string]*Certificate{}
	}
	return models.Known{Evidences: w, Draws: max(1, min(firstDraws, keptNumbers/f.space.Dim()))}
}

// Exact returns false, because evidences are estimates.
func (*weighed) Exact() bool { return false }

func (w *weighed) certify(ctx gocontext.Context, code []int32, draws int, seed uint64) (*Certificate, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	key := space.Key(code)
	if c := w.kept[key]; c != nil && c.Draws >= draws {
		return c, nil
	}
	p := *w.posterior
	p.feed, p.config.Seed = p.feed.conditionOn(code), seed
	c, err := p.Certify(ctx, CertifyConfig{Draws: draws, Until: w.posterior.config.Until})
	if err == nil && w.kept != nil && w.numbers < keptNumbers {
		w.kept[key] = c
		w.numbers += c.Draws * p.model.Dim()
	}
	return c, err
}

// Of returns estimates of the evidences of the models that codes name. Models whose evidences are
// far below the largest get few draws. A family may be far from the posterior of a model that
// training hardly drew. Weights then give an evidence that is too small by any number of nats, even
// with many draws. Such a model is left out only if its largest likelihood is too small as well.
// Otherwise its evidence has no upper bound.
func (w *weighed) Of(ctx gocontext.Context, codes [][]int32, seed uint64) ([]models.Evidence, error) {
	found, best := make([]models.Evidence, len(codes)), math.Inf(-1)
	ceiling, theta := slices.Repeat([]float64{math.NaN()}, len(codes)), make([][]float64, len(codes))
	below := func(i int) bool { // by its largest likelihood, which needs no weights
		if math.IsNaN(ceiling[i]) {
			ceiling[i] = w.ceilings.bound(codes[i], theta[i])
		}
		return ceiling[i] < best-negligibleNats
	}
	for k, stage := range weighedStages {
		if w.kept != nil && k == len(weighedStages)-1 {
			stage.draws = openedWeighed
		}
		for i, code := range codes {
			if estimate := found[i]; estimate.Log < best-stage.within && (estimate.KHat <= psis.ReliableFor(estimate.Draws) || below(i)) {
				continue
			}
			c, err := w.certify(ctx, code, stage.draws, stream.Rand(seed, "members/"+space.Key(code)).Uint64())
			if err != nil {
				return nil, err
			}
			found[i], theta[i] = c.evidence(), make([]float64, w.posterior.model.Dim())
			w.writeParameters(w.posterior.feed.conditionOn(code), c.Sample, floats.MaxIdx(c.Weight), theta[i])
		}
		for _, estimate := range found {
			best = max(best, estimate.Log)
		}
	}
	for i, code := range codes {
		if found[i].KHat < 1 || found[i].Log > best-drawnNats || below(i) {
			continue
		}
		c, err := w.certify(ctx, code, firstDraws, stream.Rand(seed, "members/"+space.Key(code)).Uint64())
		if err != nil {
			return nil, err
		}
		if found[i] = c.evidence(); !(found[i].KHat < 1) {
			found[i].Bound = math.Inf(1)
		}
	}
	return found, nil
}

// writeParameters writes the parameters θ [D] of a draw of the model that modelFeed names.
func (w *weighed) writeParameters(modelFeed *feed, sample *Draws, draw int, theta []float64) {
	for at, l := range w.posterior.family.latents {
		values := sample.Of(l.Variable, draw)
		for member := range l.Members() {
			for _, u := range modelFeed.numbers(at, l, member) {
				theta[member*l.dim+u] = values[member*l.dim+u]
			}
		}
		theta = theta[len(values):]
	}
}

// Parameters draws n vectors of parameters of the model that code names, by importance weights.
func (w *weighed) Parameters(code []int32, known models.Evidence, n int, random *rand.Rand) (models.Parameters, error) {
	draws := fewWeighed
	switch {
	case n > firstDraws:
		draws = min(n, mostDraws)
	case w.kept != nil:
		draws = max(draws, min(n, openedWeighed))
	case n >= firstDraws/100:
		draws = 0
	}
	c, err := w.certify(gocontext.Background(), code, draws, random.Uint64())
	if err != nil {
		return models.Parameters{}, err
	}
	if math.IsInf(c.LogEvidence, 0) || math.IsNaN(c.LogEvidence) {
		return models.Parameters{}, errors.New("hbm: the draws of the family have no finite total weight")
	}
	found := models.Parameters{Evidence: c.evidence(), LogWeights: c.logWeights, LogJoint: slices.Repeat([]float64{math.NaN()}, n)}
	if known.Draws > c.Draws {
		found.Evidence = known
	} else if !(found.Evidence.KHat < 1) {
		found.Evidence.Bound = known.Bound
	}
	feed, rows := w.posterior.feed.conditionOn(code), weighted.Rows(c.Weight, n, random)
	found.Theta, found.Weights = mat.NewDense(n, w.posterior.model.Dim(), nil), slices.Repeat([]float64{1}, n)
	for k, row := range rows {
		w.writeParameters(feed, c.Sample, row, found.Theta.RawRowView(k))
	}
	return found, nil
}

// ceilings finds the largest likelihood of a model. No evidence, a mean of likelihoods, is larger.
type ceilings struct {
	slope *Exec // computes the log likelihood, log p(data | θ, m), and its gradient
}

func newCeilings(device *gpu.Device, t *Target) (*ceilings, error) {
	slope, err := NewExec(device.Backend(), func(codes, theta *Node) (value, gradient *Node) {
		r, _ := t.replicaAt(t.space.Mask(codes), theta)
		value = Zeros(theta.Graph(), shapes.Make(dtypes.Float64, theta.Shape().Dim(0)))
		for _, v := range t.model.withRole(Observed) {
			value = Add(value, r.sumMembers(v, r.logProb(v)))
		}
		return value, ConvertDType(Gradient(ReduceAllSum(value), theta)[0], dtypes.Float64)
	})
	return &ceilings{slope}, err
}

// The maximisation of a likelihood ends if no slope is larger than climbSlope, or if climbRest
// steps together gain less than climbGain nats, little compared with negligibleNats. If it takes
// climbSteps steps, it gives no bound.
const (
	climbSteps = 300
	climbSlope = 1e-3
	climbRest  = 10
	climbGain  = 0.01
)

// bound returns the local maximum that maximisation from theta [D] reaches in the log likelihood of
// the model named by code, or +Inf if it reaches none. If the likelihood has one mode, this is its
// largest value.
func (c *ceilings) bound(code []int32, theta []float64) float64 {
	var failed error
	slopeAt := func(theta []float64) (value float64, gradient []float64) {
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) {
			return c.slope.Exec(tensors.FromFlatDataAndDimensions(slices.Clone(code), 1, len(code)), tensors.FromFlatDataAndDimensions(slices.Clone(theta), 1, len(theta)))
		})
		if failed = errors.Join(failed, err); err != nil {
			return math.Inf(1), make([]float64, len(theta))
		}
		return -tensors.MustCopyFlatData[float64](outputs[0])[0], tensors.MustCopyFlatData[float64](outputs[1])
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { value, _ := slopeAt(x); return value },
		Grad: func(grad, x []float64) {
			_, slope := slopeAt(x)
			floats.ScaleTo(grad, -1, slope)
		},
	}
	settings := &optimize.Settings{MajorIterations: climbSteps, GradientThreshold: climbSlope, Converger: &optimize.FunctionConverge{Absolute: climbGain, Iterations: climbRest}}
	found, err := optimize.Minimize(problem, theta, settings, &optimize.LBFGS{})
	if err != nil || failed != nil || found.Status == optimize.IterationLimit || math.IsNaN(found.F) {
		return math.Inf(1)
	}
	return -found.F
}
