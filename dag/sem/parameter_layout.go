package sem

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Layout maps the parameters of a family to the D coordinates of θ, which all families share:
//
//	Linear   w_i [N]                                          log σ
//	MLP      W1 [N, H] by parent, b1 [H], W2 [H], b2          log σ
//
// Mechanisms by BGe have the coordinates of Linear. Categories and mixed tables have none: their
// parameters are integrated out.
//
// A family does not use the coordinates of other nodes than its parents, and without parents only
// log σ (F.1). There are no b1 and b2 without bias, and no log σ with known noise.
type Layout struct {
	Nodes     int
	Mechanism Mechanism
	Hidden    int
	Bias      bool
	Sigma     float64 // known noise; 0: log σ is a coordinate
}

// Dim returns D.
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

// Weights returns the number of coordinates of the mechanism, which come first.
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

// B1 and the following methods return the offsets of the parts of an MLP.
func (l Layout) B1() int { return l.Nodes * l.Hidden }

func (l Layout) W2() int {
	if l.Bias {
		return (l.Nodes + 1) * l.Hidden
	}
	return l.Nodes * l.Hidden
}

func (l Layout) B2() int { return l.W2() + l.Hidden }

// Mask marks the coordinates used by a family.
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

// Mean returns the mechanism's value of a node for one row. Unused coordinates must be zero.
func (l Layout) Mean(theta, row []float64) (sum float64) {
	if l.Mechanism == Linear {
		for i, x := range row {
			sum += theta[i] * x
		}
		return sum
	}
	for h := range l.Hidden {
		var input float64
		for i, x := range row {
			input += theta[i*l.Hidden+h] * x
		}
		if l.Bias {
			input += theta[l.B1()+h]
		}
		sum += theta[l.W2()+h] * math.Max(input, 0)
	}
	if l.Bias {
		sum += theta[l.B2()]
	}
	return sum
}

// LogSigma returns the log σ of a draw.
func (l Layout) LogSigma(theta []float64) float64 {
	if l.Sigma > 0 {
		return math.Log(l.Sigma)
	}
	return theta[l.Weights()]
}
