package hbm

import (
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// Density is the conditional distribution of a variable given its parents, with terms as
// parameters. Where the event of the variable has axes, a parameter is either a number, which holds
// for all components, or has the same event shape.
type Density struct {
	name    string
	support Support
	terms   []Term
	// logProb is the log density of x [plates..., draws, event...], all constants kept. It may
	// leave axes of the event, over which the log density is a sum.
	logProb func(x *Node, parameters []*Node, eventRank int) *Node
	// draw fills x with the value of one member. Each parameter has one number or as many as x, a
	// mixture has more.
	draw func(random *rand.Rand, parameters [][]float64, x []float64)
	// normal, if there is one, gives mean and standard deviation [plates..., draws, event...] of a
	// normal distribution near that of the unconstrained value under the default link. It says
	// where inference starts, and about which scale; nothing depends on how near it is.
	normal func(parameters []*Node) (mean, sd *Node)
}

// CustomDensity describes a density that this package does not have.
type CustomDensity struct {
	Name    string
	Support Support
	// LogProb is the log density of x [plates..., draws, event...], normalised, given the values of
	// the terms. It returns [plates..., draws], or leaves axes of the event to be summed over.
	LogProb func(x *Node, terms []*Node) *Node
	// Draw fills x, the value of one member, given those of the terms there. It is needed only to
	// simulate.
	Draw func(random *rand.Rand, terms [][]float64, x []float64)
}

// Custom is a density given by functions.
func Custom(custom CustomDensity, terms ...Term) Density {
	d := Density{name: custom.Name, support: custom.Support, terms: terms, draw: custom.Draw}
	if custom.LogProb != nil {
		d.logProb = func(x *Node, parameters []*Node, _ int) *Node { return custom.LogProb(x, parameters) }
	}
	return d
}

// elementwise is a density of independent components.
func elementwise(name string, support Support, logProb func(x *Node, p []*Node) *Node, draw func(random *rand.Rand, p []float64) float64, terms ...Term) Density {
	return Density{
		name: name, support: support, terms: terms,
		logProb: func(x *Node, parameters []*Node, _ int) *Node { return logProb(x, alignedTo(x, parameters)) },
		draw: func(random *rand.Rand, parameters [][]float64, x []float64) {
			at := make([]float64, len(parameters))
			for i := range x {
				for j, values := range parameters {
					at[j] = values[i%len(values)]
				}
				x[i] = draw(random, at)
			}
		},
	}
}

// withNormal adds a normal approximation of the unconstrained value.
func (d Density) withNormal(normal func(p []*Node) (mean, sd *Node)) Density {
	d.normal = normal
	return d
}

// alignedTo gives parameters without axes for the event as many axes of size 1 as x has.
func alignedTo(x *Node, parameters []*Node) []*Node {
	aligned := make([]*Node, len(parameters))
	for i, p := range parameters {
		if p.Rank() > x.Rank() {
			panic(fmt.Errorf("hbm: parameter %d of a density has shape %s, more axes than its variable of shape %s", i, p.Shape(), x.Shape()))
		}
		for p.Rank() < x.Rank() {
			p = InsertAxes(p, -1)
		}
		aligned[i] = p
	}
	return aligned
}

// broadcast2 gives two nodes of equal rank the same shape.
func broadcast2(a, b *Node) (x, y *Node) {
	dims := make([]int, a.Rank())
	for i := range dims {
		dims[i] = max(a.Shape().Dim(i), b.Shape().Dim(i))
	}
	return BroadcastToDims(a, dims...), BroadcastToDims(b, dims...)
}

// broadcast3 is broadcast2 for three.
func broadcast3(a, b, c *Node) (x, y, z *Node) {
	a, b = broadcast2(a, b)
	a, c = broadcast2(a, c)
	b, c = broadcast2(b, c)
	return a, b, c
}
