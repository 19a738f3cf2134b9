package sem

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Layout maps the parameters of a family (a node with a set of parents) to the D coordinates of θ,
// which are the same for all families:
//
//	Linear   w_i [N]                                          log σ
//	MLP      W1 [N, H] by parent, b1 [H], W2 [H], b2          log σ
//
// BGe has the coordinates of Linear. Categories and mixed tables have no coordinates, because their
// parameters are integrated out.
//
// A family does not use the coordinates of nodes that are not its parents, and without parents it
// uses only log σ. There are no b1 and b2 without bias, and no log σ if the noise is known.
type Layout struct {
	// Nodes is the number of nodes N, Hidden the number of hidden units H, and Bias whether there
	// are biases b1 and b2.
	Nodes     int
	Mechanism Mechanism
	Hidden    int
	Bias      bool
	Sigma     float64 // noise scale if known; if 0, log σ is a coordinate
}

// Dim returns the number of coordinates D.
func (l Layout) Dim() int {
	if l.Mechanism == Categorical {
		return 0
	}
	dim := l.Weights()
	if l.Sigma == 0 {
		dim++
	}
	return dim
}

// Weights returns the number of coordinates except log σ, which is the last coordinate.
func (l Layout) Weights() int {
	if l.Mechanism == Linear {
		return l.Nodes
	}
	dim := (l.Nodes + 1) * l.Hidden
	if l.Bias {
		dim += l.Hidden + 1
	}
	return dim
}

// B1, W2 and B2 return the index of the first coordinate of the parts b1, W2 and b2 of an MLP.
func (l Layout) B1() int { return l.Nodes * l.Hidden }

func (l Layout) W2() int {
	if l.Bias {
		return (l.Nodes + 1) * l.Hidden
	}
	return l.Nodes * l.Hidden
}

func (l Layout) B2() int { return l.W2() + l.Hidden }

// Mask marks the coordinates of θ that a family (a node with a set of parents) uses.
func (l Layout) Mask(f dgraph.Family) []bool {
	mask := make([]bool, l.Dim())
	if l.Sigma == 0 {
		mask[l.Weights()] = true
	}
	if f.Parents.Empty() {
		return mask
	}
	if l.Mechanism == Linear {
		for i := range f.Parents.Nodes() {
			mask[i] = true
		}
		return mask
	}
	for i := range f.Parents.Nodes() {
		for h := range l.Hidden {
			mask[i*l.Hidden+h] = true
		}
	}
	for k := l.B1(); k < l.Weights(); k++ {
		mask[k] = true
	}
	return mask
}

// Mean returns the mean of a node given the values of all nodes in a row. Coordinates of theta that
// the node does not use must be zero.
func (l Layout) Mean(theta, row []float64) (sum float64) {
	if l.Mechanism == Linear {
		for i, x := range row {
			sum += theta[i] * x
		}
		return sum
	}
	for h := range l.Hidden {
		sum += theta[l.W2()+h] * math.Max(l.Input(theta, row, h), 0)
	}
	if l.Bias {
		sum += theta[l.B2()]
	}
	return sum
}

// Input returns the input of a hidden unit of a network given the values of all nodes in a row.
func (l Layout) Input(theta, row []float64, unit int) (input float64) {
	for i, x := range row {
		input += theta[i*l.Hidden+unit] * x
	}
	if l.Bias {
		input += theta[l.B1()+unit]
	}
	return input
}

// LogSigma returns log σ, the log noise scale, given the parameters.
func (l Layout) LogSigma(theta []float64) float64 {
	if l.Sigma > 0 {
		return math.Log(l.Sigma)
	}
	return theta[l.Weights()]
}
