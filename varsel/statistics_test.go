package varsel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// region is a sample of correlated genotypes with a response, stored by columns.
type region struct {
	names   []string
	columns [][]float64
	y       []float64
}

// newRegion draws the genotypes of the given number of people at p markers. Neighbouring markers
// are correlated, the last two by about .99. The response has two causes, columns 2 and p−3, with
// effects of equal or opposite sign, which explain the given share of its variance if the two are
// not correlated.
func newRegion(random *rand.Rand, rows, p int, share float64) *region {
	r := &region{columns: make([][]float64, p), y: make([]float64, rows)}
	for j := range p {
		r.names = append(r.names, fmt.Sprintf("rs%d", j+1))
		r.columns[j] = make([]float64, rows)
	}
	for i := range rows {
		for range 2 { // each person has two copies of the chromosome
			latent := random.NormFloat64()
			for j := range p {
				step := 0.98
				if j == p-1 {
					step = 0.9998
				}
				latent = step*latent + math.Sqrt(1-step*step)*random.NormFloat64()
				if latent < 0.3 {
					r.columns[j][i]++
				}
			}
		}
	}
	sd := func(j int) float64 { return stat.StdDev(r.columns[j], nil) }
	other := float64(2*random.IntN(2)-1) / sd(p-3)
	for i := range r.y {
		r.y[i] = 7 + 3*(math.Sqrt(share/2)*(r.columns[2][i]/sd(2)+r.columns[p-3][i]*other)+math.Sqrt(1-share)*random.NormFloat64())
	}
	return r
}

// correlations returns the correlations of the columns.
func (r *region) correlations() [][]float64 {
	out := make([][]float64, len(r.columns))
	for i, x := range r.columns {
		for _, y := range r.columns {
			out[i] = append(out[i], stat.Correlation(x, y, nil))
		}
		out[i][i] = 1
	}
	return out
}

func (r *region) z() (z []float64) {
	for _, x := range r.columns {
		c := stat.Correlation(x, r.y, nil)
		z = append(z, c*math.Sqrt(float64(len(r.y)-2)/(1-c*c)))
	}
	return z
}

func (r *region) rows(t testing.TB) *Problem {
	columns := []*table.Column{table.Numbers("y", r.y)}
	for j, x := range r.columns {
		columns = append(columns, table.Numbers(r.names[j], x))
	}
	d, err := NewDesign(must(table.New("rows", columns...)), DesignOptions{Target: "y", Likelihood: likelihood.GaussianKind, DropDegenerate: true})
	require.NoError(t, err)
	return must(NewProblem(d, ModelOptions{}.ForMany(len(r.names), false)))
}

// matrix returns a table of a matrix whose columns are named after the markers.
func (r *region) matrix(m [][]float64) *table.Table {
	var columns []*table.Column
	for j := range m {
		column := make([]float64, len(m))
		for i := range m {
			column[i] = m[i][j]
		}
		columns = append(columns, table.Numbers(r.names[j], column))
	}
	return must(table.New("ld", columns...))
}

func (r *region) scores(columns map[string][]float64) *table.Table {
	all := []*table.Column{table.Texts("name", r.names)}
	for name, values := range columns {
		all = append(all, table.Numbers(name, values))
	}
	return must(table.New("scores", all...))
}

// statistics returns the problem of the given z-scores and correlations.
func (r *region) statistics(t testing.TB, z []float64, ld [][]float64, samples int) *Problem {
	s, err := design.ReadStatistics(r.scores(map[string][]float64{"z": z}), r.matrix(ld), samples)
	require.NoError(t, err)
	return statisticsProblem(t, s)
}

func statisticsProblem(t testing.TB, s *design.Statistics) *Problem {
	d, err := design.OfStatistics("scores", s, DesignOptions{Target: "y", Likelihood: likelihood.GaussianKind, DropDegenerate: true})
	require.NoError(t, err)
	return must(NewProblem(d, ModelOptions{}.ForMany(len(s.Names), false)))
}

