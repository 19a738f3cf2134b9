package hbm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/internal/rank"
)

// Family is a variational family, derived from the graph of the model.
type Family int

const (
	// PAVIF gives each member of a latent variable, a repetition of it over plates, a free
	// encoding: a few numbers that are trained for this member. The encoding conditions a flow that
	// all members share (PAVI-F).
	PAVIF Family = iota
	// MeanField gives each unconstrained number its own, independent normal distribution.
	MeanField
	// Branch gives each member its own normal distribution with a dense covariance, whose mean is
	// linear in the variables before it. With one plate this is a distribution of the globals and a
	// branch for each member.
	Branch
	// PAVIE is PAVIF with encodings that deep sets, or set transformers, compute from the data
	// (PAVI-E). Its number of weights does not depend on the plates, and once trained it can infer
	// from other data.
	PAVIE
	// ADAVI has encodings by set transformers and no dependence between latent variables. Its
	// plates must be nested.
	ADAVI
	// AmortizedBranch is Branch with distributions that networks compute from the data. One network
	// turns each datum into features. Another reads the means of features and of their squares.
	AmortizedBranch
	// Joint is one normal distribution with a dense covariance of all unconstrained numbers of all
	// members, for models of at most MaxJoint such numbers.
	Joint
)

var families = enum.New[Family]("family", "pavi-f", "meanfield", "branch", "pavi-e", "adavi", "amortized-branch", "joint")

// String returns the name of the family for ParseFamily.
func (f Family) String() string { return families.String(f) }

// FamilyNames lists the names of all families.
func FamilyNames() []string { return families.List() }

// ParseFamily returns the family called name.
func ParseFamily(name string) (Family, error) { return families.Parse(name) }

// Check returns an error if the family cannot be fitted to a model: a model without latent
// variables, crossed plates for ADAVI, or more than MaxJoint latent numbers for Joint.
func (f Family) Check(m *Model) error {
	if len(m.Latents()) == 0 {
		return errors.New("hbm: the model has no latent variable")
	}
	switch f {
	case ADAVI:
		return checkPyramid(m)
	case Joint:
		if n := m.Dim(); n > MaxJoint {
			return fmt.Errorf("hbm: family %v takes models of at most %d latent numbers, this has %d: use %v or %v", Joint, MaxJoint, n, PAVIF, Branch)
		}
	}
	return nil
}

// encoder gives each member of a latent variable an encoding: numbers by which the distribution of
// the member differs from the distributions of other members.
type encoder interface {
	// encode returns [plates..., draws or 1, width] for the members in the replica. ctx is the
	// scope of the family, and memberScope the scope of the variable in it.
	encode(ctx, memberScope *context.Context, r *replica, v *Variable, width int) *Node
}

// conditional is the distribution of a latent variable given encodings and earlier variables.
type conditional interface {
	// width is the number of entries of an encoding.
	width(l *latent) int
	// push maps standard normal z [plates..., draws, U] to unconstrained values of the same shape,
	// with the logarithm of the determinant of the derivative, [plates..., draws].
	push(ctx *context.Context, l *latent, in conditionalInputs, z *Node) (u, logDet *Node)
	// pull inverts push: it returns z of u, and the log determinant of push.
	pull(ctx *context.Context, l *latent, in conditionalInputs, u *Node) (z, logDet *Node)
}

// conditionalInputs holds the inputs of the distribution of the members of a latent variable.
type conditionalInputs struct {
	encoding *Node // [plates..., draws or 1, width]
	before   *Node // noise of the variables before it, [plates..., draws, C]; nil if there are none
	// present and features describe the models of a space. present is 1 for the numbers that a
	// model has and 0 for others, [1..., draws or 1, U]; nil stands for all numbers. features are
	// the features of the models, [draws or 1, 1 + F].
	present, features *Node
	// mean and sd are the mean and standard deviation of a normal distribution near the prior of
	// the unconstrained value, given its parents, [plates..., draws, U].
	mean, sd *Node
	// typicalMean and typicalSD are the mean and standard deviation of such a normal distribution
	// at typical values of the parents, [plates..., 1, U].
	typicalMean, typicalSD *Node
}

// latent is a latent variable with the properties that a family needs.
type latent struct {
	*Variable
	dim     int   // U, unconstrained numbers of a member
	numbers []int // 0 … U − 1
	// before lists the latent variables that condition this variable. A member of this variable
	// determines one member of each variable in before.
	before []*latent
	after  int // C, unconstrained numbers of a member of each variable before it, in all
	prior  func(parameters []*Node) (mean, sd *Node)
}

