package hbm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/surrogate"
)

// Choice makes a Model one of several; each draw is of one of these, which has some of the
// unconstrained numbers of the latent variables (PresentIn) and its own values of some terms
// (ByModel). One family is trained for all. The encodings of a variable are linear in features φ of
// the model, as are the weights by which a variable follows those before it,
//
//	e(m) = e_0 + Σ_k φ_k(m) e_k,   Σ_k |φ_k(m)| ≤ 1,
//
// and numbers that a model lacks stay standard normal: they cancel from every ratio of densities.
// Densities of other variables see them as zeros behind their link.
type Choice struct {
	logPrior []float64   // [models], −Inf for those that cannot be
	features [][]float64 // [models, 1 + F], the first 1, the others in units of their largest sum
}

// Choose makes the model one of several, with the log prior probabilities given; −Inf excludes a
// model. features [models, F] are what encodings are linear in. A Model has one Choice at most.
//
// Features are scaled by a common factor so that their sum is at most one in any model. A step of
// Adam changes the weight of each feature by about the learning rate. In a model with twenty
// features whose gradients agree, the encoding would move twenty times as far, which is enough to
// lose the starting point.
func (m *Model) Choose(logPrior []float64, features [][]float64) *Choice {
	c := &Choice{logPrior: slices.Clone(logPrior)}
	most := 1.0
	for _, own := range features {
		most = max(most, floats.Norm(own, 1))
	}
	for _, own := range features {
		scaled := append([]float64{1}, own...)
		floats.Scale(1/most, scaled[1:])
		c.features = append(c.features, scaled)
	}
	if len(features) != len(logPrior) || len(features) == 0 {
		m.fail("got features of %d models and prior probabilities of %d", len(features), len(logPrior))
	}
	if m.choice != nil {
		m.fail("the model has two choices")
	}
	m.choice = c
	return c
}

// PresentIn says which unconstrained numbers of a latent variable each model of the Choice has,
// [models, numbers]. Its density is that of components: where it is not, all or none are present.
func PresentIn(present [][]bool) Option { return func(v *Variable) { v.present = present } }

// byModel is a term that depends on the model alone.
type byModel struct{ values [][]float64 }

// ByModel is a vector that each model of the Choice has its own values of, [models, numbers].
func ByModel(values [][]float64) Term { return byModel{values} }

func (byModel) variables() []*Variable { return nil }

func (b byModel) node(r *replica, plates []*Plate) *Node { return r.ofModel(b.values, len(plates)) }

// ofModel looks up numbers of the model of each draw, [1..., draws or 1, numbers] with so many axes
// for plates.
func (r *replica) ofModel(values [][]float64, plates int) *Node {
	if r.models == nil {
		panic(fmt.Errorf("hbm: a term depends on a model, and there is no Choice"))
	}
	rows := Gather(ConvertDType(Const(r.graph, values), r.dtype), InsertAxes(r.models, -1)) // [draws or 1, numbers]
	return Reshape(rows, ones(plates, rows.Shape().Dimensions...)...)
}

// presence is 1 for the numbers of a variable that the model of a draw has and 0 for others,
// [1..., draws or 1, U]; nil if all models have all.
func (r *replica) presence(v *Variable) *Node {
	if v.present == nil {
		return r.present[v]
	}
	values := make([][]float64, len(v.present))
	for m, row := range v.present {
		values[m] = make([]float64, len(row))
		for i, is := range row {
			if is {
				values[m][i] = 1
			}
		}
	}
	return r.ofModel(values, len(v.plates))
}

// sumPresent sums the last axis of x over what is present.
func sumPresent(x, present *Node) *Node {
	if present != nil {
		x, present = broadcast2(x, present)
		x = Where(GreaterThan(present, ZerosLike(present)), x, ZerosLike(x))
	}
	return ReduceSum(x, -1)
}

// withPresence is a log density with the components that are not present left out, [plates...,
// draws]: of the components, or as a whole.
func withPresence(logProb, present *Node, rank int) *Node {
	if present == nil {
		return sumTrailing(logProb, rank)
	}
	if logProb.Rank() == rank {
		return wholly(logProb, present)
	}
	flat := Reshape(logProb, append(slices.Clone(logProb.Shape().Dimensions[:rank]), -1)...)
	if flat.Shape().Dim(-1) != present.Shape().Dim(-1) { // not of the numbers one by one
		return wholly(ReduceSum(flat, -1), present)
	}
	return sumPresent(flat, present)
}

// features are those of the model of each draw, [draws or 1, 1 + F]; nil if there is one model.
func (r *replica) features() *Node {
	if r.models == nil {
		return r.about
	}
	return r.ofModel(r.choice.features, 0)
}

// encoded are the encodings of the members for the model of each draw: from encodings [plates...,
// 1, (1+F)·width] to [plates..., draws or 1, width].
func (r *replica) encoded(encodings, features *Node, width, plates int) *Node {
	dims := encodings.Shape().Dimensions[:plates]
	members := product(dims)
	table := Reshape(encodings, members, features.Shape().Dim(-1), width)
	return Reshape(Einsum("dk,mkw->mdw", features, table), append(slices.Clone(dims), features.Shape().Dim(0), width)...)
}