// answer returns the exact answer, and its certificate after z-scores and correlations are compared
// with each other.
func answer(t testing.TB, p *Problem) (*exact.Answer, *vti.Certificate) {
	asked, err := p.ExactProblem()
	require.NoError(t, err)
	asked.TopModels = 1 << 12
	a, err := exact.Enumerate(t.Context(), asked)
	require.NoError(t, err)
	c := &vti.Certificate{Verdict: vti.Trusted}
	for _, m := range a.Models {
		c.Models = append(c.Models, engine.Estimate{Code: m.Code, Certified: m.Probability})
	}
	_, err = p.reconcile(c)
	require.NoError(t, err)
	return a, c
}

// z-scores, or coefficients with standard errors, must give the answer of the rows up to rounding:
// log evidences, inclusion probabilities and (not from z-scores) means of coefficients.
func TestStatisticsAreSufficient(t *testing.T) {
	r := newRegion(rand.New(rand.NewPCG(1, 2)), 300, 9, 0.1)
	rows, _ := answer(t, r.rows(t))
	var beta, se []float64
	for i, x := range r.columns {
		_, slope := stat.LinearRegression(x, r.y, nil, false)
		beta, se = append(beta, slope), append(se, slope/r.z()[i])
	}
	jacobian := -float64(len(r.y)) * math.Log(stat.StdDev(r.y, nil))
	for name, columns := range map[string]map[string][]float64{"z": {"z": r.z()}, "beta and se": {"beta": beta, "se": se}} {
		s, err := design.ReadStatistics(r.scores(columns), r.matrix(r.correlations()), len(r.y))
		require.NoError(t, err, name)
		p := statisticsProblem(t, s)
		got, certificate := answer(t, p)
		require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
		require.InDelta(t, rows.LogEvidence, got.LogEvidence+jacobian, 1e-8, name)
		require.InDeltaSlice(t, rows.Inclusion, got.Inclusion, 1e-8, name)
		for k, m := range got.Models[:20] {
			require.Equal(t, rows.Models[k].Code, m.Code)
			require.InDelta(t, rows.Models[k].LogEvidence, m.LogEvidence+jacobian, 1e-8, name)
		}
		if name != "z" {
			for j := range r.names {
				require.InDelta(t, rows.Coefficients[j+1].Averaged.Mean, got.Coefficients[j+1].Averaged.Mean, 1e-8, "%s, coefficient %d", name, j)
			}
		}
	}
}

// With more predictors (130) than rows (120), a run on summary statistics must give the results of
// a run on the rows: verdict, log evidence, inclusion probabilities and credible sets.
func TestStatisticsOfManyPredictors(t *testing.T) {
	testkit.Slow(t)
	device, r := openDevice(t), newRegion(rand.New(rand.NewPCG(5, 6)), 120, 130, 0.4) // more predictors than rows
	run := func(p *Problem) *Result {
		fit, err := (&Record{Seed: 3}).FitConfig(p)
		require.NoError(t, err)
		result, err := Run(t.Context(), device, p, RunConfig{Fit: fit})
		require.NoError(t, err)
		return result
	}
	rows, got := run(r.rows(t)), run(r.statistics(t, r.z(), r.correlations(), len(r.y)))
	require.Equal(t, rows.Certificate.Verdict, got.Certificate.Verdict, got.Certificate.Reasons)
	require.Nil(t, got.ModelCheck)
	require.InDelta(t, float64(*rows.LogEvidence), float64(*got.LogEvidence)-float64(len(r.y))*math.Log(stat.StdDev(r.y, nil)), 1e-6)
	for j, i := range rows.Inclusion {
		require.InDelta(t, float64(i.Certified), float64(got.Inclusion[j].Certified), 1e-6, i.Name)
	}
	require.Equal(t, len(rows.CredibleSets), len(got.CredibleSets))
	for k, set := range rows.CredibleSets {
		require.Equal(t, set.Predictors, got.CredibleSets[k].Predictors)
		require.InDelta(t, float64(set.Purity), float64(got.CredibleSets[k].Purity), 1e-8)
	}
}