// latents lists the latent variables of a model. If cascade is true, each is conditioned on every
// earlier variable whose plates its own plates determine: each of its members belongs to one member
// of such a variable.
func latents(m *Model, cascade bool) []*latent {
	var list []*latent
	for _, v := range m.Latents() {
		l := &latent{Variable: v}
		l.dim, _ = v.link.Dim(v.event) // checked when the variable was added
		l.numbers = rank.UpTo(l.dim)
		if v.link == v.density.support.link() {
			l.prior = v.density.normal
		}
		for _, earlier := range list {
			if cascade && !slices.ContainsFunc(earlier.plates, func(p *Plate) bool { return p.carrier(v.plates) < 0 }) {
				l.before = append(l.before, earlier)
				l.after += earlier.dim
			}
		}
		list = append(list, l)
	}
	return list
}

// cascade is a family in which each latent variable has its own conditional distribution, given the
// variables before it (PAVI eq. 3).
type cascade struct {
	latents     []*latent
	encoder     encoder
	conditional conditional
	meanField   bool // the variables are independent of each other
	freeGlobals bool // variables without plates always have free encodings
	joint       bool // the noise of all variables is first mixed by a matrix
	blocks      bool // this matrix has no entries between different variables
	// copies is the number of encodings of a member: 1, plus 1 for each feature of models.
	copies int
	free   freeEncodings
}

// draw sets the values of the latent variables in the replica to draws from the family, made of
// standard normal noise [plates..., draws, U]. It returns for each variable the log density of its
// values, [plates..., draws]: log q less the log determinant of its link.
func (c *cascade) draw(ctx *context.Context, r *replica, noise map[*Variable]*Node) map[*Variable]*Node {
	logQ := map[*Variable]*Node{}
	descent, mixed := c.startDescent(ctx, r), noise
	if c.joint {
		mixed = c.mix(ctx.In("joint"), r, noise)
	}
	for _, l := range c.latents {
		z := noise[l.Variable]
		descent.noise[l.Variable] = z
		in := descent.inputsOf(l, z.Shape().Dim(-2))
		u, logDet := c.conditional.push(descent.scope(l), l, in, mixed[l.Variable])
		logLink := descent.place(l, in, u)
		logQ[l.Variable] = Sub(Sub(logStandardNormal(z, in.present), logDet), logLink)
	}
	return logQ
}

// descent is the state of a pass through the latent variables of a family, parents first, at the
// members in one graph (replica).
type descent struct {
	*cascade
	ctx     *context.Context
	r       *replica
	typical *replica            // the replica with typical values of the latent variables
	noise   map[*Variable]*Node // noise of the variables that the pass has reached
}

func (c *cascade) startDescent(ctx *context.Context, r *replica) *descent {
	r.unconstrained = map[*Variable]*Node{}
	typical := &replica{graph: r.graph, dtype: r.dtype, sizes: r.sizes, index: r.index, present: r.present, values: map[*Variable]*Node{}}
	for v, value := range r.values {
		if v.role == Constant {
			typical.values[v] = value
		}
	}
	return &descent{cascade: c, ctx: ctx, r: r, typical: typical, noise: map[*Variable]*Node{}}
}

func (d *descent) scope(l *latent) *context.Context { return d.ctx.In(l.scope()) }

// inputsOf returns the inputs of the distribution of a latent variable, for a number of draws.
func (d *descent) inputsOf(l *latent, draws int) conditionalInputs {
	r := d.r
	in := conditionalInputs{present: r.present[l.Variable]}
	width := d.conditional.width(l)
	in.encoding = d.encoderOf(l).encode(d.ctx, d.scope(l), r, l.Variable, width*d.copies)
	if in.features = r.about; in.features != nil {
		in.encoding = encoded(in.encoding, in.features, width, len(l.plates))
	}
	in.mean, in.sd = l.priorNormal(r)
	in.typicalMean, in.typicalSD = l.priorNormal(d.typical)
	if d.meanField {
		in.mean, in.sd = in.typicalMean, in.typicalSD
	}
	var before []*Node
	for _, earlier := range l.before {
		noise := d.noise[earlier.Variable]
		if present := r.present[earlier.Variable]; present != nil {
			noise = Mul(noise, present)
		}
		aligned := r.align(noise, earlier.plates, l.plates)
		before = append(before, BroadcastToDims(aligned, append(r.dims(l.Variable), draws, earlier.dim)...))
	}
	if len(before) > 0 {
		in.before = Concatenate(before, -1)
	}
	return in
}

