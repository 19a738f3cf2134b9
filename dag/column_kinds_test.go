package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// A column that may hold numbers or categories makes the answer doubtful until an option states its
// kind, and contradictory or unsuitable options are refused.
func TestColumnKinds(t *testing.T) {
	read := func(text string, options tables.DataOptions) (*tables.Data, error) {
		parsed, err := table.Parse("kinds.csv", []byte(text))
		require.NoError(t, err)
		return tables.NewData(parsed, options)
	}
	const codes = "x,y,z\n0,1.5,3\n1,2.5,1\n2,0.5,2\n0,2.25,0\n1,3.5,2\n"
	d, err := read(codes, tables.DataOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "z"}, d.Unclear)
	require.False(t, d.Discrete())
	p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	result, err := RunExact(t.Context(), p, ExactConfig{Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, "doubtful", result.Certificate.Verdict.String())
	require.Contains(t, result.Certificate.Reasons[0], `"x", "z": whole numbers`)
	d, err = read(codes, tables.DataOptions{Continuous: []string{"x", "z"}})
	require.NoError(t, err)
	require.Empty(t, d.Unclear)
	d, err = read(codes, tables.DataOptions{Discrete: []string{"x"}})
	require.NoError(t, err)
	require.True(t, d.Mixed())
	require.Equal(t, []string{"z"}, d.Unclear)
	_, err = read(codes, tables.DataOptions{Discrete: []string{"x"}, Continuous: []string{"all"}})
	require.ErrorContains(t, err, `"x" is named as discrete and as continuous`)
	_, err = read(codes, tables.DataOptions{Discrete: []string{"w"}})
	require.ErrorContains(t, err, `no node "w"`)
	d, err = read("a,b\nu,1\nv,2\nu,1\n", tables.DataOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, d.Unclear)
	d, err = read("a,b\nu,1\nv,2\nu,1\n", tables.DataOptions{Discrete: []string{"b"}})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"u", "v"}, {"1", "2"}}, d.Levels)
	_, err = score.NewProblem(d, score.ModelOptions{Mechanism: sem.MLP}, tables.Constraints{})
	require.ErrorContains(t, err, `column "a": got categories, want numbers, because the mechanisms are mlp`)
	_, err = read("a,b\nu,1\nv,2\nu,1\n", tables.DataOptions{Discrete: []string{"b"}, Log: true})
	require.ErrorContains(t, err, "there is no logarithm of it")
}
