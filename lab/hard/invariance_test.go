package hard

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// sheet is a table as text, [column][row], with column names.
type sheet struct {
	names []string
	cells [][]string
}

func sheetOf(t *rapid.T, text []byte) *sheet {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	s := &sheet{names: rows[0], cells: make([][]string, len(rows[0]))}
	for _, row := range rows[1:] {
		for c, cell := range row {
			s.cells[c] = append(s.cells[c], cell)
		}
	}
	return s
}

func (s *sheet) csv() []byte {
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	_ = writer.Write(s.names) // writing to a buffer cannot fail
	for i := range s.cells[0] {
		row := make([]string, len(s.cells))
		for c := range row {
			row[c] = s.cells[c][i]
		}
		_ = writer.Write(row)
	}
	writer.Flush()
	return text.Bytes()
}

func (s *sheet) shuffle(random *rand.Rand) {
	rows, columns := random.Perm(len(s.cells[0])), random.Perm(len(s.names))
	names, cells := make([]string, len(columns)), make([][]string, len(columns))
	for c, from := range columns {
		names[c] = s.names[from]
		for _, i := range rows {
			cells[c] = append(cells[c], s.cells[from][i])
		}
	}
	s.names, s.cells = names, cells
}

// rescale changes the units and the origin of all columns of numbers except one.
func (s *sheet) rescale(except string, random *rand.Rand) {
	for c, column := range s.cells {
		scale := math.Pow(10, uniform(random, -3, 3))
		shift := scale * uniform(random, -3, 3)
		values := make([]string, len(column))
		for i, cell := range column {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || s.names[c] == except {
				values = column
				break
			}
			values[i] = strconv.FormatFloat(shift+scale*v, 'g', -1, 64)
		}
		s.cells[c] = values
	}
}

// relabel renames categories. It keeps their order, because the first one is the baseline.
func (s *sheet) relabel(random *rand.Rand) {
	for c, column := range s.cells {
		if _, err := strconv.ParseFloat(column[0], 64); err == nil {
			continue
		}
		old := slices.Compact(slices.Sorted(slices.Values(column)))
		names, letter := make([]string, len(column)), 'a'+random.IntN(20)
		for i, cell := range column {
			names[i] = fmt.Sprintf("%c%d", letter, slices.Index(old, cell))
		}
		s.cells[c] = names
	}
}

func (s *sheet) addConstant() {
	s.names = append(s.names, "constant")
	s.cells = append(s.cells, slices.Repeat([]string{"3"}, len(s.cells[0])))
}

// changes makes some random changes to a table that must not change its answer. It returns a
// description of the changes.
func changes(t *rapid.T, s *sheet, response string, random *rand.Rand) string {
	said := ""
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"shuffled", func() { s.shuffle(random) }},
		{"other units", func() { s.rescale(response, random) }},
		{"other labels", func() { s.relabel(random) }},
		{"a constant column", s.addConstant},
	} {
		if rapid.Bool().Draw(t, change.name) {
			change.do()
			said += ", " + change.name
		}
	}
	return said
}

// requireWithin checks that numbers a and b of two answers, with standard errors seA and seB, agree
// within 4.5 standard errors of their difference.
func requireWithin(t *rapid.T, quantity string, a, b, seA, seB float64) {
	require.InDelta(t, a, b, 1e-5+4.5*math.Hypot(seA, seB), quantity)
}

