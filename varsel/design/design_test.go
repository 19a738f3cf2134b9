package design

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

func parseTable(t require.TestingT, content string) *table.Table {
	data, err := table.Parse("data.csv", []byte(content))
	require.NoError(t, err)
	return data
}

func readTable(t testing.TB, name string) *table.Table {
	t.Helper()
	data, err := table.ReadFile("../../testdata/" + name)
	require.NoError(t, err)
	return data
}

func ExampleNew() {
	t, err := table.Parse("plants.csv", []byte("yield,soil,rain\n3,clay,1\n4,sand,2\n6,clay,4\n5,loam,3\n"))
	if err != nil {
		panic(err)
	}
	d, err := New(t, Options{Target: "yield"})
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Names)
	fmt.Println(d.PredictorNames(), d.Groups(), d.Always)
	// Output:
	// [(Intercept) soil=loam soil=sand rain]
	// [soil rain] [[1 2] [3]] [0]
}

// TestDesignLeastSquares requires that least squares on the working scale, mapped back to the scale
// of the table, gives published fits.
func TestDesignLeastSquares(t *testing.T) {
	for name, test := range map[string]struct {
		target string
		want   []float64
		tol    float64
	}{
		"diabetes.csv": {"y", []float64{152.133, -10.01, -239.82, 519.84, 324.39, -792.18, 476.75, 101.04, 177.06, 751.28, 67.63}, 0.006},
		"hald.csv":     {"y", []float64{62.405, 1.5511, 0.5102, 0.1019, -0.1441}, 6e-4},
	} {
		for _, raw := range []bool{false, true} {
			d, err := New(readTable(t, name), Options{Target: test.target, NoStandardize: raw})
			require.NoError(t, err)
			var theta mat.VecDense
			require.NoError(t, theta.SolveVec(d.X, mat.NewVecDense(d.Rows(), d.Y)))
			assert.InDeltaSlice(t, test.want, d.Scaling.ToOriginal(nil, theta.RawVector().Data), test.tol, "%s raw=%v", name, raw)
		}
	}
}

func TestDesignStandardises(t *testing.T) {
	d, err := New(readTable(t, "biochemists.csv"), Options{Target: "art", Likelihood: likelihood.PoissonKind})
	require.NoError(t, err)
	assert.Equal(t, []string{"(Intercept)", "fem=Women", "mar=Single", "kid5", "phd", "ment"}, d.Names)
	for j := range d.Dim() {
		column := mat.Col(nil, j, d.X)
		mean, sd := centreAndSpread(column, true)
		if j == 0 {
			assert.Equal(t, 1.0, mean)
			continue
		}
		assert.InDelta(t, 0, mean, 1e-13)
		assert.InDelta(t, 1, sd, 1e-13)
	}
	assert.Equal(t, 1.0, d.Scaling.YSD, "counts are not scaled")
	assert.Zero(t, d.LogJacobian())

	d, err = New(readTable(t, "diabetes.csv"), Options{Target: "y"})
	require.NoError(t, err)
	mean, sd := centreAndSpread(d.Y, true)
	assert.InDelta(t, 0, mean, 1e-14)
	assert.InDelta(t, 1, sd, 1e-14)
	assert.InDelta(t, -442*math.Log(77.09300453299109), d.LogJacobian(), 1e-9)
}

// TestScalingKeepsFit requires for all options that the fitted values on the table's scale are the
// fitted values on the working scale, shifted and scaled like the response.
func TestScalingKeepsFit(t *testing.T) {
	const content = "ones,a,b,g,o,y\n2,1,10,u,.3,3\n2,2,14,v,.2,5\n2,4,13,w,.1,4\n2,8,11,u,0,9\n2,5,10,w,.7,1\n"
	data := parseTable(t, content)
	column := func(name string) []float64 {
		if label, ok := strings.CutPrefix(name, "g="); ok {
			c, err := data.Lookup("g")
			require.NoError(t, err)
			out := make([]float64, data.Rows())
			for i := range out {
				if c.Text(i) == label {
					out[i] = 1
				}
			}
			return out
		}
		c, err := data.Lookup(name)
		require.NoError(t, err)
		return c.Values
	}
	rapid.Check(t, func(r *rapid.T) {
		opt := Options{
			Target: "y", NoStandardize: rapid.Bool().Draw(r, "raw"), NoIntercept: rapid.Bool().Draw(r, "no intercept"),
			Likelihood: rapid.SampledFrom([]likelihood.Kind{likelihood.StudentKind, likelihood.PoissonKind}).Draw(r, "likelihood"),
			Offset:     rapid.SampledFrom([]string{"", "o"}).Draw(r, "offset"),
		}
		if opt.Offset == "" {
			opt.Exclude = []string{"o"}
		}
		if opt.NoIntercept && rapid.Bool().Draw(r, "own ones") {
			opt.Always = []string{"ones"}
		} else {
			opt.Exclude = append(opt.Exclude, "ones")
		}
		d, err := New(data, opt)
		require.NoError(r, err)
		theta := make([]float64, d.Dim())
		for j := range theta {
			theta[j] = rapid.Float64Range(-3, 3).Draw(r, "theta")
		}
		beta := d.Scaling.ToOriginal(nil, theta)
		for i := range d.Rows() {
			var original float64
			for j, name := range d.Names {
				if name == InterceptName {
					original += beta[j]
				} else {
					original += beta[j] * column(name)[i]
				}
			}
			working := mat.Dot(d.X.RowView(i), mat.NewVecDense(d.Dim(), theta))
			assert.InDelta(r, original, d.Scaling.YMean+d.Scaling.YSD*working, 1e-12)
			y := column("y")[i]
			if opt.Offset != "" && opt.Likelihood.Continuous() {
				y -= column("o")[i]
			}
			assert.InDelta(r, y, d.Scaling.YMean+d.Scaling.YSD*d.Y[i], 1e-12)
		}
		if d.Scaling.Level >= 0 {
			w, c := d.Scaling.LevelWeights()
			for j := range w {
				c += w[j] * theta[j]
			}
			assert.InDelta(r, beta[d.Scaling.Level], c, 1e-12)
		}
		assert.Equal(r, opt.Offset != "" && !opt.Likelihood.Continuous(), d.Offset != nil)
	})
}

