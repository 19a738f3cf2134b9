package score

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/spline"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
)

// naiveEvidence returns the log evidence of a node given its parents in a mixed table, from the
// definition of the prior, with one effect for every level and no reference level. For numbers it
// integrates the normal density of the column, with its covariance, over a grid of σ². For
// categories it returns the mean likelihood over draws from the prior. If products is set, products
// of two numbers have effects too.
func naiveEvidence(p *Problem, f dgraph.Family, draws int, products bool) (value, se float64) {
	d, random := p.Data, randomOf(99)
	var rows []int
	for row := range d.Rows() {
		if d.Counts(row, f.Node) {
			rows = append(rows, row)
		}
	}
	n := len(rows)
	// values of a number, or the indicator of a level of a category with m levels less 1/m
	column := func(i, level int) []float64 {
		values := make([]float64, n)
		for k, row := range rows {
			if values[k] = d.X.At(row, i); d.Category(i) {
				values[k] = dgraph.Indicator(int(values[k]) == level) - 1/float64(len(d.Levels[i]))
			}
		}
		return values
	}
	type effect struct {
		values   []float64
		category bool
	}
	curves := func(i int) []effect { // functions of a natural spline with knots from all rows
		curve := spline.NewNatural(mat.Col(nil, i, d.X), 10)
		if p.Model.Mechanism != sem.Spline || curve == nil {
			return nil
		}
		curve.Turn(mat.Col(nil, i, d.X))
		list, values := make([]effect, curve.Functions()), make([]float64, curve.Functions())
		for _, row := range rows {
			curve.At(d.X.At(row, i), values)
			for j, value := range values {
				list[j].values = append(list[j].values, value)
			}
		}
		return list
	}
	var effects []effect
	numbers := 0.0
	for i := range f.Parents.Nodes() {
		if !d.Category(i) {
			numbers++
			effects = append(effects, effect{column(i, 0), false})
			effects = append(effects, curves(i)...)
			continue
		}
		for level := range d.Levels[i] {
			effects = append(effects, effect{column(i, level), true})
		}
	}
	if products { // products of lines and first curves of two parents
		var bases [][]effect
		for i := range f.Parents.Nodes() {
			functions := append([]effect{{column(i, 0), false}}, curves(i)...)
			bases = append(bases, functions[:min(2, len(functions))])
		}
		for j, columns := range bases {
			for _, others := range bases[:j] {
				for _, a := range columns {
					for _, b := range others {
						effects = append(effects, effect{floats.MulTo(make([]float64, n), a.values, b.values), false})
					}
				}
			}
		}
	}
	if !d.Category(f.Node) {
		covariance := mat.NewSymDense(n, nil)
		for a := range n {
			for b := range a + 1 {
				value := 1 + dgraph.Indicator(a == b) // variance of the intercept (1, since α_μ = 1), and of the noise
				for _, e := range effects {
					value += 2 * e.values[a] * e.values[b]
				}
				covariance.SetSym(a, b, value)
			}
		}
		var factor mat.Cholesky
		factor.Factorize(covariance)
		var half mat.VecDense
		y := mat.NewVecDense(n, column(f.Node, 0))
		if err := factor.SolveVecTo(&half, y); err != nil {
			panic(err)
		}
		squares, s := mat.Dot(y, &half), 3+numbers
		gamma, _ := math.Lgamma(s / 2)
		var logs []float64
		const step = 0.01
		for u := -15.0; u < 15; u += step { // log σ²; σ² ~ IG(s/2, 1/4)
			logs = append(logs, -float64(n)*(HalfLog2Pi+u/2)-factor.LogDet()/2-squares*math.Exp(-u)/2+
				s/2*math.Log(0.25)-gamma-s/2*u-0.25*math.Exp(-u)+math.Log(step))
		}
		return logsum.Of(logs), 0
	}
	for _, e := range effects { // subtract the means over the rows from the effects
		mean := 0.0
		for _, x := range e.values {
			mean += x / float64(n)
		}
		for k := range e.values {
			e.values[k] -= mean
		}
	}
	levels := len(d.Levels[f.Node])
	logs, predictors, coefficients := make([]float64, draws), make([]float64, levels), make([][]float64, levels)
	for draw := range logs {
		for l := range coefficients {
			coefficients[l] = []float64{math.Sqrt(8) * random.NormFloat64()}
			for _, e := range effects {
				coefficients[l] = append(coefficients[l], map[bool]float64{false: math.Sqrt2, true: 1}[e.category]*random.NormFloat64())
			}
		}
		for k, row := range rows {
			for l, c := range coefficients {
				predictors[l] = c[0]
				for m, e := range effects {
					predictors[l] += c[m+1] * e.values[k]
				}
			}
			logs[draw] += predictors[int(d.X.At(row, f.Node))] - logsum.Of(predictors)
		}
	}
	return psis.LogMeanExp(logs)
}

// mixedTables returns small tables. Most tables are hard: categories that a number separates, a
// level that occurs in one row only, a category that copies another category, and a number that
// nearly copies another number.
func mixedTables() map[string]string {
	tables, random := map[string]string{}, randomOf(5)
	rows := map[string]func(r int) string{
		"plain":     func(r int) string { return fmt.Sprintf("%.3f,%c,%c", random.NormFloat64(), 'a'+r%2, 'a'+r*r%5%3) },
		"separated": func(r int) string { return fmt.Sprintf("%.3f,%c,%c", float64(r)+random.Float64(), 'a'+r/5, 'a'+r%3) },
		"rare":      func(r int) string { return fmt.Sprintf("%.3f,%c,%c", random.NormFloat64(), 'a'+(r+1)/9, 'a'+r/3) },
		"copies":    func(r int) string { return fmt.Sprintf("%.3f,%c,%c", random.NormFloat64(), 'a'+r%2, 'f'+r%2) },
		"codes": func(r int) string {
			return fmt.Sprintf("%.6f,%c,%c", float64(r%2)+1e-4*random.NormFloat64(), 'a'+r%2, 'a'+r%3)
		},
		"set": func(r int) string {
			return fmt.Sprintf("%.3f,%c,%c,%s", random.NormFloat64(), 'a'+r%2, 'a'+r*r%5%3, []string{"", "k", "", "x", "m"}[r%5])
		},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row, text := rows[name], "x,k,m\n"
		if name == "set" {
			text = "x,k,m,set\n"
		}
		for r := range 10 {
			text += row(r) + "\n"
		}
		tables[name] = text
	}
	return tables
}