// ordinaryTable returns a table of three correlated predictors, a factor, and a response.
func ordinaryTable(kind likelihood.Kind, rows int, random *rand.Rand) []byte {
	columns, y := make([][]float64, 3), make([]float64, rows)
	codes := make([]int, rows)
	size := uniform(random, 0, 1.5)
	for i := range y {
		common := random.NormFloat64()
		for j := range columns {
			columns[j] = append(columns[j], 0.6*common+random.NormFloat64())
		}
		codes[i] = random.IntN(3)
		eta := size * (columns[0][i] - 0.5*columns[2][i] + 0.4*float64(codes[i]))
		switch noise := random.NormFloat64(); kind {
		case likelihood.GaussianKind, likelihood.StudentKind:
			y[i] = eta + noise
		case likelihood.LogisticKind:
			y[i] = map[bool]float64{true: 1}[eta+noise > 0]
		default:
			y[i] = drawShaped(kind, eta/2+1, 3, random)
		}
	}
	return calibrate.CSV(append(calibrate.Numbered("x", columns...), calibrate.Labelled("f", "l", codes), table.Numbers("y", y))...)
}

// fixedChecks runs the given number of checks of a property with a fixed seed. Flags can set other
// numbers and seeds:
//
//	go test ./lab/hard -run Invariant -rapid.checks 200 -rapid.seed 0
func fixedChecks(t *testing.T, checks int, property func(t *rapid.T, device *gpu.Device, dir string)) {
	t.Helper()
	testkit.Slow(t)
	for name, value := range map[string]int{"rapid.checks": checks, "rapid.seed": 1} {
		if known := flag.Lookup(name); known.Value.String() == known.DefValue {
			require.NoError(t, flag.Set(name, strconv.Itoa(value)))
			defer func() { require.NoError(t, flag.Set(name, known.DefValue)) }()
		}
	}
	opened, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer opened.Close()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) { property(t, opened, dir) })
}

// askVarsel returns the answer of vti varsel to a problem.
func askVarsel(t *rapid.T, device *gpu.Device, dir string, p *calibrate.VarselProblem) (verdict string, found *varsel.Result) {
	p.Exact = func(_ context.Context, _ *varsel.Problem, result *varsel.Result) ([]calibrate.Comparison, error) {
		found = result
		return nil, nil
	}
	r, err := calibrate.AnswerVarsel(t.Context(), device, p, 1, dir)
	require.NoError(t, err)
	require.Empty(t, r.Error)
	return r.Verdict, found
}

// requireSameInclusion compares the inclusion probabilities of predictors, which it matches by
// name.
func requireSameInclusion(t *rapid.T, quantity string, before, after *varsel.Result) {
	require.Equal(t, len(before.Inclusion), len(after.Inclusion))
	for _, one := range before.Inclusion {
		at := slices.IndexFunc(after.Inclusion, func(other varsel.Inclusion) bool { return other.Name == one.Name })
		require.GreaterOrEqual(t, at, 0, one.Name)
		other := after.Inclusion[at]
		requireWithin(t, quantity+one.Name, float64(one.Certified), float64(other.Certified), float64(one.SE), float64(other.SE))
	}
}

// TestSelectionsAreInvariant checks that selections of ordinary tables do not depend on the order
// of rows and columns, on units, on names of categories or on constant columns. Probabilities must
// agree within 4.5 standard errors of their difference, which one number in 150,000 exceeds by
// chance.
func TestSelectionsAreInvariant(t *testing.T) {
	kinds := []likelihood.Kind{
		likelihood.GaussianKind, likelihood.LogisticKind, likelihood.PoissonKind, likelihood.GammaKind,
		likelihood.WeibullKind, likelihood.NegativeBinomialKind, likelihood.StudentKind,
	}
	fixedChecks(t, 2, func(t *rapid.T, device *gpu.Device, dir string) {
		kind := rapid.SampledFrom(kinds).Draw(t, "likelihood")
		random := stream.Rand(rapid.Uint64Range(0, 1<<20).Draw(t, "table"), "invariance")
		p := &calibrate.VarselProblem{Record: quick(kind), CSV: ordinaryTable(kind, 30+random.IntN(40), random)}
		p.Record.Draws, p.Record.Design.DropDegenerate = 1<<14, true
		first, before := askVarsel(t, device, dir, p)
		s := sheetOf(t, p.CSV)
		unscaled := "y"
		if kind == likelihood.GaussianKind || kind == likelihood.StudentKind {
			unscaled = "" // its priors refer to the mean and sd of the column
		}
		said := changes(t, s, unscaled, random)
		p.CSV = s.csv()
		second, after := askVarsel(t, device, dir, p)
		if first != "trusted" || second != "trusted" {
			t.Skip("not trusted")
		}
		requireSameInclusion(t, fmt.Sprintf("%v%s: ", kind, said), before, after)
	})
}

