package sem

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Layout says where the parameters of a family are among the D coordinates of θ, which all families
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
type Layout struct {
	Nodes     int
	Mechanism Mechanism
	Hidden    int
	Bias      bool
	Sigma     float64 // known noise; 0: log σ is a coordinate
}

// Dim is D.
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

// Weights counts the coordinates of the mechanism, which come first.
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

// Offsets of the parts of an MLP.
func (l Layout) B1() int { return l.Nodes * l.Hidden }

func (l Layout) W2() int {
	if l.Bias {
		return (l.Nodes + 1) * l.Hidden
	}
	return l.Nodes * l.Hidden
}

func (l Layout) B2() int { return l.W2() + l.Hidden }

// Mask marks the coordinates that a family uses.
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

// Mean is the value that a mechanism gives a node for one row of the data. Coordinates that are not
// in use must be zero.
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

// LogSigma is that of a draw.
func (l Layout) LogSigma(theta []float64) float64 {
	if l.Sigma > 0 {
		return math.Log(l.Sigma)
	}
	return theta[l.Weights()]
}
