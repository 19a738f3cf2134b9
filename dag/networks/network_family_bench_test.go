package networks

import (
	"fmt"
	"testing"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/lab/dagtest"
)

// BenchmarkNetworkSweep measures one MCMC sweep over ten hidden units and the noise of a node with
// four parents.
func BenchmarkNetworkSweep(b *testing.B) {
	for _, rows := range []int{100, 1000, 7500} {
		b.Run(fmt.Sprintf("%d rows", rows), func(b *testing.B) {
			random := dagtest.Random(1)
			n := &networkFamily{hidden: 10, bias: true, priorSD: 1, target: make([]float32, rows), inputs: make([][]float32, 5)}
			for k := range n.inputs {
				n.inputs[k] = make([]float32, rows)
				for i := range n.inputs[k] {
					if n.inputs[k][i] = 1; k < 4 {
						n.inputs[k][i] = float32(random.NormFloat64())
					}
				}
			}
			for i := range n.target {
				n.target[i] = max(n.inputs[0][i], 0) - max(n.inputs[1][i]+n.inputs[2][i], 0) + float32(0.5*random.NormFloat64())
				n.squares += dgraph.Square(float64(n.target[i]))
			}
			m := n.newMover(random)
			s := m.emptyState()
			m.drawPrior(s)
			for range 100 {
				m.sweep(s, 1)
			}
			for b.Loop() {
				m.sweep(s, 1)
			}
		})
	}
}
