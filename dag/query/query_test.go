package query

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]Query{
		"P(sick)":                          {Target: "sick"},
		" P ( sick | region=1 ) ":          {Target: "sick", Given: []Assignment{{"region", "1"}}},
		"P(sick=yes | do(region = 1))":     {Target: "sick", Sign: "=", Value: "yes", Do: []Assignment{{"region", "1"}}},
		"E(y | do(a=1, b=-2), c=1e3)":      {Expectation: true, Target: "y", Do: []Assignment{{"a", "1"}, {"b", "-2"}}, Given: []Assignment{{"c", "1e3"}}},
		"P(y > 2.5 | a=1)":                 {Target: "y", Sign: ">", Value: "2.5", Given: []Assignment{{"a", "1"}}},
		`P("a|b"='x, y' | 'c=d'="(1)")`:    {Target: "a|b", Sign: "=", Value: "x, y", Given: []Assignment{{"c=d", "(1)"}}},
		"P(LowerBody = <5 | Age=0-3_days)": {Target: "LowerBody", Sign: "=", Value: "<5", Given: []Assignment{{"Age", "0-3_days"}}},
	} {
		got, err := ParseQuery(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "P", "P(", "P()", "Q(a)", "P(a", "P(a | b)", "P(a | b>1)", "P(a | b=)", "P(a | do(b))", "E(a=1)", "P(a | b=1 | c=2)", `P("a | b=1)`, "P(a | =1)", "P(a | do(b=1)"} {
		_, err := ParseQuery(text)
		require.ErrorContains(t, err, "want P(NODE", text)
	}
}

// enumerateQuery answers a query by a loop over all graphs and all combinations of levels.
func enumerateQuery(t *testing.T, p *score.Problem, r resolvedQuery) (answer []float64) {
	t.Helper()
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	logs, lists := map[dgraph.Family]float64{}, make([][]dgraph.Set, p.Data.Nodes())
	for k, f := range p.Families {
		logs[f], lists[f.Node] = scores.LogEvidence[k]+p.Structure.Prior.LogWeight(f.Node, f.Parents), append(lists[f.Node], f.Parents)
	}
	posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
	require.NoError(t, err)
	answer = make([]float64, len(p.Data.Levels[r.target]))
	total := 0.0
	testkit.EachGraph(lists, func(parents []dgraph.Set) bool {
		weight := math.Exp(-posterior.LogEvidence)
		for j, set := range parents {
			weight *= math.Exp(logs[dgraph.Family{Node: j, Parents: set}])
		}
		if weight < 1e-9 {
			return true
		}
		probabilities, codes := dagtest.Joint(p.Data, parents, r.do)
		for k, probability := range probabilities {
			match := true
			for j, x := range r.observed {
				match = match && codes[k][j] == int(x)
			}
			if match {
				answer[codes[k][r.target]] += weight * probability
				total += weight * probability
			}
		}
		return true
	})
	for level := range answer {
		answer[level] /= total
	}
	return answer
}