// Each case puts one fault into the statistics of 20 tables. It limits the number of trusted
// answers that are off by more than a tenth, and may require doubtful verdicts. A wrong number of
// rows, and undeclared correlations of other people, may pass unnoticed.
func TestStatisticsThatContradict(t *testing.T) {
	testkit.Slow(t)
	const tables, n, p = 20, 2000, 10
	round := func(values []float64, unit float64) []float64 {
		out := slices.Clone(values)
		for i, v := range out {
			out[i] = math.Round(v/unit) * unit
		}
		return out
	}
	type statistics struct {
		z                  []float64
		ld                 [][]float64
		samples, ldSamples int
	}
	faults := []struct {
		name  string
		spoil func(random *rand.Rand, r *region, s *statistics)
		// doubtful is the smallest allowed number of tables whose answers are not trusted, and
		// wrong the largest allowed number of trusted answers that are off.
		doubtful, wrong int
	}{
		{"none", func(*rand.Rand, *region, *statistics) {}, 0, 0},
		{"z of three decimals", func(_ *rand.Rand, _ *region, s *statistics) { s.z = round(s.z, 1e-3) }, 0, 0},
		{"z of one decimal", func(_ *rand.Rand, _ *region, s *statistics) { s.z = round(s.z, 0.1) }, 0, 2},
		{"correlations of 200 others", func(random *rand.Rand, _ *region, s *statistics) {
			s.ld, s.ldSamples = newRegion(random, 200, p, 0.1).correlations(), 200
		}, tables, 0},
		{"correlations of 200 others, not told", func(random *rand.Rand, _ *region, s *statistics) {
			s.ld = newRegion(random, 200, p, 0.1).correlations()
		}, 0, tables},
		{"an exchanged allele", func(random *rand.Rand, _ *region, s *statistics) { s.z[1+random.IntN(4)] *= -1 }, 13, 4},
		{"a typing error", func(random *rand.Rand, _ *region, s *statistics) { s.z[random.IntN(p)] += 8 }, 18, 1},
		{"half of the samples", func(_ *rand.Rand, _ *region, s *statistics) { s.samples /= 2 }, 0, tables},
		{"a twentieth of the samples", func(_ *rand.Rand, _ *region, s *statistics) { s.samples /= 20 }, 0, tables},
		{"a duplicate with another z", func(_ *rand.Rand, _ *region, s *statistics) {
			for j := range p {
				s.ld[p-1][j], s.ld[j][p-1] = s.ld[p-2][j], s.ld[j][p-2]
			}
			s.ld[p-1][p-1], s.z[p-1] = 1, s.z[p-2]+0.5
		}, tables, 0},
	}
	regions, truths := make([]*region, tables), make([]*exact.Answer, tables)
	for k := range tables {
		regions[k] = newRegion(rand.New(rand.NewPCG(7, uint64(k))), n, p, 0.05)
		truths[k], _ = answer(t, regions[k].rows(t))
	}
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			if fault.doubtful < tables {
				testkit.Long(t)
			}
			doubtful, wrong := 0, 0
			for k, r := range regions {
				s := &statistics{z: r.z(), ld: r.correlations(), samples: n}
				fault.spoil(rand.New(rand.NewPCG(8, uint64(k))), r, s)
				problem := r.statistics(t, s.z, s.ld, s.samples)
				problem.Design.Statistics.LDSamples = s.ldSamples
				got, certificate := answer(t, problem)
				off := 0.0
				for j, predictor := range problem.Design.Predictors {
					off = math.Max(off, math.Abs(got.Inclusion[j]-truths[k].Inclusion[slices.Index(r.names, predictor.Name)]))
				}
				if certificate.Verdict != vti.Trusted {
					doubtful++
				} else if off > 0.1 {
					wrong++
				}
			}
			t.Logf("%d of %d doubtful, %d trusted and off by more than .1", doubtful, tables, wrong)
			assert.GreaterOrEqual(t, doubtful, fault.doubtful)
			assert.LessOrEqual(t, wrong, fault.wrong)
			if fault.name == "none" { // with opposite effects, causes that hide each other would look like errors
				assert.LessOrEqual(t, doubtful, 3)
			}
		})
	}
}