func TestDesignLayout(t *testing.T) {
	data := parseTable(t, "a,y,b,c,k,z,e\n1,0,2,5,1,9,1\n2,1,1,7,2,9,2\n4,1,5,1,3,8,2\n3,0,6,2,1,7,4\n5,0,6,2,2,7,5\n")
	d, err := New(data, Options{
		Target: "y", Likelihood: likelihood.LogisticKind, Always: []string{"c"}, Exclude: []string{"z"},
		Groups: []PredictorGroup{{"pair", []string{"e", "b"}}}, Factors: []string{"k"},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"(Intercept)", "c", "a", "e", "b", "k=2", "k=3"}, d.Names)
	assert.Equal(t, []int{0, 1}, d.Always)
	assert.Equal(t, []Predictor{{Name: "a", Coordinates: []int{2}}, {Name: "pair", Coordinates: []int{3, 4}}, {Name: "k", Coordinates: []int{5, 6}}}, d.Predictors)
	assert.Nil(t, d.Levels)

	factorTarget := parseTable(t, "a,y\n1,no\n2,yes\n4,no\n")
	d, err = New(factorTarget, Options{Target: "y", Likelihood: likelihood.LogisticKind})
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 1, 0}, d.Y)
	assert.Equal(t, []string{"no", "yes"}, d.Levels)
}

func TestDesignMissing(t *testing.T) {
	data := parseTable(t, "a,b,skip,y\n1,2,NA,1\nNA,3,1,2\n3,NA,1,3\n4,1,1,NA\n5,0,NA,4\n7,5,NA,2\n")
	opt := Options{Target: "y", Exclude: []string{"skip"}}
	_, err := New(data, opt)
	require.EqualError(t, err, `data.csv: missing values in 3 of 3 used columns (of 6 rows): "y" 1, "a" 1, "b" 1`)
	opt.NA = DropNA
	d, err := New(data, opt)
	require.NoError(t, err)
	assert.Equal(t, 3, d.DroppedRows)
	assert.Equal(t, 3, d.Rows())

	_, err = New(parseTable(t, "a,y\nNA,1\n2,2\nNA,3\n"), Options{Target: "y", NA: DropNA})
	require.EqualError(t, err, "data.csv: got 1 row after dropping 2 with missing values, want at least two")
}