// Answers about categories agree with a loop over all graphs and combinations of levels. The
// queries have observed nodes, nodes set from outside, or both, and the tables have interventions
// or none. The tolerance is 4 standard errors for 2,000 drawn graphs; with 26 probabilities this
// fails by chance with 1 of 600 seeds. The answers for a single graph are exact.
func TestQueriesOfCategories(t *testing.T) {
	for _, interventions := range []bool{false, true} {
		p, err := score.NewProblem(dagtest.Categories(t, dagtest.Random(9), 60, interventions), score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		random := dagtest.Random(3)
		d := score.SampleFrom(effects.Spread(dagtest.Draws(t, posterior, random, 4000), random), p.Families, p.ExactParameters(p.Families)(random))
		for _, text := range []string{"P(b | a=yes)", "P(a | b=1, d=2)", "P(b | do(a=yes))", "P(c | do(b=2))", "P(d | c=x, do(b=0))"} {
			q, err := ParseQuery(text)
			require.NoError(t, err)
			r, err := resolve(p, q)
			require.NoError(t, err)
			answer := &Answer{}
			require.NoError(t, answerQuery(p, t.Context(), answer, r, d, 2000, random))
			for level, want := range enumerateQuery(t, p, r) {
				got := answer.Probabilities[level]
				require.InDelta(t, want, float64(got.Prob), 4*float64(got.SE)+1e-6, "%s, interventions %v, level %d", text, interventions, level)
				require.Less(t, float64(got.SE), 0.02)
				require.LessOrEqual(t, float64(got.Q05), float64(got.PosteriorMean))
				require.GreaterOrEqual(t, float64(got.Q95), float64(got.PosteriorMean))
				require.LessOrEqual(t, float64(got.SDGraphs), float64(got.SD))
			}
			one, err := newGivenLevels(p, r).under(d.Parents[0], nil, random)
			require.NoError(t, err)
			probabilities, codes := dagtest.Joint(p.Data, d.Parents[0], r.do)
			want, total := make([]float64, len(one.mean)), 0.0
			for k, probability := range probabilities {
				match := true
				for j, x := range r.observed {
					match = match && codes[k][j] == int(x)
				}
				if match {
					want[codes[k][r.target]] += probability
					total += probability
				}
			}
			for level := range want {
				require.InDelta(t, want[level]/total, one.mean[level], 1e-12, text)
			}
			require.InDelta(t, math.Log(total), one.logEvidence, 1e-12, text)
		}
	}
}

// The mean of drawn tables is the table of posterior means, within 5 standard errors. This is
// checked for a node without parents, whose probabilities are the table itself.
func TestDrawnTables(t *testing.T) {
	p, err := score.NewProblem(dagtest.Categories(t, dagtest.Random(9), 8, false), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	g, random := newGivenLevels(p, resolvedQuery{target: 3}), dagtest.Random(4)
	const count = 4000
	sums, squares, want := make([]float64, 4), make([]float64, 4), []float64(nil)
	for range count {
		c, err := g.under(make([]dgraph.Set, 4), nil, random)
		require.NoError(t, err)
		want = c.mean
		for k, x := range c.drawn {
			sums[k] += x / count
			squares[k] += x * x / count
		}
	}
	for k := range want {
		require.InDelta(t, want[k], sums[k], 5*math.Sqrt((squares[k]-dgraph.Square(sums[k]))/count))
	}
}

// Given graph and parameters, numbers are normal with the covariance (I − B)⁻¹ D (I − B)⁻ᵀ, where B
// holds the weights and D the noise variances. The test conditions this distribution on
// observations and interventions by matrices, in units of the table.
func TestQueriesOfNumbers(t *testing.T) {
	for _, model := range []score.ModelOptions{{}, {Mechanism: sem.Linear}} {
		p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), model, tables.Constraints{})
		require.NoError(t, err)
		parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(0, 1)}
		thetas := [][]float64{{0, 0, 0, math.Log(0.9)}, {0.7, 0, 0, math.Log(0.5)}, {-0.4, 1.5, 0, math.Log(0.3)}}
		answer := func(text string, seed uint64) conditional {
			q, err := ParseQuery(text)
			require.NoError(t, err)
			r, err := resolve(p, q)
			require.NoError(t, err)
			c, err := newGivenNumbers(p, r).under(parents, thetas, dagtest.Random(seed))
			require.NoError(t, err)
			return c
		}
		intercepts := make([]float64, 3) // intercepts as answers draw them with this seed
		if model.Mechanism == sem.AnyMechanism {
			random := rand.New(rand.NewPCG(2, 0))
			for j := range intercepts {
				intercepts[j] = math.Exp(thetas[j][3]) / math.Sqrt(31) * random.NormFloat64()
			}
		}
		inverse := mat.NewDense(3, 3, nil)
		require.NoError(t, inverse.Inverse(mat.NewDense(3, 3, []float64{1, 0, 0, -0.7, 1, 0, 0.4, -1.5, 1})))
		noise := mat.NewDiagDense(3, []float64{0.81, 0.25, 0.09})
		var means mat.VecDense
		means.MulVec(inverse, mat.NewVecDense(3, intercepts))
		var covariance mat.Dense
		covariance.Product(inverse, noise, inverse.T())
		shift, scale := p.Data.Shift, p.Data.Scale
		value := func(j int, x float64) float64 { return (x - shift[j]) / scale[j] }

		got := answer("E(a | c=1)", 2)
		slope := covariance.At(0, 2) / covariance.At(2, 2)
		require.InDelta(t, (means.AtVec(0)+slope*(value(2, 1)-means.AtVec(2)))*scale[0]+shift[0], got.mean[0], 1e-9)
		require.InDelta(t, math.Sqrt(covariance.At(0, 0)-slope*covariance.At(0, 2))*scale[0], got.sd, 1e-9)
		require.InDelta(t, -dgraph.Square(value(2, 1)-means.AtVec(2))/covariance.At(2, 2)/2-math.Log(covariance.At(2, 2))/2, got.logEvidence, 1e-9)

		got = answer("E(c | do(b=2))", 2)
		require.InDelta(t, (intercepts[2]-0.4*intercepts[0]+1.5*value(1, 2))*scale[2]+shift[2], got.mean[0], 1e-9)
		require.InDelta(t, math.Sqrt(0.16*0.81+0.09)*scale[2], got.sd, 1e-9)
		require.Zero(t, got.logEvidence)

		got = answer("E(c | a=1, do(b=2))", 2)
		require.InDelta(t, (intercepts[2]-0.4*value(0, 1)+1.5*value(1, 2))*scale[2]+shift[2], got.mean[0], 1e-9)

		got = answer("E(a | do(c=5))", 2)
		require.InDelta(t, intercepts[0]*scale[0]+shift[0], got.mean[0], 1e-9)
	}
}

