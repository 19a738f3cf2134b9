package score

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// BenchmarkLinearScore measures the log evidence of a node given its parents with unknown noise.
func BenchmarkLinearScore(b *testing.B) {
	for _, parents := range []int{0, 1, 3, 6, 12} {
		b.Run(fmt.Sprintf("%d parents", parents), func(b *testing.B) {
			random := randomOf(1)
			d := &tables.Data{Names: make([]string, 13), X: mat.NewDense(100, 13, nil)}
			for row := range 100 {
				for i := 12; i >= 0; i-- {
					x := random.NormFloat64()
					for k := i + 1; k < 13; k++ {
						x += 0.4 * d.X.At(row, k)
					}
					d.X.Set(row, i, x)
				}
			}
			form, set := NewLinearForm(d, 0, sem.Layout{Nodes: 13, Mechanism: sem.Linear}, 1), dgraph.Set{}
			for i := range parents {
				set = set.With(i + 1)
			}
			for b.Loop() {
				form.LogEvidence(set)
			}
		})
	}
}
