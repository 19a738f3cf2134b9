package score_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/table"
)

// Soft interventions (rows with another mechanism of a node) are refused for mechanisms without
// closed forms, and if a mechanism has too few rows.
func TestSoftInterventionsAreRefused(t *testing.T) {
	d := softData(t, 60, false, tables.DataOptions{SoftIntervened: "changed"})
	_, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.MLP}, tables.Constraints{})
	require.ErrorContains(t, err, "soft interventions are for mechanisms with closed forms")
	p, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.Linear}, tables.Constraints{})
	require.NoError(t, err)
	require.ErrorContains(t, p.CheckGraphFlow(false), "soft interventions")
	require.ErrorContains(t, p.CheckReversibleJump(), "soft interventions")
	parsed, err := table.Parse("few.csv", []byte("a,b,w\n1.5,2,\n2,1,\n3,7,b\n4,1,\n2.5,3,b\n"))
	require.NoError(t, err)
	_, err = tables.NewData(parsed, tables.DataOptions{SoftIntervened: "w"})
	require.ErrorContains(t, err, `node "b" has another mechanism in 2 rows with "b", want at least 3`)
	_, err = tables.NewData(parsed, tables.DataOptions{SoftIntervened: "w", Exclude: []string{"w"}})
	require.ErrorContains(t, err, `"w" is excluded and also names interventions`)
}

// softData returns a table with the graph v0 → v1 → v2, in which v1 has another mechanism with the
// same parent in some rows. Values are numbers, or categories of two and three levels.
func softData(t *testing.T, rows int, discrete bool, options tables.DataOptions) *tables.Data {
	t.Helper()
	random := dagtest.Random(31)
	var text strings.Builder
	text.WriteString("v0,v1,v2,changed\n")
	for i := range rows {
		changed, slope := "", 0.6
		if i%3 == 0 {
			changed, slope = "v1", -1.2
		}
		a := random.NormFloat64()
		b := slope*a + random.NormFloat64()
		c := 0.8*b + random.NormFloat64()
		if discrete {
			fmt.Fprintf(&text, "l%t,l%d,l%t,%s\n", a > 0, int(math.Max(0, math.Min(2, b+1.5))), c > 0, changed)
		} else {
			fmt.Fprintf(&text, "%g,%g,%g,%s\n", a, b, c, changed)
		}
	}
	parsed, err := table.Parse("soft.csv", []byte(text.String()))
	require.NoError(t, err)
	d, err := tables.NewData(parsed, options)
	require.NoError(t, err)
	return d
}