// The test simulates 50 new rows for each draw of a graph with parameters. Probabilities and
// quantiles of the answer agree with the shares of these rows to 0.01. The mean of the answer
// agrees with the mean of the rows, within 4 standard errors and a part for drawn intercepts.
func TestAnswersAboutNumbers(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 12, tables.DataOptions{}), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
	require.NoError(t, err)
	random := dagtest.Random(8)
	d := score.SampleFrom(effects.Spread(dagtest.Draws(t, posterior, random, 4000), random), p.Families, p.ExactParameters(p.Families)(random))
	asked := func(text string) *Answer {
		q, err := ParseQuery(text)
		require.NoError(t, err)
		r, err := resolve(p, q)
		require.NoError(t, err)
		a := &Answer{}
		require.NoError(t, answerQuery(p, t.Context(), a, r, d, 2000, dagtest.Random(1)))
		return a
	}
	mean := asked("E(b | do(a=1))").Expectation
	above, below := asked("P(b > 0.5 | do(a=1))").Probabilities[0], asked("P(b < 0.5 | do(a=1))").Probabilities[0]
	require.InDelta(t, 1, float64(above.Prob+below.Prob), 1e-12)
	q, err := resolve(p, Query{Target: "b", Do: []Assignment{{"a", "1"}}})
	require.NoError(t, err)
	g, simulated, over, under05, under95 := newGivenNumbers(p, q), 0.0, 0.0, 0.0, 0.0
	const each = 50
	for k := range d.Parents {
		c, err := g.under(d.Parents[k], d.Thetas[k], random)
		require.NoError(t, err)
		for range each {
			y := c.mean[0] + c.sd*random.NormFloat64()
			simulated += y / float64(each*len(d.Parents))
			over += dgraph.Indicator(y > 0.5) / float64(each*len(d.Parents))
			under05 += dgraph.Indicator(y < float64(mean.PredictiveQ05)) / float64(each*len(d.Parents))
			under95 += dgraph.Indicator(y < float64(mean.PredictiveQ95)) / float64(each*len(d.Parents))
		}
	}
	error := 4 * float64(mean.PredictiveSD) / math.Sqrt(float64(each*len(d.Parents)))
	require.InDelta(t, simulated, float64(mean.Mean), error+0.01*float64(mean.PredictiveSD)) // the simulated rows have other drawn intercepts than the answer
	require.InDelta(t, over, float64(above.Prob), 0.01)
	require.InDelta(t, 0.05, under05, 0.01)
	require.InDelta(t, 0.95, under95, 0.01)
	require.Greater(t, float64(mean.PredictiveSD), float64(mean.SD))
	// The observation a=60 is improbable with most draws of parameters, so that the answer has few
	// effective draws, and says so.
	require.Less(t, float64(asked("E(b | a=60)").Effective), 50.0)
}