func TestDesignErrors(t *testing.T) {
	const content = "a,b,c,y\n1,2,u,3\n2,5,v,4.5\n4,3,u,1\n5,1,v,7\n"
	for name, test := range map[string]struct {
		content string
		opt     Options
		want    string
	}{
		"no target":          {content, Options{}, "no target column was given; the columns are a, b, c, y"},
		"unknown target":     {content, Options{Target: "Y"}, `target: data.csv: no column "Y"; the nearest is "y"`},
		"unknown always":     {content, Options{Target: "y", Always: []string{"aa"}}, `always: data.csv: no column "aa"; the nearest`},
		"unknown exclude":    {content, Options{Target: "y", Exclude: []string{"zz9"}}, `exclude: data.csv: no column "zz9"`},
		"unknown in group":   {content, Options{Target: "y", Groups: []PredictorGroup{{"g", []string{"q"}}}}, `group "g": data.csv: no column "q"`},
		"unknown offset":     {content, Options{Target: "y", Offset: "zz9"}, `offset: data.csv: no column`},
		"unknown factor":     {content, Options{Target: "y", Factors: []string{"zz9"}}, `factor: data.csv: no column`},
		"always and exclude": {content, Options{Target: "y", Always: []string{"a"}, Exclude: []string{"a"}}, `column "a" is named as always and as exclude`},
		"target excluded":    {content, Options{Target: "y", Exclude: []string{"y"}}, `column "y" is named as target and as exclude`},
		"two groups":         {content, Options{Target: "y", Groups: []PredictorGroup{{"g", []string{"a"}}, {"h", []string{"a", "b"}}}}, `column "a" is named as group "g" and as group "h"`},
		"twice in a group":   {content, Options{Target: "y", Groups: []PredictorGroup{{"g", []string{"a", "a"}}}}, `column "a" is named twice`},
		"empty group":        {content, Options{Target: "y", Groups: []PredictorGroup{{"g", nil}}}, `want a name and at least one column`},
		"group name taken":   {content, Options{Target: "y", Groups: []PredictorGroup{{"b", []string{"a"}}}}, `two predictors are called "b"`},
		"factor and target":  {content, Options{Target: "y", Factors: []string{"y"}}, `column "y" is named as factor and as target`},
		"text offset":        {content, Options{Target: "y", Offset: "c"}, `offset: data.csv: column "c": got text ("u" in line 2), want numbers`},
		"text target":        {content, Options{Target: "c"}, `target "c": got text ("u" in line 2), want numbers for a gaussian likelihood`},
		"bad cell":           {"a,y\n1,1\nx,2\n", Options{Target: "y"}, `line 3, column "a"`},
		"no predictors":      {content, Options{Target: "y", Exclude: []string{"a", "b", "c"}}, "no predictor is left to select from (4 columns, 3 excluded, 0 always in, 0 dropped)"},
		"one row":            {"a,y\n1,2\n", Options{Target: "y"}, "got 1 row, want at least two"},
		"constant target":    {"a,y\n1,2\n2,2\n", Options{Target: "y"}, `target "y" is 2 in every row`},
		"not 0/1":            {content, Options{Target: "y", Likelihood: likelihood.LogisticKind}, `line 2: target "y": got 3, want 0 or 1 for a logistic likelihood`},
		"three labels":       {"a,y\n1,u\n2,v\n3,w\n", Options{Target: "y", Likelihood: likelihood.LogisticKind}, "got 3 labels (u, v, w, …)"},
		"not a count":        {content, Options{Target: "y", Likelihood: likelihood.PoissonKind}, `line 3: target "y": got 4.5, want a count (0, 1, 2, …) for a poisson likelihood`},
		"negative count":     {"a,y\n1,2\n2,-1\n", Options{Target: "y", Likelihood: likelihood.PoissonKind}, "line 3: target"},
		"row names":          {"id,a,y\np,1,2\nq,2,3\nr,4,1\n", Options{Target: "y"}, `column "id": all 3 rows hold different labels`},
		"overflow":           {"a,b,y\n1e200,1,2\n-1e200,2,3\n3e200,4,1\n", Options{Target: "y"}, `column "a": its spread is`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(parseTable(t, test.content), test.opt)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestLikelihoodKind(t *testing.T) {
	for k := likelihood.GaussianKind; k <= likelihood.PoissonKind; k++ {
		parsed, err := likelihood.Parse(k.String())
		require.NoError(t, err)
		assert.Equal(t, k, parsed)
	}
	_, err := likelihood.Parse("normal")
	require.ErrorContains(t, err, "want gaussian, robust, student, logistic, poisson, negbinomial")
	assert.Equal(t, "likelihood.Kind(99)", likelihood.Kind(99).String())
	assert.Equal(t, []string{"refuse", "drop", "mean", "design.NAPolicy(3)"}, []string{RefuseNA.String(), DropNA.String(), MeanNA.String(), NAPolicy(3).String()})
}

// The labels of a column that is declared a factor may mix numbers with other texts.
func TestMixedLabelsAreFactors(t *testing.T) {
	data, err := table.Parse("mixed.csv", []byte("y,n\n1,1\n2.5,2\n2,3+\n3,1\n4.2,3+\n1.1,2\n"))
	require.NoError(t, err)
	_, err = New(data, Options{Target: "y"})
	require.ErrorContains(t, err, `got "3+", want a finite number`)
	design, err := New(data, Options{Target: "y", Factors: []string{"n"}})
	require.NoError(t, err)
	require.Equal(t, []string{InterceptName, "n=2", "n=3+"}, design.Names)
}

func TestFreeNames(t *testing.T) {
	require.Equal(t, []string{"(x)", "y", "(y)", "((x))"}, FreeNames([]string{"x", "y", "y", "x"}, []string{"x"}))
	require.Equal(t, "((sigma))", FreeName("sigma", []string{"sigma", "(sigma)"}))
}
