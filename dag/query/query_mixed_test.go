package query

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// askDraws answers a query from draws of graphs.
func askDraws(t *testing.T, p *score.Problem, d score.Sample, text string) *Answer {
	t.Helper()
	q, err := ParseQuery(text)
	require.NoError(t, err)
	r, err := resolve(p, q)
	require.NoError(t, err)
	a := &Answer{}
	require.NoError(t, answerQuery(p, t.Context(), a, r, d, float64(len(d.Parents)), dagtest.Random(5)))
	return a
}

// In a graph with the edges x → k, k → y and x → y and known parameters, answers agree with
// integrals over x, within 5 standard errors of 1,000 draws.
func TestQueriesOfAMixedGraph(t *testing.T) {
	p := dagtest.Mixed(t, "x,k,y\n-1,a,0\n1,b,2\n0.25,a,1\n0,b,4\n-0.5,b,3.5\n", score.ModelOptions{Mechanism: sem.Mixed})
	parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(0, 1)}
	half := 1 / math.Sqrt2
	thetas := [][]float64{{0.3, math.Log(0.8)}, {0.4, -1.1}, {0.2, 0.5, 0.9, math.Log(0.6)}}
	// computed by hand for the scaled columns; the contrast of levels a and b has the values ±1/√2
	probability := func(x float64) float64 { return 1 / (1 + math.Exp(math.Sqrt2*(0.4-1.1*x))) }
	side := p.MixedTable().Contrasts[1][1][0]
	require.InDelta(t, half, math.Abs(side), 1e-12)
	if side > 0 {
		probability = func(x float64) float64 { return 1 / (1 + math.Exp(-math.Sqrt2*(0.4-1.1*x))) }
	}
	mean := func(x float64, level int) float64 { return 0.2 + 0.5*x + 0.9*side*float64(2*level-1) }
	inTable := func(j int, x float64) float64 { return x*p.Data.Scale[j] + p.Data.Shift[j] }
	working := func(j int, x float64) float64 { return (x - p.Data.Shift[j]) / p.Data.Scale[j] }
	// integrate returns E[value · weight] / E[weight], with expectations over x and the level of k.
	integrate := func(weight, value func(x float64, level int) float64) float64 {
		total, sum := 0.0, 0.0
		for x := -6.0; x < 6; x += 0.01 {
			for level := range 2 {
				w := distuv.Normal{Mu: 0.3, Sigma: 0.8}.Prob(x) * weight(x, level)
				if level == 1 {
					w *= probability(x)
				} else {
					w *= 1 - probability(x)
				}
				total += w
				sum += w * value(x, level)
			}
		}
		return sum / total
	}
	one := func(float64, int) float64 { return 1 }
	second := func(_ float64, level int) float64 { return float64(level) }
	high := working(2, 3)
	set := working(0, 0.5)
	wants := map[string]float64{
		"P(k=b)":         integrate(one, second),
		"E(y)":           inTable(2, integrate(one, mean)),
		"E(y | k=b)":     inTable(2, integrate(second, mean)),
		"E(y | do(k=b))": inTable(2, integrate(one, func(x float64, _ int) float64 { return mean(x, 1) })),
		"E(x | k=b)":     inTable(0, integrate(second, func(x float64, _ int) float64 { return x })),
		"P(k=b | y=3)": integrate(func(x float64, level int) float64 {
			return distuv.Normal{Mu: mean(x, level), Sigma: 0.6}.Prob(high)
		}, second),
		"P(k=b | do(x=0.5))":      probability(set),
		"P(y > 3 | do(x=0.5))":    probability(set)*distuv.Normal{Mu: mean(set, 1), Sigma: 0.6}.Survival(high) + (1-probability(set))*distuv.Normal{Mu: mean(set, 0), Sigma: 0.6}.Survival(high),
		"P(k=b | y=3, do(x=0.5))": 0,
	}
	byY := func(level int) float64 { return distuv.Normal{Mu: mean(set, level), Sigma: 0.6}.Prob(high) }
	wants["P(k=b | y=3, do(x=0.5))"] = probability(set) * byY(1) / (probability(set)*byY(1) + (1-probability(set))*byY(0))
	for text, want := range wants {
		q, err := ParseQuery(text)
		require.NoError(t, err)
		r, err := resolve(p, q)
		require.NoError(t, err)
		g, random := newGivenMixed(p, r), dagtest.Random(8)
		for j, theta := range thetas {
			g.draws[dgraph.Family{Node: j, Parents: parents[j]}] = func(*rand.Rand) []float64 { return theta }
		}
		var answers []conditional
		total, sum := 0.0, 0.0
		value := func(c *conditional) float64 {
			switch {
			case q.Expectation:
				return c.mean[0]
			case q.Sign == ">":
				return c.below(r.value, -1)
			}
			return c.mean[1]
		}
		const draws = 1000
		for range draws {
			c, err := g.under(parents, nil, random)
			require.NoError(t, err)
			answers = append(answers, c)
			total += math.Exp(c.logEvidence)
			sum += math.Exp(c.logEvidence) * value(&c)
		}
		squares := 0.0
		for _, c := range answers {
			squares += dgraph.Square(math.Exp(c.logEvidence) * (value(&c) - sum/total))
		}
		se := math.Sqrt(squares) / total
		require.InDelta(t, want, sum/total, 5*se+1e-9, text)
		require.Less(t, se, 0.05, text)
	}
}

// For a table without categories, simulated answers of mixed mechanisms agree with the closed forms
// of the Gaussian model of the BGe score.
func TestQueriesOfMixedNumbersAreThoseOfBGe(t *testing.T) {
	testkit.Slow(t)
	s, err := sem.Simulate(sem.Simulation{Nodes: 3, Rows: 40, EdgeProbability: 0.6, Seed: 3})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, s.WriteCSV(&text))
	answers := map[sem.Mechanism]map[string]*Answer{}
	queries := []string{"E(x2 | x0=1)", "E(x2 | do(x0=1))", "P(x1 > 0.5 | x2=1)", "E(x0 | x1=0.3, x2=-0.5)"}
	for _, mechanism := range []sem.Mechanism{sem.BGe, sem.Mixed} {
		p := dagtest.Mixed(t, text.String(), score.ModelOptions{Mechanism: mechanism})
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		random := dagtest.Random(4)
		d := score.SampleFrom(effects.Spread(dagtest.Draws(t, posterior, random, 4000), random), p.Families, p.ExactParameters(p.Families)(random))
		answers[mechanism] = map[string]*Answer{}
		for _, query := range queries {
			answers[mechanism][query] = askDraws(t, p, d, query)
		}
	}
	for _, query := range queries {
		want, got := answers[sem.BGe][query], answers[sem.Mixed][query]
		if want.Expectation != nil {
			a, b := want.Expectation, got.Expectation
			require.InDelta(t, float64(a.Mean), float64(b.Mean), 5*math.Hypot(float64(a.SE), float64(b.SE))+0.05*float64(a.PredictiveSD), query)
			require.InEpsilon(t, float64(a.PredictiveSD), float64(b.PredictiveSD), 0.08, query)
			require.InDelta(t, float64(a.PredictiveQ95), float64(b.PredictiveQ95), 0.15*float64(a.PredictiveSD), query)
			continue
		}
		require.InDelta(t, float64(want.Probabilities[0].Prob), float64(got.Probabilities[0].Prob), 0.03, query)
	}
}
