package score_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
)

// The BDeu score of a table that is small enough to count by hand: a = 0,0,0,1,1 and b = 0,0,1,1,1,
// with imaginary sample size α = 1. The evidence of a is Γ(1)/Γ(6) Γ(3.5)/Γ(.5) Γ(2.5)/Γ(.5). The
// evidence of b given a, with q = 2 values of a, r = 2 levels, α/q = ½ and α/(q r) = ¼, is
// [Γ(.5)/Γ(3.5) Γ(2.25)/Γ(.25) Γ(1.25)/Γ(.25)] [Γ(.5)/Γ(2.5) Γ(2.25)/Γ(.25)].
func TestBDeuByHand(t *testing.T) {
	parsed, err := table.Parse("hand.csv", []byte("a,b\n0,0\n0,0\n0,1\n1,1\n1,1\n"))
	require.NoError(t, err)
	d, err := tables.NewData(parsed, tables.DataOptions{Discrete: []string{"a", "b"}})
	require.NoError(t, err)
	gamma := math.Gamma
	alone := math.Log(gamma(1) / gamma(6) * gamma(3.5) / gamma(.5) * gamma(2.5) / gamma(.5))
	withParent := math.Log(gamma(.5)/gamma(3.5)*gamma(2.25)/gamma(.25)*gamma(1.25)/gamma(.25)) + math.Log(gamma(.5)/gamma(2.5)*gamma(2.25)/gamma(.25))
	require.InDelta(t, alone, score.NewBDeuForm(d, 0, 1).LogEvidence(dgraph.Set{}), 1e-12)
	require.InDelta(t, withParent, score.NewBDeuForm(d, 1, 1).LogEvidence(dgraph.SetOf(0)), 1e-12)
}

// LogRising agrees with sums of logarithms, also for the small a of tables with a thousand cells.
func TestLogRising(t *testing.T) {
	for _, a := range []float64{1e-12, 1e-3, 0.25, 7} {
		for _, n := range []int{0, 1, 16, 17, 1000, 1_000_000} {
			want := 0.0
			for k := range n {
				want += math.Log(a + float64(k))
			}
			require.InDelta(t, want, score.LogRising(a, n), 1e-8+1e-13*math.Abs(want), "a = %g, n = %d", a, n)
		}
	}
}

// BDeu and BGe scores agree with naive computations. Without interventions they are equal for all
// graphs of an equivalence class; the 543 graphs of 4 nodes form 185 classes.
func TestScoresOfEquivalentGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 14))
	rows := make([][]float64, 25)
	for i := range rows {
		a, b := random.NormFloat64(), 3+random.NormFloat64()
		rows[i] = []float64{a, a + 0.5*b + random.NormFloat64(), b, b - a + 0.1*random.NormFloat64()}
	}
	continuous, err := tables.NewData(dagtest.Table(t, []string{"a", "b", "c", "d"}, rows), tables.DataOptions{Scaling: tables.GlobalScale})
	require.NoError(t, err)
	for name, test := range map[string]struct {
		data  *tables.Data
		model score.ModelOptions
		naive func(d *tables.Data, f dgraph.Family) float64
		class bool
	}{
		"BGe":                         {continuous, score.ModelOptions{}, naiveBGe, true},
		"BGe, interventions":          {dagtest.FarInterventions(t, random, 4, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.BGe}, naiveBGe, false},
		"BDeu":                        {dagtest.Categories(t, random, 60, false), score.ModelOptions{}, func(d *tables.Data, f dgraph.Family) float64 { return naiveBDeu(d, f, 1) }, true},
		"BDeu, large sample":          {dagtest.Categories(t, random, 60, false), score.ModelOptions{ImaginarySampleSize: 7}, func(d *tables.Data, f dgraph.Family) float64 { return naiveBDeu(d, f, 7) }, true},
		"BDeu, interventions":         {dagtest.Categories(t, random, 80, true), score.ModelOptions{}, func(d *tables.Data, f dgraph.Family) float64 { return naiveBDeu(d, f, 1) }, false},
		"BDeu, more cells than rows":  {dagtest.Categories(t, random, 5, false), score.ModelOptions{}, func(d *tables.Data, f dgraph.Family) float64 { return naiveBDeu(d, f, 1) }, true},
		"BDeu, written as mechanisms": {dagtest.Categories(t, random, 30, false), score.ModelOptions{Mechanism: sem.Categorical}, func(d *tables.Data, f dgraph.Family) float64 { return naiveBDeu(d, f, 1) }, true},
	} {
		p, err := score.NewProblem(test.data, test.model, tables.Constraints{})
		require.NoError(t, err, name)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err, name)
		place := map[dgraph.Family]int{}
		families := make([][]dgraph.Set, 4)
		for i, f := range p.Families {
			want := test.naive(test.data, f)
			require.InDelta(t, want, scores.LogEvidence[i], 1e-8*(1+math.Abs(want)/100), "%s: %v", name, f)
			place[f] = i
			families[f.Node] = append(families[f.Node], f.Parents)
		}
		first := map[string]float64{}
		var logs []float64
		edge := 0.0
		testkit.EachGraph(families, func(parents []dgraph.Set) bool {
			sum := 0.0
			for j, set := range parents {
				sum += scores.LogEvidence[place[dgraph.Family{Node: j, Parents: set}]] - math.Log([]float64{1, 3, 3, 1}[set.Len()])
			}
			key := dgraph.FromParents(parents).Essential(test.data.Targets()).Key()
			if score, seen := first[key]; seen && test.class {
				require.InDelta(t, score, sum, 1e-10*math.Abs(score), "%s: members of a class differ", name)
			}
			first[key] = sum
			logs = append(logs, sum)
			return true
		})
		if test.class {
			require.Len(t, first, 185, name)
		}
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		total, k := logsum.Of(logs), 0
		testkit.EachGraph(families, func(parents []dgraph.Set) bool {
			if parents[1].Has(0) {
				edge += math.Exp(logs[k] - total)
			}
			k++
			return true
		})
		require.InDelta(t, edge, posterior.EdgeProbabilities()[0][1], 1e-9, name)
	}
}

