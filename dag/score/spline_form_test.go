package score

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/logsum"
)

// curvedTable returns a table with five columns: x, y near x², z near a smooth step of y, c with
// four different values, and the name of the node set from outside in each row.
func curvedTable(rows int) string {
	var text strings.Builder
	random := randomOf(8)
	text.WriteString("x,y,z,c,set\n")
	for row := range rows {
		x := random.NormFloat64()
		y := x*x + 0.3*random.NormFloat64()
		fmt.Fprintf(&text, "%.6f,%.6f,%.6f,%.1f,%s\n", x, y, math.Tanh(4*(y-1))+0.3*random.NormFloat64(), float64(row%4)+0.5, []string{"", "", "y", ""}[row%4])
	}
	return text.String()
}

// TestSplineEvidence compares evidences of all nodes and sets of parents with naive values.
func TestSplineEvidence(t *testing.T) {
	p := mixedTable(t, curvedTable(24), ModelOptions{Mechanism: sem.Spline})
	forms := p.Forms()
	for _, f := range p.Families {
		want, _ := naiveEvidence(p, f, 0, false)
		if f.Parents.Len() > 1 {
			other, _ := naiveEvidence(p, f, 0, true)
			want = logsum.Of([]float64{want, other}) - math.Ln2
		}
		require.InDelta(t, want, forms[f.Node].LogEvidence(f.Parents), 1e-6, p.FamilyName(f))
	}
	// nodes that are set by interventions in the same rows share their matrices
	shared := mixedTable(t, strings.ReplaceAll(curvedTable(24), ",y\n", ",\n"), ModelOptions{Mechanism: sem.Spline})
	forms = shared.Forms()
	require.Same(t, forms[0].(*groupsForm).columns, forms[2].(*groupsForm).columns)
	for _, f := range shared.Families {
		require.InDelta(t, newMixedForm(shared, f.Node).LogEvidence(f.Parents), forms[f.Node].LogEvidence(f.Parents), 1e-12, shared.FamilyName(f))
	}
}

// TestSplineErrors checks that settings of other mechanisms, and columns of categories, are
// refused.
func TestSplineErrors(t *testing.T) {
	require.ErrorContains(t, ModelOptions{Mechanism: sem.Spline, Sigma: 1}.Validate(), "want none with spline mechanisms")
	require.ErrorContains(t, ModelOptions{Mechanism: sem.Spline, ImaginarySampleSize: 2}.Validate(), "want none with spline mechanisms")
	d := mixedTable(t, "x,k,y\n1.5,a,2\n2.5,b,4.5\n3.25,b,4\n4.5,a,2\n", ModelOptions{}).Data
	require.ErrorContains(t, ModelOptions{Mechanism: sem.Spline}.checkKind(d), `column "k": got categories, want numbers, because the mechanisms are spline; mechanisms for this table: mixed`)
}
