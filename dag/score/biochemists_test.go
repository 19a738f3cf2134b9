package score

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// biochemists returns a problem with a table in which nobody with children is single: children
// predict one level of mar with certainty.
func biochemists(t *testing.T) *Problem {
	t.Helper()
	text, err := os.ReadFile("../../testdata/biochemists.csv")
	require.NoError(t, err)
	parsed, err := table.Parse("biochemists.csv", text)
	require.NoError(t, err)
	d, err := tables.NewData(parsed, tables.DataOptions{Discrete: []string{"fem", "mar"}, Continuous: []string{"kid5"}, Exclude: []string{"art", "phd", "ment"}})
	require.NoError(t, err)
	p, err := NewProblem(d, ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	return p
}
