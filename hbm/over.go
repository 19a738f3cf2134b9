package hbm

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/mat"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Target is a Model over a space of models, with its data: a vti.Target for vti.Fit, vti.Solve and
// their results. A code, S integers, names a model. In shapes B is a number of models or draws, D
// the number of coordinates and U the number of unconstrained numbers of a member of a variable.
// The parameters θ [D] of a Target are the unconstrained numbers of all latent variables
// (Model.Coordinates). Each model has some of them.
//
// A number that a model lacks has no density, and its unconstrained value is zero: an effect is
// then 0, and a standard deviation 1. Densities of other variables use these values. The function
// Present expresses other differences between models. If a link or a density joins numbers, such as
// shares that sum to one, a model has all of them or none.
type Target struct {
	// LogConcave says that the posterior of the parameters has one mode in every model. Examples
	// are effects with known standard deviations and a log-concave response. This claim is not
	// checked, and wrong answers may be trusted if it is wrong. If LogConcave is false, Markov
	// chains confirm importance weights; see vti.UnimodalTarget.
	LogConcave bool

	model    *Model
	data     Values
	space    space.Space
	logPrior func(codes *Node) *Node
}

var _ vti.UnimodalTarget = (*Target)(nil)

// Dim returns D, the number of unconstrained numbers of all latent variables.
func (m *Model) Dim() int {
	dim := 0
	for _, l := range latents(m, false) {
		dim += l.Members() * l.dim
	}
	return dim
}

// Coordinates returns the indices in θ of the unconstrained numbers of a latent variable,
// [plates..., U] in row-major order.
func (m *Model) Coordinates(v *Variable) []int {
	first := 0
	for _, l := range latents(m, false) {
		size := l.Members() * l.dim
		if l.Variable == v {
			return rank.UpTo(first + size)[first:]
		}
		first += size
	}
	panic(fmt.Sprintf("hbm.Model.Coordinates: %q is no latent variable of the model", v.name))
}

// Over makes the model one of a space of models with Dim coordinates. logPrior computes log p(m) of
// codes [B, S] as a graph, such as the LogProb of a space.Prior; nil gives all codes the same
// probability.
func (m *Model) Over(models space.Space, logPrior func(codes *Node) *Node, data Values) (*Target, error) {
	if err := m.CheckData(data); err != nil {
		return nil, err
	}
	if len(m.Latents()) == 0 {
		return nil, fmt.Errorf("hbm: the model has no latent variable")
	}
	if got, want := models.Dim(), m.Dim(); got != want {
		return nil, fmt.Errorf("hbm: got a space of %d coordinates, want %d, the unconstrained numbers of all latent variables", got, want)
	}
	t := &Target{model: m, data: data, space: models, logPrior: logPrior}
	return t, t.checkWholes()
}

// checkedCodes is the largest number of models that are checked, in addition to models that differ
// from the first in one integer of the code. In unchecked models the density is NaN if a model has
// only some of the numbers that a link or a density joins.
const checkedCodes = 1000

// checkWholes returns an error if a model has only some of the numbers that a link joins.
func (t *Target) checkWholes() error {
	masker, ok := t.space.(space.RowMasker)
	if !ok {
		return nil
	}
	validator, some := t.space.(interface{ Valid(code []int32) bool })
	check := func(code []int32) error {
		if some && !validator.Valid(code) {
			return nil // the code names no model
		}
		mask := masker.MaskRow(code, nil)
		first := 0
		for _, l := range latents(t.model, false) {
			for member := range l.Members() {
				memberMask := mask[first+member*l.dim : first+(member+1)*l.dim]
				if _, partly := l.link.(partialLink); !partly && slices.Contains(memberMask, true) && slices.Contains(memberMask, false) {
					return fmt.Errorf("hbm: model %v has only some of the numbers of %q, which make one value", code, l.name)
				}
			}
			first += l.Members() * l.dim
		}
		return nil
	}
	cards := t.space.Cards()
	code, random := make([]int32, len(cards)), stream.Rand(0, "over/check")
	for site, card := range cards {
		for outcome := range int32(card) {
			code[site] = outcome
			if err := check(code); err != nil {
				return err
			}
		}
		code[site] = 0
	}
	for range checkedCodes {
		for site, card := range cards {
			code[site] = int32(random.IntN(card))
		}
		if err := check(code); err != nil {
			return err
		}
	}
	return nil
}

// Space returns the set of models.
func (t *Target) Space() space.Space { return t.space }

// Unimodal returns LogConcave.
func (t *Target) Unimodal() bool { return t.LogConcave }

// LogPrior returns log p(m): [B, S] -> [B].
func (t *Target) LogPrior(codes *Node) *Node {
	if t.logPrior != nil {
		return t.logPrior(codes)
	}
	sum := 0.0
	for _, card := range t.space.Cards() {
		sum -= math.Log(float64(card))
	}
	return AddScalar(Zeros(codes.Graph(), shapes.Make(dtypes.Float64, codes.Shape().Dim(0))), sum)
}

// LogJoint returns log p(data, θ | m) as a density of θ, whose sums over members are Float64: [B,
// S], [B, D], [B, D] -> [B].
func (t *Target) LogJoint(_, mask, theta *Node) *Node {
	r, logLinks := t.replicaAt(mask, theta)
	total := Zeros(theta.Graph(), shapes.Make(dtypes.Float64, theta.Shape().Dim(0)))
	for _, v := range t.model.variables {
		if v.role != Constant {
			total = Add(total, r.sumMembers(v, r.logProb(v)))
		}
		if logLink := logLinks[v]; logLink != nil {
			total = Add(total, r.sumMembers(v, logLink))
		}
	}
	return ConvertDType(total, theta.DType())
}

