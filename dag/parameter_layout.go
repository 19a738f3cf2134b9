package dag

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// layout says where the parameters of a family are among the D coordinates of θ, which all families
// share:
//
//	Linear   w_i [N]                                          log σ
//	MLP      W1 [N, H] by parent, b1 [H], W2 [H], b2          log σ
//
// Mechanisms by BGe have the coordinates of Linear. Categories and mixed tables have none: their
// parameters are integrated out.
//
// Coordinates of nodes that are no parents are not in use, and those of a node without parents all
// but log σ (F.1). Without bias b1 and b2 are not there, with known noise log σ is not.
type layout struct {
	nodes     int
	mechanism Mechanism
	hidden    int
	bias      bool
	sigma     float64 // known noise; 0: log σ is a coordinate
}

// dim is D.
func (l layout) dim() int {
	if l.mechanism == Categorical {
		return 0
	}
	dim := l.weights()
	if l.sigma == 0 {
		dim++
	}
	return dim
}

// weights counts the coordinates of the mechanism, which come first.
func (l layout) weights() int {
	if l.mechanism == Linear {
		return l.nodes
	}
	dim := (l.nodes + 1) * l.hidden
	if l.bias {
		dim += l.hidden + 1
	}
	return dim
}

// Offsets of the parts of an MLP.
func (l layout) b1() int { return l.nodes * l.hidden }

func (l layout) w2() int {
	if l.bias {
		return (l.nodes + 1) * l.hidden
	}
	return l.nodes * l.hidden
}

func (l layout) b2() int { return l.w2() + l.hidden }

// mask marks the coordinates that a family uses.
func (l layout) mask(f dgraph.Family) []bool {
	mask := make([]bool, l.dim())
	if l.sigma == 0 {
		mask[l.weights()] = true
	}
	if f.Parents.Empty() {
		return mask
	}
	if l.mechanism == Linear {
		for i := range f.Parents.Nodes() {
			mask[i] = true
		}
		return mask
	}
	for i := range f.Parents.Nodes() {
		for h := range l.hidden {
			mask[i*l.hidden+h] = true
		}
	}
	for k := l.b1(); k < l.weights(); k++ {
		mask[k] = true
	}
	return mask
}

// mean is the value that a mechanism gives a node for one row of the data. Coordinates that are not
// in use must be zero.
func (l layout) mean(theta, row []float64) (sum float64) {
	if l.mechanism == Linear {
		for i, x := range row {
			sum += theta[i] * x
		}
		return sum
	}
	for h := range l.hidden {
		var input float64
		for i, x := range row {
			input += theta[i*l.hidden+h] * x
		}
		if l.bias {
			input += theta[l.b1()+h]
		}
		sum += theta[l.w2()+h] * math.Max(input, 0)
	}
	if l.bias {
		sum += theta[l.b2()]
	}
	return sum
}

// logSigma is that of a draw.
func (l layout) logSigma(theta []float64) float64 {
	if l.sigma > 0 {
		return math.Log(l.sigma)
	}
	return theta[l.weights()]
}