// follow is before [plates..., draws, C] times weights [C, outputs] that are linear in the features
// of the model, given as variables [1 + F, C, outputs] where there is a choice.
func (in given) follow(weights *Node) *Node {
	outputs := weights.Shape().Dim(-1)
	leading := in.before.Shape().Dimensions[:in.before.Rank()-1]
	before := in.before.Shape().Dim(-1)
	if in.features == nil {
		return Reshape(MatMul(Reshape(in.before, -1, before), weights), append(slices.Clone(leading), outputs)...)
	}
	draws := leading[len(leading)-1]
	features := BroadcastToDims(in.features, draws, in.features.Shape().Dim(-1))
	own := Reshape(MatMul(features, Reshape(weights, features.Shape().Dim(-1), -1)), draws, before, outputs)
	flat := Reshape(in.before, -1, draws, before)
	return Reshape(Einsum("mdc,dco->mdo", flat, own), append(slices.Clone(leading), outputs)...)
}

// chooser draws the models of the steps of training, and learns how well the family fits each: q(m)
// ∝ p(m) exp u(m) by the upper confidence bounds u of Gaussian beliefs about the ELBO of each model
// (paper eq. 14).
type chooser struct {
	choice *Choice
	belief *surrogate.Diagonal
	even   []int // the models that can be
}

// choiceDraws is how many times as many draws a step has as for a single model. Chosen by hand: of
// two of twelve models 0.3 and 0.5 percent of the draws were effective with as many, 0.9 and 1.0
// with seven times as many.
const choiceDraws = 4

// evenShare is the share of draws that are spread over all models alike, so that evidences of
// improbable models are known as well; explore is the weight of a standard deviation in u. Chosen
// by hand.
const (
	evenShare = 0.5
	explore   = 2
)

func newChooser(c *Choice) *chooser {
	ch := &chooser{choice: c, belief: surrogate.NewDiagonal(len(c.logPrior))}
	for m, logPrior := range c.logPrior {
		if !math.IsInf(logPrior, -1) {
			ch.even = append(ch.even, m)
		}
	}
	return ch
}

// draw chooses models for n draws of which the second half repeats the first: their noise is that
// of the first with the other sign.
func (c *chooser) draw(random *rand.Rand, n int) []int32 {
	table := pick.NewTable(c.choice.probabilities(surrogate.Utilities(c.belief, surrogate.UCB, explore, nil, nil)))
	half := (n + 1) / 2
	models := make([]int32, n)
	for i := range half {
		if random.Float64() < evenShare {
			models[i] = int32(c.even[random.IntN(len(c.even))])
		} else {
			models[i] = int32(table.Index(random.Float64()))
		}
	}
	copy(models[half:], models)
	return models
}

// observe learns from the ELBO of each draw, of which those that are not finite are left out.
func (c *chooser) observe(models []int32, elbo []float64, movement float64) {
	var kept []int
	var rewards []float64
	for i, value := range elbo {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			kept, rewards = append(kept, int(models[i])), append(rewards, value)
		}
	}
	if len(kept) > 0 {
		c.belief.Observe(kept, rewards, movement)
	}
}

// probabilities are p(m) exp u(m), normalised.
func (c *Choice) probabilities(utility []float64) []float64 {
	logs := make([]float64, len(utility))
	for m, u := range utility {
		logs[m] = c.logPrior[m] + u
	}
	total := logsum.Of(logs)
	for m, l := range logs {
		logs[m] = math.Exp(l - total)
	}
	return logs
}

// beliefName is the variable that holds what a chooser has learned in a checkpoint.
const beliefName = "belief"

func beliefScope(ctx *context.Context) *context.Context {
	return ctx.InAbsPath("/" + trainScope).Checked(false)
}

// store puts what was learned into a variable.
func (c *chooser) store(ctx *context.Context) error {
	return keep(beliefScope(ctx), beliefName, tensors.FromValue(c.belief.State()))
}

// restore takes it from there.
func (c *chooser) restore(ctx *context.Context) error {
	state, err := kept[float64](beliefScope(ctx), beliefName)
	if err != nil {
		return fmt.Errorf("what is known of the models: %w", err)
	}
	return c.belief.SetState(state)
}

// Q is the distribution over the models of a Choice that training has learned: ∝ p(m) exp of the
// expected ELBO of each. It is nil without a Choice.
func (p *Posterior) Q() []float64 {
	if p.chooser == nil {
		return nil
	}
	mean := make([]float64, len(p.chooser.choice.logPrior))
	p.chooser.belief.Predict(0, mean, nil)
	return p.chooser.choice.probabilities(mean)
}

// In is the posterior given one of the models of a Choice, from the same weights.
func (p *Posterior) In(model int) *Posterior {
	if p.model.choice == nil || model < 0 || model >= len(p.model.choice.logPrior) {
		panic(fmt.Sprintf("hbm.Posterior.In: there is no model %d to choose", model))
	}
	other, own := *p, *p.feed
	own.models = []int32{int32(model)}
	other.feed = &own
	return &other
}