// The evidence of a logistic regression with two coefficients agrees with a sum over a grid, also
// if the predictor separates the levels or a level occurs in one row only.
func TestLogisticEvidenceByQuadrature(t *testing.T) {
	for _, split := range []int{1, 12, 20} { // number of rows with the first level
		var text strings.Builder
		text.WriteString("x,k\n")
		for row := range 40 {
			fmt.Fprintf(&text, "%d.5,%c\n", row, 'a'+min(row/split, 1))
		}
		p := mixedTable(t, text.String(), ModelOptions{})
		form := p.Forms()[1].(*logisticForm)
		estimate := form.evidence(dgraph.SetOf(0))
		var logs []float64
		const step = 0.2
		for a := -24.0; a < 24; a += step { // the difference of intercepts ~ N(0, 16), of slopes N(0, 4)
			for b := -16.0; b < 16; b += step {
				value := -a*a/32 - b*b/8 - math.Log(4*2) - 2*HalfLog2Pi + 2*math.Log(step)
				for row := range p.Data.Rows() {
					sign := 1 - 2*p.Data.X.At(row, 1)
					value -= softplus(sign * (a + b*p.Data.X.At(row, 0)))
				}
				logs = append(logs, value)
			}
		}
		require.InDelta(t, logsum.Of(logs), estimate.value, 4*estimate.se+1e-4, split)
		require.Less(t, estimate.se, enoughError)
	}
}

// softplus returns log(1 + exp(x)).
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// TestMixedTableErrors checks that unsupported settings for mixed tables give errors that name the
// settings.
func TestMixedTableErrors(t *testing.T) {
	parse := func(text string, options tables.DataOptions, model ModelOptions) error {
		parsed, err := table.Parse("mixed.csv", []byte(text))
		require.NoError(t, err)
		d, err := tables.NewData(parsed, options)
		if err == nil {
			_, err = NewProblem(d, model, tables.Constraints{})
		}
		return err
	}
	text := "x,k,y\n1.5,a,2\n2.5,b,4\n3.25,b,4\n4.5,a,2\n"
	numbers := tables.DataOptions{Continuous: []string{"y"}}
	require.ErrorContains(t, parse(text, numbers, ModelOptions{}), `column "y" is a linear function of ["k"] without any noise`)
	require.ErrorContains(t, parse(text, tables.DataOptions{Exclude: []string{"y"}}, ModelOptions{Mechanism: sem.BGe}), `column "k": got categories, want numbers, because the mechanisms are bge; mechanisms for this table: mixed`)
	require.ErrorContains(t, parse(text, tables.DataOptions{Exclude: []string{"y"}}, ModelOptions{Sigma: 1}), "sigma")
	long := "x,k\n"
	for row := range 30 {
		long += fmt.Sprintf("%d.5,k%d\n", row, row)
	}
	require.ErrorContains(t, parse(long, tables.DataOptions{}, ModelOptions{}), "has 30 different values, want at most 20 of a category beside numbers")
}

// Evidences in mixed tables agree with naive computations, within 4 standard errors. Edge
// probabilities agree with an enumeration of all graphs with the naive evidences.
func TestMixedEvidences(t *testing.T) {
	const draws = 6_000
	for name, text := range mixedTables() {
		p := mixedTable(t, text, ModelOptions{})
		require.Equal(t, sem.Mixed, p.Model.Mechanism)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		naive, lists := map[dgraph.Family]float64{}, make([][]dgraph.Set, 3)
		worst := 0.0
		for k, f := range scores.Families {
			want, se := naiveEvidence(p, f, draws, false)
			naive[f], lists[f.Node] = want, append(lists[f.Node], f.Parents)
			worst = max(worst, se)
			require.InDelta(t, want, scores.LogEvidence[k], 4*math.Hypot(se, scores.SE[k])+1e-6, "%s: %v", name, p.FamilyName(f))
			require.Less(t, scores.KHat[k], 0.7, "%s: %v", name, p.FamilyName(f))
		}
		posterior, err := NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		total, edges := 0.0, dgraph.Zeros(3)
		testkit.EachGraph(lists, func(parents []dgraph.Set) bool {
			weight := 0.0
			for j, set := range parents {
				weight += naive[dgraph.Family{Node: j, Parents: set}] + p.Structure.Prior.LogWeight(j, set)
			}
			weight = math.Exp(weight)
			total += weight
			for _, e := range dgraph.OrderedPairs(3) {
				edges[e.From][e.To] += weight * dgraph.Indicator(parents[e.To].Has(e.From))
			}
			return true
		})
		got, errors := posterior.EdgeProbabilities(), posterior.EdgeErrors(sampleOf(t, posterior, randomOf(1), 2000))
		for _, e := range dgraph.OrderedPairs(3) {
			require.InDelta(t, edges[e.From][e.To]/total, got[e.From][e.To], 4*math.Hypot(worst, errors[e.From][e.To]), "%s: %v", name, e)
		}
	}
}