func TestBadQueries(t *testing.T) {
	numbers, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	categories, err := score.NewProblem(dagtest.Categories(t, dagtest.Random(9), 30, false), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	for text, test := range map[string]struct {
		problem *score.Problem
		message string
	}{
		"P(x)":                {numbers, `no node "x"`},
		"P(a | a=1)":          {numbers, `"a" is there twice`},
		"P(a | b=1, do(b=1))": {numbers, `"b" is there twice`},
		"P(a=1 | b=1)":        {numbers, `"a" is a number`},
		"P(a | b=high)":       {numbers, `got "high", want a number`},
		"P(a | b=Inf)":        {numbers, `got "Inf", want a number`},
		"E(a | b=1)":          {categories, `"a" is a category with the values ["no" "yes"]`},
		"P(a > 1)":            {categories, `ask for one of them with =`},
		"P(a=maybe)":          {categories, `"a" has no value "maybe"`},
		"P(a | c=z)":          {categories, `"c" has no value "z"; it has ["x" "y"]`},
	} {
		q, err := ParseQuery(text)
		require.NoError(t, err)
		_, err = resolve(test.problem, q)
		require.ErrorContains(t, err, test.message, text)
	}
}

// FuzzParseQuery checks that any text gives a query or an error that names the expected form, and
// that a query is unchanged after it is written with quotes and read again.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"P(sick)", " P ( sick | region=1 ) ", "P(sick=yes | do(region = 1))", "E(y | do(a=1, b=-2), c=1e3)", "P(y > 2.5 | a=1)",
		`P("a|b"='x, y' | 'c=d'="(1)")`, "P(a | b=1 | c=2)", "P(a | do(b=1)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseQuery(text)
		if err != nil {
			require.ErrorContains(t, err, "want P(NODE")
			return
		}
		require.NotEmpty(t, q.Target)
		if spelled, ok := spell(q); ok {
			again, err := ParseQuery(spelled)
			require.NoError(t, err, spelled)
			require.Equal(t, q, again, spelled)
		}
	})
}

// spell writes a query with quotes. ok is false if a name contains quotes of both kinds.
func spell(q Query) (text string, ok bool) {
	ok = true
	quoted := func(name string) string {
		if !strings.Contains(name, `"`) {
			return `"` + name + `"`
		}
		ok = ok && !strings.Contains(name, "'")
		return "'" + name + "'"
	}
	text = map[bool]string{false: "P(", true: "E("}[q.Expectation] + quoted(q.Target)
	if q.Sign != "" {
		text += q.Sign + quoted(q.Value)
	}
	var conditions []string
	for _, a := range q.Given {
		conditions = append(conditions, quoted(a.Node)+"="+quoted(a.Value))
	}
	for _, a := range q.Do {
		conditions = append(conditions, "do("+quoted(a.Node)+"="+quoted(a.Value)+")")
	}
	if conditions != nil {
		text += " | " + strings.Join(conditions, ", ")
	}
	return text + ")", ok
}
