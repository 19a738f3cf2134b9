package likelihood

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		column *table.Column
		kind   Kind
		y      []float64
		levels []string
		err    string
	}{
		"numbers":         {table.Numbers("y", []float64{2.5, -1}), StudentKind, []float64{2.5, -1}, nil, ""},
		"counts":          {table.Numbers("y", []float64{0, 7}), PoissonKind, []float64{0, 7}, nil, ""},
		"zeros and ones":  {table.Numbers("y", []float64{1, 0, 1}), LogisticKind, []float64{1, 0, 1}, nil, ""},
		"ones and twos":   {table.Numbers("y", []float64{2, 1, 2}), LogisticKind, []float64{1, 0, 1}, []string{"1", "2"}, ""},
		"minus and plus":  {table.Numbers("y", []float64{-1, 1}), LogisticKind, []float64{0, 1}, []string{"-1", "1"}, ""},
		"two and ten":     {table.Numbers("y", []float64{10, 2}), LogisticKind, []float64{1, 0}, []string{"2", "10"}, ""},
		"labels":          {table.Texts("y", []string{"well", "ill", "ill"}), LogisticKind, []float64{1, 0, 0}, []string{"ill", "well"}, ""},
		"three numbers":   {table.Numbers("y", []float64{0, 1, 2}), LogisticKind, nil, nil, `t: row 3: target "y": got 2, want 0 or 1 for a logistic likelihood`},
		"three labels":    {table.Texts("y", []string{"a", "b", "c"}), LogisticKind, nil, nil, `target "y": got 3 labels (a, b, c, …), want 0 and 1 or two labels for a logistic likelihood`},
		"text":            {table.Texts("y", []string{"a", "b"}), PoissonKind, nil, nil, `target "y": got text ("a" in row 1), want numbers for a poisson likelihood`},
		"not a count":     {table.Numbers("y", []float64{1, 0.5}), PoissonKind, nil, nil, `row 2: target "y": got 0.5, want a count (0, 1, 2, …) for a poisson likelihood`},
		"constant":        {table.Numbers("y", []float64{3, 3}), GaussianKind, nil, nil, `target "y" is 3 in every row`},
		"constant labels": {table.Texts("y", []string{"a", "a"}), LogisticKind, nil, nil, `target "y" is a in every row`},
	} {
		made, err := table.New("t", c.column)
		require.NoError(t, err)
		y, levels, err := Read(made, "target", c.column, c.kind)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, c.y, y, name)
		assert.Equal(t, c.levels, levels, name)
	}
}