// place sets a latent variable from unconstrained numbers. It returns the log determinant of the
// link.
func (d *descent) place(l *latent, in conditionalInputs, u *Node) (logLink *Node) {
	d.r.unconstrained[l.Variable] = u
	if in.present != nil { // numbers that the model lacks are zero
		u = Mul(u, in.present)
	}
	value, logLink := l.link.ToEvent(u, l.event)
	d.r.values[l.Variable] = value
	d.typical.values[l.Variable], _ = l.link.ToEvent(in.typicalMean, l.event)
	if in.present != nil {
		logLink = l.presentLink(logLink, in.present)
	}
	return logLink
}

// presentLink returns the log determinant of the link over numbers that are 1 in present.
func (l *latent) presentLink(logLink, present *Node) *Node {
	if _, partly := l.link.(partialLink); partly {
		return logLink
	}
	return wholly(logLink, present)
}

// scope returns the name of the scope of a variable. The name of the variable itself may hold any
// characters, which a scope may not.
func (v *Variable) scope() string {
	return fmt.Sprintf("variable%d", slices.Index(v.model.variables, v))
}

// priorNormal returns the mean and the standard deviation, [plates..., draws, U], of a normal
// distribution near the unconstrained value: near its prior given its parents or, if the variable
// has the option Near, the distribution of that option.
func (l *latent) priorNormal(r *replica) (mean, sd *Node) {
	dims := append(r.dims(l.Variable), 1)
	if l.initial[0] != nil {
		same := func(values []float64) *Node {
			return BroadcastToDims(Reshape(ConvertDType(Const(r.graph, values), r.dtype), ones(len(dims), l.dim)...), append(dims, l.dim)...)
		}
		return same(l.initial[0]), same(l.initial[1])
	}
	if l.prior == nil {
		dims = append(dims, l.dim)
		return Zeros(r.graph, shapeOf(r, dims)), Ones(r.graph, shapeOf(r, dims))
	}
	mean, sd = l.prior(r.parameters(l.Variable))
	rank := len(l.plates) + 1
	flat := func(x *Node) *Node {
		x = withRank(x, rank+len(l.event))
		to := append(append([]int{}, dims...), l.event...)
		to[rank-1] = x.Shape().Dim(rank - 1)
		return Reshape(BroadcastToDims(x, to...), append(to[:rank:rank], l.dim)...)
	}
	return flat(mean), flat(sd)
}

// logStandardNormal returns the log density of z [..., U], summed over numbers that are 1 in
// present.
func logStandardNormal(z, present *Node) *Node {
	return sumPresent(AddScalar(MulScalar(Square(z), -0.5), -halfLogTwoPi), present)
}

// freeEncodings are encodings that are weights themselves, E_i of PAVI section 4.3. One graph
// variable holds the encodings of all members; a step changes only encodings of its members.
type freeEncodings struct {
	seed   uint64
	spread float64 // standard deviation of encodings at the start of training
}

// encodingRate is the ratio of the learning rate of free encodings to the rate of networks.
const encodingRate = 1 / networkRate

// encodingsName is the name of the graph variables of free encodings, and startSpread the standard
// deviation at which free encodings of flows start.
const (
	encodingsName = "encodings"
	startSpread   = 0.01
)

func (e freeEncodings) encode(_, memberScope *context.Context, r *replica, v *Variable, width int) *Node {
	dims := append(r.dims(v), 1, width)
	start := func(random *rand.Rand, values []float64) {
		for i := range values {
			values[i] = e.spread / encodingRate * random.NormFloat64()
		}
	}
	encodings := made.Variable(memberScope, r.graph, e.seed, encodingsName, r.dtype, start, v.Members(), width)
	if r.rows[v] != nil {
		encodings = r.some(v, encodings)
		r.encodings[v] = encodings
	}
	return Reshape(MulScalar(encodings, encodingRate), dims...)
}

// encoderOf returns the encoder of a latent variable. With freeGlobals a variable without plates
// has free encodings, because no other members can share an encoder with it.
func (c *cascade) encoderOf(l *latent) encoder {
	if c.freeGlobals && len(l.plates) == 0 {
		return c.free
	}
	return c.encoder
}

// reader returns the encoder that reads the data, or nil for families with free encodings.
func (c *cascade) reader() *setEncoder {
	encoder, _ := c.encoder.(*setEncoder)
	return encoder
}
