package mixture

import (
	gocontext "context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

// evidence is log p(y | k) with its standard error by numerical integration over all coordinates.
func (p *Problem) evidence(t *testing.T, k int) (log, se float64) {
	t.Helper()
	dim := blockSize * k
	centre, width := make([]float64, dim), make([]float64, dim)
	for j := range k {
		centre[3*j+1], centre[3*j+2] = math.Log(0.4), math.Log(0.03)
		width[3*j], width[3*j+1], width[3*j+2] = 2, 1.5, 1.5
	}
	centre[0], centre[1], width[0], width[1] = math.Log(0.02), -0.3, 2, 0.5
	random := stream.Rand(1, "integrate")
	proposal, err := integrate.Adapt(gocontext.Background(), integrate.Problem{Centre: centre, Width: width, LogDensity: p.LogJoint}, random)
	require.NoError(t, err)
	s := &integrate.Sample{}
	require.NoError(t, proposal.Draw(gocontext.Background(), s, 150_000, random))
	logs := s.LogWeights()
	largest := math.Inf(-1)
	for _, l := range logs {
		largest = math.Max(largest, l)
	}
	mean, square, n := 0.0, 0.0, float64(len(logs))
	for _, l := range logs {
		w := math.Exp(l - largest)
		mean += w / n
		square += w * w / n
	}
	return largest + math.Log(mean), math.Sqrt((square/(mean*mean) - 1) / n)
}

// small is a table of 20 values from a mixture of up to three components.
func small(seed uint64) []float64 {
	random := stream.Rand(seed, "small")
	k := 1 + random.IntN(3)
	means, sds := make([]float64, k), make([]float64, k)
	for j := range means {
		means[j], sds[j] = 4*random.NormFloat64(), 0.3+random.Float64()
	}
	y := make([]float64, 20)
	for i := range y {
		j := random.IntN(k)
		y[i] = means[j] + sds[j]*random.NormFloat64()
	}
	return y
}

// p(k) of ten small mixtures is that of numerical integrals, to 0.01 and the errors of both.
func TestSmallMixturesAgreeWithIntegrals(t *testing.T) {
	if testing.Short() {
		t.Skip("integrals in nine dimensions take a minute")
	}
	const tables = 10
	compared := 0
	for seed := range tables {
		p := problemOf(t, Options{MaxComponents: 3}, small(uint64(seed)))
		s, err := p.Sample(gocontext.Background(), SampleConfig{Sweeps: 40_000, Error: 0.002})
		require.NoError(t, err)
		logs, errs := [3]float64{}, [3]float64{}
		largest := math.Inf(-1)
		for k := range logs {
			logs[k], errs[k] = p.evidence(t, k+1)
			largest = math.Max(largest, logs[k])
		}
		total, mass := 0.0, [3]float64{}
		for k, l := range logs {
			mass[k] = math.Exp(l - largest)
			total += mass[k]
		}
		for k := range mass {
			want := mass[k] / total
			// of a share, the errors of the three being independent
			se := want * math.Sqrt(math.Pow(errs[k]*(1-want), 2)+math.Pow(errs[(k+1)%3]*mass[(k+1)%3]/total, 2)+math.Pow(errs[(k+2)%3]*mass[(k+2)%3]/total, 2))
			if se > 0.015 {
				continue // the integral is not precise
			}
			compared++
			for _, e := range []*estimate{&s.jumping, &s.cluster} {
				// Ten tables, three numbers, two methods: 4 standard errors are exceeded in
				// about 1 of 250 runs.
				require.InDelta(t, want, e.probability[k], 0.003+4*math.Hypot(se, e.se[k]), "table %d, k = %d", seed, k+1)
			}
		}
		t.Logf("table %d: integrals %.4f %.4f %.4f; jumps %.4f; partitions %.4f", seed, mass[0]/total, mass[1]/total, mass[2]/total, s.jumping.probability, s.cluster.probability)
	}
	require.Greater(t, compared, 3*tables/2, "too few integrals are precise")
}

// Given the clusters of the rows, p(k) is proportional to the number of ways in which they can be
// components, and sums to one; no more clusters than components are opened.
func TestSizes(t *testing.T) {
	p := problemOf(t, Options{MaxComponents: 4}, []float64{1, 2.5, 2.7, 4, 9, 9.3})
	given, novelty := p.sizes()
	require.Zero(t, novelty[4])
	require.InDeltaSlice(t, []float64{0, 0, 0, 1}, given[4], 1e-12)
	for clusters := 1; clusters <= 4; clusters++ {
		total, want := 0.0, make([]float64, 4)
		for k := clusters; k <= 4; k++ {
			ways := 1.0
			for c := range clusters {
				ways *= float64(k - c)
			}
			for i := range 6 {
				ways /= float64(k + i)
			}
			want[k-1] = ways
			total += ways
		}
		for k := range want {
			want[k] /= total
		}
		require.InDeltaSlice(t, want, given[clusters], 1e-12)
	}
}

// What cannot be analysed is said, with the column.
func TestBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		csv     string
		options Options
		want    string
	}{
		"constant":  {"y\n2\n2\n2\n2\n", Options{Column: "y"}, `column "y" is constant: every value is 2`},
		"ties":      {"y\n1\n2\n1\n2\n1\n2\n", Options{Column: "y"}, `column "y" has 2 different values in 6 rows`},
		"few":       {"y\n1\n2\n3\n4\n", Options{Column: "y", MaxComponents: 5}, "got 4 rows, fewer than the 5 components"},
		"missing":   {"y,z\n1,1\n,2\n3,3\n4,4\n", Options{Column: "y"}, `line 3, column "y": the value is missing`},
		"texts":     {"y\na\nb\nc\nd\n", Options{Column: "y"}, "got texts such as \"a\""},
		"no column": {"y\n1\n2\n3\n4\n", Options{}, "want the column of values"},
		"too many":  {"y\n1\n2\n3\n4\n", Options{Column: "y", MaxComponents: 101}, "got 101, want 1 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := table.Parse("data.csv", []byte(test.csv))
			require.NoError(t, err)
			_, err = NewProblem(data, test.options)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// A run answers in its first line, writes its files, and the same seed gives the same numbers.
func TestRunIsComplete(t *testing.T) {
	y := make([]float64, 60)
	random := stream.Rand(5, "two")
	for i := range y {
		y[i] = 10*float64(i%2) + random.NormFloat64()
	}
	p := problemOf(t, Options{MaxComponents: 4}, y)
	config := RunConfig{Dir: t.TempDir(), Sample: SampleConfig{Seed: 1, Sweeps: 8000}}
	r, err := Run(gocontext.Background(), p, config)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(r.Answer, "Most probably 2 components (probability 0."), r.Answer)
	require.NotEqual(t, vti.Failed, r.Certificate.Verdict, r.Certificate.Reasons)
	require.InDelta(t, 0, float64(r.Given.List[0].Mean.Median), 0.6)
	require.InDelta(t, 10, float64(r.Given.List[1].Mean.Median), 0.6)
	for i, row := range r.Rows {
		require.Equal(t, i%2+1, row.Component)
	}
	area := 0.0
	for i := 1; i < len(r.Density); i++ {
		area += float64(r.Density[i].At-r.Density[i-1].At) * float64(r.Density[i].Mean+r.Density[i-1].Mean) / 2
	}
	require.InDelta(t, 1, area, 0.03)
	for _, name := range Files() {
		info, err := os.Stat(filepath.Join(config.Dir, name))
		require.NoError(t, err)
		require.Positive(t, info.Size())
	}
	config.Dir = ""
	again, err := Run(gocontext.Background(), p, config)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(r.Counts), fmt.Sprint(again.Counts))
}
