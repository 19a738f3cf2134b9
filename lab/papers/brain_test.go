package papers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDice checks that the Dice coefficient does not depend on the numbers of networks, and counts
// members with a wrong network in both networks.
func TestDice(t *testing.T) {
	truth := []int{0, 0, 1, 1, 1, 2}
	require.InDelta(t, 1, dice([]int{2, 2, 0, 0, 0, 1}, truth, 3), 1e-12)
	require.InDelta(t, (2/3.+6/7.+1)/3, dice([]int{2, 0, 0, 0, 0, 1}, truth, 3), 1e-12)
	require.InDelta(t, (0+6/9.+0)/3, dice([]int{1, 1, 1, 1, 1, 1}, truth, 3), 1e-12)
}

// TestParcellation checks that most labels by the true parameters of a simulated brain are right,
// and that its centers are near the means of networks.
func TestParcellation(t *testing.T) {
	size := brainSize{Subjects: 20, Sessions: 2, Vertices: 30, Networks: 3, Dim: 8}
	p := newParcellation(size, 4)
	require.Less(t, slices.Max(p.truth.spreads), 2.) // k-means finds no networks that are wider than their distances
	right := 0.0
	for member, label := range p.labels {
		shares := make([]float64, size.Networks)
		p.shares(shares, member, p.logits[member*3:(member+1)*3], p.truth)
		right += shares[label] / float64(len(p.labels))
	}
	require.Greater(t, right, 0.95)
	centers, found := p.centers(1), map[int]bool{}
	for l := range size.Networks {
		for k := range size.Networks {
			squares := 0.0
			for d := range size.Dim {
				difference := centers[l*size.Dim+d] - p.truth.means[k*size.Dim+d]
				squares += difference * difference
			}
			if squares < 1 {
				found[k] = true
			}
		}
	}
	require.Len(t, found, size.Networks)
}
