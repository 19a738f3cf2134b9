package effects

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/modelcheck"
)

// TestCheckModel checks that data of linear mechanisms pass the model check. In data with an
// outlier and a node that is the square of another node, the check names the node and the line of
// the outlier, and the column along which there is curvature.
func TestCheckModel(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	rows := make([][]float64, 200)
	for i := range rows {
		a := 1000 + random.NormFloat64()
		rows[i] = []float64{a, 2*(a-1000) + random.NormFloat64(), random.NormFloat64()}
	}
	check := func() *modelcheck.Report {
		d, err := tables.NewData(dagtest.Table(t, []string{"a", "b", "c"}, rows), tables.DataOptions{})
		require.NoError(t, err)
		p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		report, err := CheckModel(p, t.Context(), posterior.Mixture(), dgraph.NewGraph(3), p.ExactParameters(p.Families)(random), random)
		require.NoError(t, err)
		return report
	}
	report := check()
	require.Equal(t, modelcheck.Good, report.Verdict, "%v", report)

	for i := range rows {
		rows[i][2] = (rows[i][0]-1000)*(rows[i][0]-1000) + 0.3*random.NormFloat64()
	}
	rows[7][1] = -999
	report = check()
	require.Equal(t, modelcheck.Poor, report.Verdict)
	for _, want := range [][2]string{{"suspicious value: -999 occurs once in b", " 9"}, {"curvature: ", "column a"}} {
		require.True(t, slices.ContainsFunc(report.Findings, func(f modelcheck.Finding) bool {
			return strings.HasPrefix(f.What, want[0]) && strings.HasSuffix(f.Where, want[1])
		}), "%v: %v", want, report)
	}
}