// TestTrialsSplit checks that the answer is the same whether trials are in one row or in several.
func TestTrialsSplit(t *testing.T) {
	fixedChecks(t, 2, func(t *rapid.T, device *gpu.Device, dir string) {
		random := stream.Rand(rapid.Uint64Range(0, 1<<20).Draw(t, "table"), "trials")
		whole, parts := &sheet{names: []string{"x1", "x2", "y", "n"}, cells: make([][]string, 4)}, &sheet{names: []string{"x1", "x2", "y", "n"}, cells: make([][]string, 4)}
		add := func(s *sheet, values ...float64) {
			for c, v := range values {
				s.cells[c] = append(s.cells[c], strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		for range 12 {
			x1, x2, counts := random.NormFloat64(), random.NormFloat64(), [2][2]float64{}
			for part := range counts {
				for range 1 + random.IntN(5) {
					counts[part][1]++
					if random.NormFloat64() < x1 {
						counts[part][0]++
					}
				}
				add(parts, x1, x2, counts[part][0], counts[part][1])
			}
			add(whole, x1, x2, counts[0][0]+counts[1][0], counts[0][1]+counts[1][1])
		}
		p := &calibrate.VarselProblem{Record: quick(likelihood.LogisticKind), CSV: whole.csv()}
		p.Record.Draws, p.Record.Design.Trials = 1<<14, "n"
		first, before := askVarsel(t, device, dir, p)
		p.CSV = parts.csv()
		second, after := askVarsel(t, device, dir, p)
		require.Equal(t, []string{"trusted", "trusted"}, []string{first, second})
		requireSameInclusion(t, "", before, after)
	})
}

// TestGraphsAreInvariant checks that graphs of numbers and of categories do not depend on the order
// of rows and columns, on units, on names of categories or on constant columns. Sums over all
// graphs must agree up to rounding errors.
func TestGraphsAreInvariant(t *testing.T) {
	fixedChecks(t, 20, func(t *rapid.T, device *gpu.Device, dir string) {
		mechanism := rapid.SampledFrom([]dag.Mechanism{dag.BGe, dag.Linear, dag.Categorical}).Draw(t, "mechanism")
		random := stream.Rand(rapid.Uint64Range(0, 1<<20).Draw(t, "table"), "graphs")
		rows, size := 10+random.IntN(60), uniform(random, 0, 2)
		columns := make([]*table.Column, 4)
		before := make([]float64, rows)
		for j := range columns {
			values, codes := make([]float64, rows), make([]int, rows)
			for i := range values {
				values[i] = size*before[i] + random.NormFloat64()
				codes[i] = min(max(int(math.Round(values[i])), -1), 1) + 1
			}
			columns[j] = table.Numbers(fmt.Sprintf("v%d", j+1), values)
			if mechanism == dag.Categorical {
				columns[j] = calibrate.Labelled(fmt.Sprintf("v%d", j+1), "l", codes)
			}
			before = values
		}
		p := &calibrate.DagProblem{CSV: calibrate.CSV(columns...)}
		p.Record.Model.Mechanism = mechanism
		edgesOf := func() map[[2]string]float64 {
			edges := map[[2]string]float64{}
			p.Exact = func(_ context.Context, _ *dag.Problem, result *dag.Result) ([]calibrate.Comparison, error) {
				for _, e := range result.Edges {
					edges[[2]string{e.From, e.To}], edges[[2]string{e.To, e.From}] = float64(e.Prob), float64(e.ProbReverse)
				}
				return nil, nil
			}
			r, err := calibrate.AnswerDag(t.Context(), device, p, 1, dir)
			require.NoError(t, err)
			require.Equal(t, "trusted", r.Verdict, r.Error)
			return edges
		}
		first := edgesOf()
		s := sheetOf(t, p.CSV)
		said := changes(t, s, "", random)
		p.CSV = s.csv()
		second := edgesOf()
		require.Len(t, second, len(first))
		for edge, probability := range first {
			require.InDelta(t, probability, second[edge], 1e-6, "%v%s: %v", mechanism, said, edge)
		}
	})
}

// askHbm returns the answer of vti hbm to a problem.
func askHbm(t require.TestingT, device *gpu.Device, p *calibrate.HbmProblem, dir string) (found *regression.Result) {
	p.Exact = func(_ context.Context, _ *regression.Regression, result *regression.Result) ([]calibrate.Comparison, error) {
		found = result
		return nil, nil
	}
	r, err := calibrate.AnswerHbm(context.Background(), device, p, 1, dir)
	require.NoError(t, err)
	require.Empty(t, r.Error)
	return found
}

// TestHierarchiesAreInvariant checks that hierarchical regressions do not depend on the order of
// rows and columns, on the units of predictors or on names of groups. Evidences and standard
// deviations must agree within 4.5 standard errors.
func TestHierarchiesAreInvariant(t *testing.T) {
	testkit.Long(t)
	fixedChecks(t, 3, func(t *rapid.T, device *gpu.Device, dir string) {
		h := Hbm{Device: device}
		h.Record.Frame.Response = rapid.SampledFrom([]likelihood.Kind{likelihood.GaussianKind, likelihood.PoissonKind, likelihood.LogisticKind, likelihood.ExponentialKind, likelihood.LogNormalKind}).Draw(t, "response")
		p := h.problem(stream.Rand(rapid.Uint64Range(0, 1<<20).Draw(t, "table"), "hierarchies"))
		first := askHbm(t, device, p, dir)
		s := sheetOf(t, p.CSV)
		random := stream.Rand(1, "changes")
		s.shuffle(random)
		s.rescale("y", random)
		s.relabel(random)
		s.addConstant()
		p.CSV = s.csv()
		second := askHbm(t, device, p, dir)
		if first.Certificate.Verdict != vti.Trusted || second.Certificate.Verdict != vti.Trusted {
			t.Skip("not trusted")
		}
		requireWithin(t, "log evidence", float64(*first.LogEvidence), float64(*second.LogEvidence), float64(*first.LogEvidenceSE), float64(*second.LogEvidenceSE))
		for i, one := range first.SDs {
			other := second.SDs[i]
			require.Equal(t, one.Name, other.Name)
			if sum := float64(one.Mean + other.Mean); !math.IsNaN(sum) {
				requireWithin(t, one.Name, float64(one.Mean), float64(other.Mean), float64(one.MeanSE), float64(other.MeanSE))
			}
		}
	})
}

// TestFewerDrawsAreNotTrustedMore checks that a run with few draws is trusted only if the run with
// many draws is trusted too. For at least one table, only the run with many draws is trusted.
func TestFewerDrawsAreNotTrustedMore(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	worse := 0
	for _, table := range []uint64{0, 2} {
		random := stream.Rand(table, "fewer draws")
		p := &calibrate.VarselProblem{Record: quick(likelihood.StudentKind), CSV: ordinaryTable(likelihood.StudentKind, 5+random.IntN(20), random)}
		p.Record.Design.DropDegenerate = true
		verdictOf := func(draws int) string {
			p.Record.Draws = draws
			r, err := calibrate.AnswerVarsel(t.Context(), device, p, 1, t.TempDir())
			require.NoError(t, err)
			return r.Verdict
		}
		switch few, many := verdictOf(1<<4), verdictOf(1<<13); {
		case few == "trusted":
			require.Equal(t, "trusted", many)
		case many == "trusted":
			worse++
		}
	}
	require.Positive(t, worse)
}
