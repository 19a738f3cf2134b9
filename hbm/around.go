package hbm

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// Around says that the posterior of the unconstrained numbers u [U] of a latent variable, given the
// variables before it, is near N(mean, L Lᵀ): the families PAVIF, PAVIE of a Choice and Branch
// learn what is left, starting from
//
//	u = mean + L (δ + exp(κ) ∘ y),   δ = κ = 0,   |κ| < 1,
//
// with y standard normal, or a flow of that. mean is [U], and scale L is triangular [U, U];
// of a number they may have no axes. Both may depend on the variables before it and on constants.
// Other families leave it aside.
func Around(mean, scale Term) Option {
	return func(v *Variable) { v.around = [2]Term{mean, scale} }
}

// Exactly is Around where the normal distribution is the posterior given the variables before it,
// whatever their values are: nothing is learned.
func Exactly(mean, scale Term) Option {
	return func(v *Variable) { v.around, v.exact = [2]Term{mean, scale}, true }
}

// AroundEach is Around where the scale is diagonal: sd [U] is its diagonal. Variables on plates
// after it depend on it by their densities and by what they are around alone: they do not learn to
// follow its many numbers.
func AroundEach(mean, sd Term) Option {
	return func(v *Variable) { v.around, v.aroundEach = [2]Term{mean, sd}, true }
}

// unconstrained is the Term of Unconstrained.
type unconstrained struct{ of *Variable }

// Unconstrained are the unconstrained numbers of a latent variable, [U], as a term of Around for
// variables after it: densities cannot depend on it.
func Unconstrained(v *Variable) Term { return unconstrained{v} }

func (u unconstrained) variables() []*Variable { return []*Variable{u.of} }

func (u unconstrained) node(r *replica, plates []*Plate) *Node {
	value, ok := r.unconstrained[u.of]
	if !ok {
		panic(fmt.Errorf("hbm: variable %q has no unconstrained numbers yet", u.of.name))
	}
	return r.align(value, u.of.plates, plates)
}

// known reports whether nothing is learned of the distribution of a latent variable.
func (c *cascade) known(l *latent) bool { return c.relative && l.exact }

// mostAround bounds κ: a scale that follows other variables without a bound has a tail that weights
// do not survive.
const mostAround = 1

// boundedScale is κ of what was learned.
func boundedScale(x *Node) *Node { return MulScalar(Tanh(MulScalar(x, 1./mostAround)), mostAround) }

// checkAround reports terms of Around that depend on variables which members of v do not determine.
func (v *Variable) checkAround() error {
	for _, term := range v.around {
		if term == nil {
			continue
		}
		for _, parent := range term.variables() {
			for _, plate := range parent.plates {
				if plate.carrier(v.plates) < 0 {
					return fmt.Errorf("it is around a term of %q, which is on plate %q, and no plate of it leads there", parent.name, plate.name)
				}
			}
		}
	}
	return nil
}

// setAround evaluates mean [plates..., draws, U] and scale [plates..., draws, U, U] of Around, or
// its diagonal.
func (in *given) setAround(r *replica, l *latent) {
	rank := len(l.plates) + 1
	ending := func(term Term, tail ...int) *Node {
		x := term.node(r, l.plates)
		return Reshape(x, append(append([]int{}, x.Shape().Dimensions[:rank]...), tail...)...)
	}
	in.aroundMean = ending(l.around[0], l.dim)
	if l.aroundEach {
		in.aroundSD = ending(l.around[1], l.dim)
		return
	}
	in.aroundScale = ending(l.around[1], l.dim, l.dim)
}

// fromAround is u = mean + L x [plates..., draws, U], with the log determinant of its derivative by
// the noise that x comes of, whose own has the logarithms given on its diagonal, [plates...,
// draws].
func (in given) fromAround(x, logSlopes *Node) (u, logDet *Node) {
	if in.aroundSD != nil {
		logSlopes = Add(logSlopes, Log(in.aroundSD))
		return Add(in.aroundMean, Mul(in.aroundSD, x)), sumPresent(logSlopes, in.present)
	}
	rank := in.aroundScale.Rank()
	var diagonal []*Node
	for j := range x.Shape().Dim(-1) {
		row := Squeeze(SliceAxis(in.aroundScale, rank-2, AxisElem(j)), rank-2)
		diagonal = append(diagonal, SliceAxis(row, rank-2, AxisElem(j)))
	}
	logSlopes = Add(logSlopes, Log(Concatenate(diagonal, -1)))
	return Add(in.aroundMean, timesVector(in.aroundScale, x)), sumPresent(logSlopes, in.present)
}
