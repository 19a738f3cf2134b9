package networks

import (
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
)

// networkFamily is the posterior of the first layer of the network of a family, a node j with a set
// of parents, and of its noise σ. W1 holds the weights of the first layer, b1 its biases, and σ0 is
// their prior standard deviation. Given W1, b1 and σ, the node is a linear function of the outputs
// Φ [n,H'] of the hidden units, with normal weights that are integrated out,
//
//	p(x_j | W1, b1, σ) = N(x_j; 0, σ² I + σ0² ΦΦᵀ),
//
// which depends on the data through ΦᵀΦ and Φᵀx_j. With biases the inputs and Φ have a column of
// ones each, so that H' = H + 1 for H hidden units.
type networkFamily struct {
	inputs  [][]float32 // values of the k parents in the n rows without an intervention on the node [k][n]
	target  []float32   // x_j [n]
	squares float64     // |x_j|²
	hidden  int
	bias    bool
	priorSD float64
	sigma   float64 // noise scale if known; 0: log σ ~ N(logSD, 2²)
	logSD   float64
}

func newNetworkFamily(p *score.Problem, f dgraph.Family) *networkFamily {
	n := &networkFamily{hidden: p.Model.Hidden, bias: !p.Model.NoBias, priorSD: p.Model.PriorSD, sigma: p.Model.Sigma}
	buffer := make([]float64, p.Data.Nodes())
	column := func(j int) []float32 {
		return apply.To(p.Data.CountedRows(f.Node), func(row int) float32 { return float32(p.Data.RowFor(f.Node, row, buffer)[j]) })
	}
	n.inputs, n.target = apply.To(f.Parents.List(), column), column(f.Node)
	for _, x := range n.target {
		n.squares += dgraph.Square(float64(x))
	}
	n.logSD = p.Data.LogSD(f.Node)
	if n.bias {
		n.inputs = append(n.inputs, slices.Repeat([]float32{1}, len(n.target)))
	}
	return n
}

// units returns H', the number of output weights.
func (n *networkFamily) units() int {
	if n.bias {
		return n.hidden + 1
	}
	return n.hidden
}

// networkState is a first layer with derived quantities, in the symbols of networkFamily.
type networkState struct {
	weights  [][]float64 // W1, and b1 at the end of each row [H][k]
	before   []float32   // inputs of the hidden units [H·n]
	outputs  []float32   // Φᵀ [H'·n]
	gram     []float64   // ΦᵀΦ [H'·H']
	pull     []float64   // Φᵀx_j [H']
	logSigma float64
	logLik   float64
}

// networkPoint holds the weights and the noise of a networkState, and its likelihood.
type networkPoint struct {
	weights          []float64 // weights of all units, one unit after the other [H·k]
	logSigma, logLik float64
}

func (p *networkPoint) record(s *networkState) {
	p.weights = p.weights[:0]
	for _, unitWeights := range s.weights {
		p.weights = append(p.weights, unitWeights...)
	}
	p.logSigma, p.logLik = s.logSigma, s.logLik
}

// restore sets the weights and the noise of a state. The caller must then compute the derived
// quantities of the state.
func (p *networkPoint) restore(s *networkState) {
	at := 0
	for _, unitWeights := range s.weights {
		at += copy(unitWeights, p.weights[at:])
	}
	s.logSigma = p.logSigma
}