func TestStatisticsErrors(t *testing.T) {
	r := newRegion(rand.New(rand.NewPCG(1, 2)), 300, 5, 0.1)
	scores := func(columns map[string][]float64) *table.Table { return r.scores(columns) }
	z := scores(map[string][]float64{"z": r.z()})
	spoiled := func(i, j int, to float64) *table.Table {
		ld := r.correlations()
		ld[i][j] = to
		return r.matrix(ld)
	}
	both := r.correlations()
	both[0][1], both[1][0] = -both[0][1], -both[1][0]
	twins := r.correlations()
	for j := range twins {
		twins[4][j], twins[j][4] = twins[3][j], twins[3][j]
	}
	twins[4][4] = 1
	other := must(table.New("ld", slices.Collect(func(yield func(*table.Column) bool) {
		for j := range 5 {
			if !yield(table.Numbers(fmt.Sprintf("snp%d", j), make([]float64, 5))) {
				return
			}
		}
	})...))
	for name, c := range map[string]struct {
		scores, ld *table.Table
		samples    int
		want       string
	}{
		"few samples":   {z, r.matrix(r.correlations()), 2, "got 2 samples"},
		"no z":          {scores(map[string][]float64{"t": r.z()}), r.matrix(r.correlations()), 300, "want a column z, or beta and se"},
		"a se of 0":     {scores(map[string][]float64{"beta": r.z(), "se": make([]float64, 5)}), r.matrix(r.correlations()), 300, `want a positive se`},
		"size":          {z, must(table.New("ld", table.Numbers("rs1", []float64{1}))), 300, "got 1 rows and 1 columns, want 5 of each"},
		"names":         {z, other, 300, `no column is named "rs1"`},
		"not symmetric": {z, spoiled(1, 3, 0.99), 300, "not symmetric"},
		"diagonal":      {z, spoiled(2, 2, 4), 300, "the diagonal at \"rs3\" is 4"},
		"missing":       {z, spoiled(1, 3, math.NaN()), 300, "missing"},
		"indefinite":    {z, r.matrix(both), 300, "not positive semidefinite"},
		"duplicates":    {z, r.matrix(twins), 300, `"rs5" is "rs4" up to shift and scale`},
	} {
		s, err := design.ReadStatistics(c.scores, c.ld, c.samples)
		if err == nil {
			_, err = design.OfStatistics("scores", s, DesignOptions{Target: "y"})
		}
		require.ErrorContains(t, err, c.want, name)
	}
}

// A record rebuilds its problem from the files of z-scores and correlations, as long as these are
// unchanged.
func TestStatisticsRun(t *testing.T) {
	r, dir := newRegion(rand.New(rand.NewPCG(1, 2)), 300, 6, 0.1), t.TempDir()
	scores, ld := filepath.Join(dir, "z.csv"), filepath.Join(dir, "ld.csv")
	text := "name,z\n"
	for j, z := range r.z() {
		text += fmt.Sprintf("%s,%v\n", r.names[j], z)
	}
	require.NoError(t, os.WriteFile(scores, []byte(text), 0o600))
	require.NoError(t, r.matrix(r.correlations()).WriteParquet(ld, r.names, func(int) bool { return true }))
	record := &Record{Summary: &Summary{LD: ld, Samples: 300}}
	record.Data, record.Design.Likelihood, record.Design.Target = scores, likelihood.GaussianKind, "y"
	problem, err := record.Problem()
	require.NoError(t, err)
	require.Equal(t, 300, problem.Design.Rows())
	require.NoError(t, os.WriteFile(ld, []byte("rs1\n1\n"), 0o600))
	_, err = record.Problem()
	require.ErrorContains(t, err, "has changed since the run started")
}
