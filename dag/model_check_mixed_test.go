package dag

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modelcheck"
)

// The model check finds no fault in tables simulated from mixed mechanisms. It finds a fault if a
// number, or the probability of a category, depends on a number by a curve instead of a line.
func TestModelCheckOfMixedTables(t *testing.T) {
	testkit.Slow(t)
	s, err := sem.Simulate(sem.Simulation{Nodes: 5, Rows: 300, EdgeProbability: 0.4, Mechanism: sem.Mixed, Seed: 4})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, s.WriteCSV(&text))
	r, err := RunExact(t.Context(), dagtest.Mixed(t, text.String(), score.ModelOptions{}), ExactConfig{})
	require.NoError(t, err)
	require.Equal(t, modelcheck.Good, r.ModelCheck.Verdict, r.ModelCheck.String())

	random := dagtest.Random(11)
	rows := "x,y,k\n"
	for range 400 {
		x := random.NormFloat64()
		rows += fmt.Sprintf("%.4f,%.4f,%c\n", x, x+x*x+random.NormFloat64()/2, 'a'+int(dgraph.Indicator(math.Abs(x)+random.NormFloat64()/4 < 0.7)))
	}
	r, err = RunExact(t.Context(), dagtest.Mixed(t, rows, score.ModelOptions{}), ExactConfig{})
	require.NoError(t, err)
	require.Equal(t, modelcheck.Poor, r.ModelCheck.Verdict)
	require.Contains(t, r.ModelCheck.String(), "along x explains")
	bends := 0.0
	for _, f := range r.ModelCheck.Findings {
		bends += dgraph.Indicator(strings.HasPrefix(f.What, "curvature") && strings.Contains(f.What, "of k=b"))
	}
	require.Positive(t, bends, r.ModelCheck.String())
}
