package frame

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

func columnNames(columns []Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

const crossed = "y,x,f,g,h\n1,1,a,p,1\n2,3,b,p,2\n4,2,a,q,1\n3,5,c,q,2\n6,4,b,r,1\n5,7,c,r,10\n2,2,a,p,2\n"

func TestFrame(t *testing.T) {
	f := builtOf(t, crossed, Options{Formula: "y ~ x*f + (1 + x | g) + (0 + f | g) + (1 | h)"})
	assert.Equal(t, "(Intercept) x f=b f=c x:f=b x:f=c", columnNames(f.Columns))
	assert.Equal(t, []float64{1, 5, 0, 1, 0, 5}, mat.Row(nil, 3, f.X))
	require.Len(t, f.Groupings, 2)
	g, h := f.Groupings[0], f.Groupings[1]
	assert.Equal(t, "(Intercept) x f=a f=b f=c", columnNames(g.Columns), "a factor without its intercept has all levels")
	assert.Equal(t, []string{"p", "q", "r"}, g.Levels)
	assert.Equal(t, []int{0, 0, 1, 1, 2, 2, 0}, g.Index)
	assert.Equal(t, []int{3, 2, 2}, g.Counts)
	assert.Equal(t, []float64{1, 4, 0, 1, 0}, mat.Row(nil, 4, g.Z))
	assert.True(t, f.Correlated(g, 0, 1))
	assert.False(t, f.Correlated(g, 1, 2), "different parentheses")
	assert.True(t, f.Correlated(g, 2, 4))
	assert.Equal(t, []string{"1", "2", "10"}, h.Levels, "numbers in their order")
	assert.Equal(t, []string{`group "10" of h has one row`}, f.Warnings)

	independent := builtOf(t, crossed, Options{Formula: "y ~ (x || g)"})
	assert.False(t, independent.Correlated(independent.Groupings[0], 0, 1))
	nested := builtOf(t, crossed, Options{Formula: "y ~ (1|g/f)"})
	assert.Equal(t, []string{"g", "g:f"}, []string{nested.Groupings[0].Name, nested.Groupings[1].Name})
	assert.Equal(t, []string{"p:a", "p:b", "q:a", "q:c", "r:b", "r:c"}, nested.Groupings[1].Levels)
	numbers := builtOf(t, crossed, Options{Formula: "log(y) ~ 0 + factor(h) + offset(x) + offset(log(x))"})
	assert.Equal(t, "h=1 h=2 h=10", columnNames(numbers.Columns))
	assert.InDelta(t, 3+1.0986122886681098, numbers.Offset[1], 1e-12)
	assert.InDelta(t, 0.6931471805599453, numbers.Y[1], 1e-12)
}

// The frame of the radon table has 85 counties, and a warning of counties with one row.
func TestFrameOfRadon(t *testing.T) {
	f := builtOfFile(t, "radon.csv", Options{Formula: "log_radon ~ floor + log_uppm + (1 + floor | county)"})
	assert.Equal(t, 919, f.Rows())
	require.Len(t, f.Groupings, 1)
	assert.Len(t, f.Groupings[0].Levels, 85)
	assert.Equal(t, "AITKIN", f.Groupings[0].Levels[0])
	assert.Equal(t, 4, f.Groupings[0].Counts[0])
	assert.Equal(t, []string{"3 of the 85 groups of county have one row"}, f.Warnings)
}

func TestFrameWarnings(t *testing.T) {
	f := builtOf(t, "y,a,b,c\n1,1,2,u\n2,2,4,v\n5,3,6,u\n1,5,10,v\n", Options{Formula: "y ~ a + b"})
	assert.Equal(t, []string{"b is a combination of the columns before it: only the priors tell their coefficients apart"}, f.Warnings)
	apart := "y,g,x\n1,a,0\n2,a,0\n3,b,1\n5,b,2\n4,c,0\n7,c,0\n"
	f = builtOf(t, apart, Options{Formula: "y ~ 1 + (0 + g | g)"})
	assert.Equal(t, []string{"3 of 3 correlations of effects by g have no row to learn from, and keep the prior: no group has both columns (cor(g=a, g=b | g), cor(g=a, g=c | g), cor(g=b, g=c | g))"}, f.Warnings)
	assert.Empty(t, builtOf(t, apart, Options{Formula: "y ~ 1 + (x | g)"}).Warnings, "one group has rows of both")
	dropped := builtOf(t, "y,a\n1,1\nNA,2\n3,3\n1,4\n", Options{Formula: "y ~ a", DropMissing: true})
	assert.Equal(t, 1, dropped.DroppedRows)
	assert.Equal(t, 3, dropped.Rows())
	labels := builtOf(t, "y,a\nno,1\nyes,2\nno,3\n", Options{Formula: "y ~ a", Response: likelihood.LogisticKind})
	assert.Equal(t, []string{"no", "yes"}, labels.Labels)
	assert.Equal(t, []float64{0, 1, 0}, labels.Y)
	several := builtOf(t, "y,g\n1,a\n2,a\n5,b\n1,c\n2,c\n5,d\n", Options{Formula: "y ~ (1|g)"})
	assert.Equal(t, []string{"2 of the 4 groups of g have one row"}, several.Warnings)
	empty := builtOf(t, "y,f,h\n1,a,u\n2,a,u\n5,b,u\n1,b,v\n", Options{Formula: "y ~ f*h"})
	assert.Contains(t, empty.Warnings, "f=b:h=v is a combination of the columns before it: only the priors tell their coefficients apart")
}

func TestFrameBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		opt     Options
		want    string
	}{
		"no formula":        {crossed, Options{}, "no formula was given; the columns are y, x, f, g, h"},
		"no such file":      {crossed, Options{Formula: "y ~ x +"}, "want a term"},
		"unknown column":    {"weight,height\n1,2\n3,4\n5,7\n", Options{Formula: "weight ~ hieght"}, `formula, character 10: data.csv: no column "hieght"; the nearest are "height", "weight"`},
		"unknown response":  {crossed, Options{Formula: "z ~ x"}, `formula, character 1: data.csv: no column "z"`},
		"unknown group":     {crossed, Options{Formula: "y ~ (1 | k)"}, `formula, character 10: data.csv: no column "k"`},
		"unknown in slope":  {crossed, Options{Formula: "y ~ (xx | g)"}, `character 6: data.csv: no column "xx"; the nearest is "x"`},
		"response as term":  {crossed, Options{Formula: "y ~ x + y"}, `character 9: "y" is the response`},
		"one group":         {"y,g\n1,a\n2,a\n4,a\n", Options{Formula: "y ~ (1|g)"}, `all rows are in one group of g ("a")`},
		"rows as groups":    {"y,g\n1,a\n2,b\n4,c\n", Options{Formula: "y ~ (1|g)"}, "each of the 3 rows is a group of its own by g"},
		"not a count":       {"y,g\n1,a\n2.5,b\n4,a\n", Options{Formula: "y ~ (1|g)", Response: likelihood.PoissonKind}, `line 3: response "y": got 2.5, want a count (0, 1, 2, …) for a poisson likelihood`},
		"not 0 or 1":        {crossed, Options{Formula: "y ~ x", Response: likelihood.LogisticKind}, `line 3: response "y": got 2, want 0 or 1 for a logistic likelihood`},
		"three labels":      {crossed, Options{Formula: "f ~ x", Response: likelihood.LogisticKind}, "got 3 labels (a, b, c, …), want 0 and 1 or two labels"},
		"text response":     {crossed, Options{Formula: "f ~ x"}, `response "f": got text ("a" in line 2), want numbers for a gaussian likelihood`},
		"constant response": {"y,a\n1,1\n1,2\n", Options{Formula: "y ~ a"}, `response "y" is 1 in every row`},
		"constant column":   {"y,a\n1,1\n2,1\n", Options{Formula: "y ~ a"}, "a is constant (1 in every row)"},
		"constant slope":    {"y,a,g\n1,1,u\n2,1,u\n2,1,v\n3,1,v\n", Options{Formula: "y ~ (a|g)"}, "varying by g: a is constant"},
		"constant factor":   {"y,f\n1,u\n2,u\n", Options{Formula: "y ~ f"}, `column "f" is u in every row`},
		"row names":         {"y,f\n1,u\n2,v\n3,w\n", Options{Formula: "y ~ f"}, "all 3 rows hold different labels"},
		"log of zero":       {"y,a\n1,1\n2,0\n", Options{Formula: "y ~ log(a)"}, "line 3: log(a): got 0, want a positive number"},
		"sqrt of negative":  {"y,a\n1,1\n2,-4\n", Options{Formula: "y ~ sqrt(a)"}, "line 3: sqrt(a): got -4, want a number from 0"},
		"text offset":       {crossed, Options{Formula: "y ~ x + offset(f)"}, `column "f": got text`},
		"text in log":       {crossed, Options{Formula: "y ~ log(f)"}, `column "f": got text`},
		"missing":           {"y,a,g\n1,NA,u\n2,2,NA\n1,2,u\n3,NA,v\n", Options{Formula: "y ~ a + (1|g)"}, `missing values in 2 of 3 used columns (of 4 rows): "a" 2, "g" 1`},
		"one row left":      {"y,a\n1,2\nNA,3\n", Options{Formula: "y ~ a", DropMissing: true}, "got 1 row, want at least two"},
		"bad se":            {"y,a,s\n1,2,0\n3,3,1\n", Options{Formula: "y ~ a", SE: "s"}, `line 2: standard error "s": got 0, want a positive number`},
		"unknown se":        {"y,a,se\n1,2,0\n3,3,1\n", Options{Formula: "y ~ a", SE: "sse"}, `standard errors: data.csv: no column "sse"; the nearest is "se"`},
		"se of counts":      {crossed, Options{Formula: "y ~ x", SE: "x", Response: likelihood.PoissonKind}, "known standard errors are for the gaussian likelihood"},
		"bad cell":          {"a,y\n1,1\nx,2\n", Options{Formula: "y ~ a"}, `line 3, column "a"`},
		"many effects":      {manyEffects(), Options{Formula: "y ~ (x1+x2+x3+x4+x5+x6+x7+x8|g)"}, "9 effects vary by g; at most 8 can"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := table.Parse("data.csv", []byte(test.content))
			require.NoError(t, err)
			_, err = New(parsed, test.opt)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func manyEffects() string {
	text := "y,g,x1,x2,x3,x4,x5,x6,x7,x8\n"
	for i := range 12 {
		text += fmt.Sprintf("%d,%d", i, i%2)
		for j := range 8 {
			text += fmt.Sprintf(",%d", (i*(j+3)+j*j)%11)
		}
		text += "\n"
	}
	return text
}

func TestResponseKind(t *testing.T) {
	for k := likelihood.GaussianKind; k <= likelihood.PoissonKind; k++ {
		text, err := k.MarshalText()
		require.NoError(t, err)
		var back likelihood.Kind
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, k, back)
	}
	_, err := ParseResponseKind("normal")
	require.ErrorContains(t, err, "want gaussian, student, logistic, poisson, negbinomial")
	assert.Equal(t, "likelihood.Kind(99)", likelihood.Kind(99).String())
	assert.Equal(t, "Transform(99)", formula.Transform(99).String())
}

// builtOf returns the frame of a table given as text, and builtOfFile the frame of a table in
// testdata.
func builtOf(t *testing.T, content string, opt Options) *Frame {
	t.Helper()
	f, err := New(parsedOf(t, content), opt)
	require.NoError(t, err)
	return f
}

func parsedOf(t *testing.T, content string) *table.Table {
	t.Helper()
	parsed, err := table.Parse("data.csv", []byte(content))
	require.NoError(t, err)
	return parsed
}

func builtOfFile(t testing.TB, name string, opt Options) *Frame {
	t.Helper()
	parsed, err := table.ReadFile(filepath.Join("..", "..", "testdata", name))
	require.NoError(t, err)
	f, err := New(parsed, opt)
	require.NoError(t, err)
	return f
}
