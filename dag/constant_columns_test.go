package dag

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// A table with constant columns has the same answer as the table without these columns.
func TestConstantColumnsAreLeftOut(t *testing.T) {
	read := func(content string, options tables.DataOptions) *tables.Data {
		parsed, err := table.Parse("x.csv", []byte(content))
		require.NoError(t, err)
		d, err := tables.NewData(parsed, options)
		require.NoError(t, err)
		return d
	}
	for name, c := range map[string]struct {
		content, without string
		options          tables.DataOptions
		notes            []string
	}{
		"numbers": {
			"a,one,b\n1,7,2\n2,7,4.5\n3,7,5\n5,7,7\n", "a,b\n1,2\n2,4.5\n3,5\n5,7\n", tables.DataOptions{Continuous: []string{"a", "one"}},
			[]string{`column "one" is constant (7): nothing can depend on it, so it is left out`},
		},
		"categories": {
			"a,never,b\nu,no,x\nv,no,y\nu,no,x\nu,no,y\n", "a,b\nu,x\nv,y\nu,x\nu,y\n", tables.DataOptions{},
			[]string{`column "never" is constant (no): nothing can depend on it, so it is left out`},
		},
		"both": {
			"a,never,b,zero\nu,no,1.5,0\nv,no,2,0\nu,no,3,0\nu,no,1,0\n", "a,b\nu,1.5\nv,2\nu,3\nu,1\n", tables.DataOptions{Discrete: []string{"a", "zero"}},
			[]string{`column "never" is constant (no): nothing can depend on it, so it is left out`, `column "zero" is constant (0): nothing can depend on it, so it is left out`},
		},
		"constant where nothing is missing": {
			"a,c,b\n1,7,2\n2,7,4.5\n3,7,5\n5,7,7\n,8,7\n", "a,b\n1,2\n2,4.5\n3,5\n5,7\n", tables.DataOptions{DropMissing: true},
			[]string{`column "c" is constant (7): nothing can depend on it, so it is left out`},
		},
		"its missing cells drop no row": {
			"a,c,b\n1,7,2\n2,,4.5\n3,7,5\n5,7,7\n", "a,b\n1,2\n2,4.5\n3,5\n5,7\n", tables.DataOptions{DropMissing: true},
			[]string{`column "c" is constant (7): nothing can depend on it, so it is left out`},
		},
		"set from outside": {
			"a,c,b,set\n1,7,2,\n2,7,4.5,c\n3,7,5,\n5,7,7,b;c\n6,7,9,\n", "a,b,set\n1,2,\n2,4.5,\n3,5,\n5,7,b\n6,9,\n", tables.DataOptions{Intervened: "set"},
			[]string{`column "c" is constant (7): nothing can depend on it, so it is left out`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := read(c.content, c.options)
			require.Equal(t, c.notes, d.Notes())
			without := c.options
			without.Discrete, without.Continuous = nil, nil
			answers := make([]*Result, 2)
			for k, data := range []*tables.Data{d, read(c.without, without)} {
				data.Unclear = nil
				p, err := score.NewProblem(data, score.ModelOptions{}, tables.Constraints{})
				require.NoError(t, err)
				answers[k], err = RunExact(context.Background(), p, ExactConfig{Seed: 1})
				require.NoError(t, err)
			}
			require.Equal(t, c.notes, answers[0].Notes)
			require.Equal(t, answers[1].Edges, answers[0].Edges)
			require.Equal(t, answers[1].LogEvidence, answers[0].LogEvidence)
		})
	}
	d := read("a,one,b\n1,7,2\n2,7,4.5\n3,7,5\n5,7,7\n", tables.DataOptions{})
	_, err := d.NewStructure(tables.Constraints{Forbid: []string{"one->b"}})
	require.ErrorContains(t, err, `no node "one": column "one" is constant (7) and was left out`)
}
