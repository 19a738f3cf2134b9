//go:build quality

package score

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
)

// The parents of a node separate its levels, in logistic regressions with 18 to 54 coefficients.
// The test replaces evidences by more precise ones, integrals along 4,000 pairs of rays from the
// posterior mode. Edge probabilities change by at most 0.02 plus 4 standard errors plus the stated
// error by weights that draws missed.
func TestQualityOfSeparatedLevels(t *testing.T) {
	const lines, window = 4000, 9.0
	for kind := range 4 {
		p := mixedTable(t, separatedLevels(uint64(kind), kind), ModelOptions{})
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		before, err := NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		draws := sampleOf(t, before, randomOf(uint64(kind)), 2000)
		errors, missed := before.EdgeErrors(draws), before.MissedEdges(draws)
		best := math.Inf(-1)
		for k, f := range scores.Families {
			if f.Node == 0 {
				best = max(best, scores.LogEvidence[k])
			}
		}
		scores.LogEvidence = append([]float64(nil), scores.LogEvidence...)
		form := p.Forms()[0].(*logisticForm)
		for k, f := range scores.Families {
			if f.Node == 0 && scores.LogEvidence[k] > best-window {
				family := form.family(f.Parents)
				center, factor, _ := family.mode()
				scores.LogEvidence[k] = estimateEvidence(randomOf(77), family.rays(center, factor).pair, lines, lines).value
			}
		}
		after, err := NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		want := before.EdgeProbabilities()
		for i, row := range after.EdgeProbabilities() {
			for j, x := range row {
				require.InDelta(t, want[i][j], x, 0.02+4*errors[i][j]+missed[i][j], "kind %d, %d to %d", kind, i, j)
			}
		}
	}
}

// separatedLevels returns a table with a category of ten levels, three numbers and a category of
// three levels. The ten levels are intervals of one number, intervals of a sum of two numbers,
// sectors of the plane of two numbers, or combinations of a group and a sign.
func separatedLevels(seed uint64, kind int) string {
	random := randomOf(seed)
	var text strings.Builder
	text.WriteString("y,a,b,c,g\n")
	for range 60 {
		a, b, c, g := random.NormFloat64(), random.NormFloat64(), random.NormFloat64(), random.IntN(3)
		y := [...]int{int(5 + a*10/4), int(5 + (a+b)*10/6), int((math.Atan2(a, b)/math.Pi + 1) * 5), g*2 + int(dgraph.Indicator(a > 0))}[kind]
		fmt.Fprintf(&text, "y%d,%.4f,%.4f,%.4f,g%d\n", min(max(y, 0), 9), a, b, c, g)
	}
	return text.String()
}
