package mixture

import (
	gocontext "context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
)

// The test compares p(k | t clusters) with its definition for 6 rows: k!/(k−t)!, the number of ways
// to make the clusters different components of k, divided by k(k+1)⋯(k+5) and normalised. With
// MaxComponents clusters, new clusters have weight zero.
func TestSizes(t *testing.T) {
	p := problemOf(t, Options{MaxComponents: 4}, []float64{1, 2.5, 2.7, 4, 9, 9.3})
	componentsGiven, novelty := p.sizes()
	require.Zero(t, novelty[4])
	require.InDeltaSlice(t, []float64{0, 0, 0, 1}, componentsGiven[4], 1e-12)
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
		require.InDeltaSlice(t, want, componentsGiven[clusters], 1e-12)
	}
}

// Errors about invalid tables name the column.
func TestBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		csv     string
		options Options
		want    string
	}{
		"constant":  {"y\n2\n2\n2\n2\n", Options{Columns: []string{"y"}}, `column "y" is constant: every value is 2`},
		"ties":      {"y\n1\n2\n1\n2\n1\n2\n", Options{Columns: []string{"y"}}, `column "y" has 2 different values in 6 rows`},
		"negative":  {"y\n1\n2\n-1\n2\n", Options{Columns: []string{"y"}, Family: Poisson}, `line 4, column "y": got -1, want counts`},
		"halves":    {"y\n1\n2.5\n1\n2\n", Options{Columns: []string{"y"}, Family: Poisson}, `line 3, column "y": got 2.5, want counts`},
		"no counts": {"y\n0\n0\n0\n0\n", Options{Columns: []string{"y"}, Family: Poisson}, `constant`},
		"copy":      {"y,z\n1,2\n2,4\n3.5,7\n5,10\n6,12\n", Options{Columns: []string{"y", "z"}}, `column "z" is a combination of those before it`},
		"rounding":  {"y\n1e15\n1000000000000001\n1000000000000002\n", Options{Columns: []string{"y"}}, "cannot be distinguished from rounding"},
		"few":       {"y\n1\n2\n3\n4\n", Options{Columns: []string{"y"}, MaxComponents: 5}, "got 4 rows, fewer than the 5 components"},
		"missing":   {"y,z\n1,1\n,2\n3,3\n4,4\n", Options{Columns: []string{"y"}}, `line 3, column "y": the value is missing`},
		"texts":     {"y\na\nb\nc\nd\n", Options{Columns: []string{"y"}}, "got text (\"a\" in line 2), want numbers"},
		"no column": {"y\n1\n2\n3\n4\n", Options{}, "want the column of values"},
		"too many":  {"y\n1\n2\n3\n4\n", Options{Columns: []string{"y"}, MaxComponents: 101}, "got 101, want 1 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := table.Parse("data.csv", []byte(test.csv))
			require.NoError(t, err)
			_, err = NewProblem(data, test.options)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// The first line of a run states the number of components. The run writes its files, and the same
// seed gives the same numbers.
func TestRunIsComplete(t *testing.T) {
	testkit.Slow(t)
	y := make([]float64, 60)
	random := stream.Rand(5, "two")
	for i := range y {
		y[i] = 10*float64(i%2) + random.NormFloat64()
	}
	p := problemOf(t, Options{MaxComponents: 4}, y)
	config := RunConfig{Dir: t.TempDir(), Sample: SampleConfig{Seed: 1, Sweeps: 4000}}
	r, err := Run(gocontext.Background(), p, config)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(r.Answer, "Most probably 2 components (probability 0."), r.Answer)
	require.NotEqual(t, vti.Failed, r.Certificate.Verdict, r.Certificate.Reasons)
	require.InDelta(t, 0, float64(r.Given.List[0].Columns[0].Mean.Median), 0.6)
	require.InDelta(t, 10, float64(r.Given.List[1].Columns[0].Mean.Median), 0.6)
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