// replicaAt returns the values of all variables at parameters theta, and the log determinants of
// the links of latent variables, [plates..., B].
func (t *Target) replicaAt(mask, theta *Node) (r *replica, logLinks map[*Variable]*Node) {
	r = t.replica(theta.Graph(), theta.DType())
	list := latents(t.model, false)
	r.present = apart(r, list, StopGradient(ConvertDType(mask, r.dtype)))
	values := apart(r, list, Where(mask, theta, ZerosLike(theta)))
	logLinks = map[*Variable]*Node{}
	for _, l := range list {
		value, logLink := l.link.ToEvent(values[l.Variable], l.event)
		r.values[l.Variable] = value
		logLinks[l.Variable] = l.presentLink(logLink, r.present[l.Variable])
	}
	return r, logLinks
}

func (t *Target) replica(g *Graph, dtype dtypes.DType) *replica {
	r := t.model.wholeReplica(g, dtype)
	for v, values := range t.data {
		r.values[v] = ConvertDType(Const(g, v.tensorOf(values)), dtype)
	}
	return r
}

// apart splits x [B, D] into the numbers [plates..., B, U] of each latent variable in the replica.
func apart(r *replica, list []*latent, x *Node) map[*Variable]*Node {
	parts, first := map[*Variable]*Node{}, 0
	x = Transpose(x, 0, 1)
	for _, l := range list {
		size := l.Members() * l.dim
		dims := append(r.dims(l.Variable), l.dim, x.Shape().Dim(1))
		block := r.some(l.Variable, Reshape(SliceAxis(x, 0, AxisRange(first, first+size)), l.Members(), l.dim, -1))
		parts[l.Variable] = moved(Reshape(block, dims...), len(dims)-1, len(dims)-2)
		first += size
	}
	return parts
}

// together joins the numbers of all latent variables, [plates..., B, U] each, to [B, D].
func together(list []*latent, parts map[*Variable]*Node) *Node {
	var rows []*Node
	for _, l := range list {
		x := parts[l.Variable]
		x = moved(x, x.Rank()-2, 0)
		rows = append(rows, Reshape(x, x.Shape().Dim(0), l.Members()*l.dim))
	}
	return Concatenate(rows, -1)
}

// Draws returns the values of all latent variables at the draws of a certificate, in the order of
// the draws and with their weights. Numbers that a model lacks have the values described at Target.
func (t *Target) Draws(device *gpu.Device, sample *vti.WeightedSample) (*Draws, error) {
	graphs := evaluate.Graphs{Device: device}
	graph := func(_ *vti.Context, inputs []*Node) []*Node {
		r, _ := t.replicaAt(t.space.Mask(inputs[0]), inputs[1])
		return apply.To(t.model.Latents(), func(v *Variable) *Node { return drawsFirst(r, v) })
	}
	n, dim := sample.Theta.Dims()
	sites := len(t.space.Cards())
	draws := &Draws{N: len(sample.Codes), Values: Values{}}
	chunk := max(1, min(n, largestChunk/dim))
	codes, theta := make([]int32, chunk*sites), mat.NewDense(chunk, dim, nil)
	for start := 0; start < draws.N; start += chunk {
		rows := min(chunk, draws.N-start)
		for i := range rows {
			copy(codes[i*sites:], sample.Codes[start+i])
			theta.SetRow(i, sample.Theta.RawRowView(start+i))
		}
		outputs, err := graphs.Run("draws", graph, tensors.FromFlatDataAndDimensions(slices.Clone(codes), chunk, sites), tensors.FromFlatDataAndDimensions(slices.Clone(theta.RawMatrix().Data), chunk, dim))
		if err != nil {
			return nil, err
		}
		for i, v := range t.model.Latents() {
			flat := tensors.MustCopyFlatData[float64](outputs[i])
			draws.Values[v] = append(draws.Values[v], flat[:rows*len(flat)/chunk]...)
		}
	}
	return draws, nil
}

// partialLink is a link that maps each unconstrained number to its own value, so that a model may
// have only some of the numbers. Its log determinant is zero at zero.
type partialLink interface{ partly() }

func (IdentityLink) partly() {}
func (ExpLink) partly()      {}

// presentTerm is the term that Present returns.
type presentTerm struct{ variable *Variable }

// Present returns a term that is 1 if the model of a draw has the numbers of a latent variable, and
// 0 if it lacks them. Its shape is [event...] if a model may have some of the numbers, and it is
// one number if a model has all or none. Without a space of models it is 1.
func Present(v *Variable) Term { return presentTerm{v} }

func (p presentTerm) variables() []*Variable { return []*Variable{p.variable} }

func (p presentTerm) node(r *replica, plates []*Plate) *Node {
	v := p.variable
	present := r.present[v]
	if present == nil {
		return OnesLike(v.node(r, plates))
	}
	if _, partly := v.link.(partialLink); partly {
		present = reshapeLast(present, v.event)
	} else {
		present = ReduceMax(present, -1)
	}
	return r.align(present, v.plates, plates)
}