// The joint density of BGe, summed over a grid of the weight and log σ, agrees with the evidence.
// Means and mean squares of draws agree with the same sum.
func TestBGePosterior(t *testing.T) {
	random := dagtest.Random(21)
	rows := make([][]float64, 9)
	for i := range rows {
		a := 2 + random.NormFloat64()
		rows[i] = []float64{a, a + random.NormFloat64()}
	}
	d, err := tables.NewData(dagtest.Table(t, []string{"a", "b"}, rows), tables.DataOptions{Scaling: tables.Unscaled})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.BGe}, tables.Constraints{})
	require.NoError(t, err)
	form, parents := p.ClosedForm(1), dgraph.SetOf(0)
	const step = 0.02
	var logs, weights, logSigmas []float64
	for weight := -3.0; weight < 5; weight += step {
		for logSigma := -4.0; logSigma < 4; logSigma += step {
			logs = append(logs, form.LogJoint(parents, []float64{weight, 0, logSigma})+2*math.Log(step))
			weights, logSigmas = append(weights, weight), append(logSigmas, logSigma)
		}
	}
	total := logsum.Of(logs)
	require.InDelta(t, form.LogEvidence(parents), total, 1e-6)
	var want [4]float64
	for k, x := range logs {
		share := math.Exp(x - total)
		want[0] += share * weights[k]
		want[1] += share * logSigmas[k]
		want[2] += share * dgraph.Square(weights[k])
		want[3] += share * dgraph.Square(logSigmas[k])
	}
	const draws = 40000
	draw := form.Posterior(parents)
	var values [4][]float64
	for range draws {
		theta := draw(random)
		for k, x := range []float64{theta[0], theta[2], dgraph.Square(theta[0]), dgraph.Square(theta[2])} {
			values[k] = append(values[k], x)
		}
	}
	for k := range values { // 4 standard errors fail by chance in 1 of 4,000 cases
		mean, sd := stat.MeanStdDev(values[k], nil)
		require.InDelta(t, want[k], mean, 4*sd/math.Sqrt(draws), "moment %d", k)
	}
}

// naiveBDeu returns the BDeu score from counts in a map whose keys are texts of values.
func naiveBDeu(d *tables.Data, f dgraph.Family, size float64) (sum float64) {
	counts, totals := map[string]float64{}, map[string]float64{}
	possible := 1.0
	for i := range f.Parents.Nodes() {
		possible *= float64(len(d.Levels[i]))
	}
	for row := range d.Rows() {
		if !d.Counts(row, f.Node) {
			continue
		}
		key := ""
		for i := range f.Parents.Nodes() {
			key += fmt.Sprint(d.X.At(row, i), " ")
		}
		totals[key]++
		counts[key+"| "+fmt.Sprint(d.X.At(row, f.Node))]++
	}
	ratio := func(a, n float64) float64 {
		above, _ := math.Lgamma(a + n)
		below, _ := math.Lgamma(a)
		return above - below
	}
	for _, n := range totals {
		sum -= ratio(size/possible, n)
	}
	for _, n := range counts {
		sum += ratio(size/possible/float64(len(d.Levels[f.Node])), n)
	}
	return sum
}

// naiveBGe returns the BGe score by determinants (Kuipers, Moffa and Heckerman 2014, equations 4 to
// 6).
func naiveBGe(d *tables.Data, f dgraph.Family) float64 {
	var rows []int
	for row := range d.Rows() {
		if d.Counts(row, f.Node) {
			rows = append(rows, row)
		}
	}
	n, nodes := float64(len(rows)), float64(d.Nodes())
	const meanWeight = 1.0
	weight := nodes + meanWeight + 1
	scale := meanWeight * (weight - nodes - 1) / (meanWeight + 1)
	logMarginal := func(columns []int) float64 {
		l := float64(len(columns))
		if l == 0 {
			return 0
		}
		posterior := mat.NewSymDense(len(columns), nil)
		for a, i := range columns {
			for b, j := range columns[:a+1] {
				var x, y []float64
				for _, row := range rows {
					x, y = append(x, d.X.At(row, i)), append(y, d.X.At(row, j))
				}
				meanX, meanY := stat.Mean(x, nil), stat.Mean(y, nil)
				sum := n * meanWeight / (n + meanWeight) * meanX * meanY
				for k := range x {
					sum += (x[k] - meanX) * (y[k] - meanY)
				}
				if i == j {
					sum += scale
				}
				posterior.SetSym(a, b, sum)
			}
		}
		multivariate := func(a float64) (sum float64) {
			for i := range columns {
				value, _ := math.Lgamma(a - float64(i)/2)
				sum += value
			}
			return sum
		}
		logDet, _ := mat.LogDet(posterior)
		return l/2*math.Log(meanWeight/(n+meanWeight)) + multivariate((n+weight-nodes+l)/2) - multivariate((weight-nodes+l)/2) -
			l*n/2*math.Log(math.Pi) + (weight-nodes+l)/2*l*math.Log(scale) - (n+weight-nodes+l)/2*logDet
	}
	parents := f.Parents.List()
	return logMarginal(append(parents[:len(parents):len(parents)], f.Node)) - logMarginal(parents)
}
