package hbm

import (
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// Mixture draws one of the components with the given weights, a vector of shares, and the value
// from it: all components of the event from the same. Which it was is summed out.
func Mixture(weights Term, components ...Density) Density {
	if len(components) == 0 {
		panic(fmt.Errorf("hbm.Mixture: there are no components"))
	}
	mixture := Density{name: "mixture", support: components[0].support, terms: []Term{weights}}
	ends := make([]int, len(components)) // of the terms of each component
	for i, component := range components {
		if component.support != mixture.support {
			panic(fmt.Errorf("hbm.Mixture: component 0 takes %s and component %d %s", mixture.support, i, component.support))
		}
		mixture.terms = append(mixture.terms, component.terms...)
		ends[i] = len(mixture.terms)
	}
	termsOf := func(i int) (from, to int) {
		if i == 0 {
			return 1, ends[0]
		}
		return ends[i-1], ends[i]
	}
	mixture.logProb = func(x *Node, parameters []*Node, eventRank int) *Node {
		rank := x.Rank() - eventRank
		weight := parameters[0]
		if weight.Rank() != rank+1 || weight.Shape().Dim(rank) != len(components) {
			panic(fmt.Errorf("hbm.Mixture: got weights of shape %s, want %d axes, the last of size %d", weight.Shape(), rank+1, len(components)))
		}
		var joint *Node // [plates..., draws, components]
		for i, component := range components {
			from, to := termsOf(i)
			logProb := InsertAxes(sumTrailing(component.logProb(x, parameters[from:to], eventRank), rank), -1)
			if joint == nil {
				joint = logProb
				continue
			}
			// Components may vary along different axes.
			dims := broadcastDims(joint, logProb, rank)
			joint = Concatenate([]*Node{BroadcastToDims(joint, append(dims, i)...), BroadcastToDims(logProb, append(dims, 1)...)}, rank)
		}
		return logSumExp(Add(Log(weight), joint))
	}
	mixture.draw = func(random *rand.Rand, parameters [][]float64, x []float64) {
		left, chosen := random.Float64(), 0
		for ; chosen < len(components)-1; chosen++ {
			if left -= parameters[0][chosen]; left < 0 {
				break
			}
		}
		from, to := termsOf(chosen)
		components[chosen].draw(random, parameters[from:to], x)
	}
	return mixture
}

// broadcastDims are the dimensions of the first n axes of two nodes after broadcasting.
func broadcastDims(a, b *Node, n int) []int {
	dims := make([]int, n, n+1)
	for i := range dims {
		dims[i] = max(a.Shape().Dim(i), b.Shape().Dim(i))
	}
	return dims
}
