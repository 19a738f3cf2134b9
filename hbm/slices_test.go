package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/internal/stream"
)

// parquetWriter writes columns of numbers, a row group for each call of add.
type parquetWriter struct{ *columnar.Writer }

func newParquetWriter(t testing.TB, path string, names ...string) parquetWriter {
	t.Helper()
	var columns []columnar.Column
	for _, name := range names {
		columns = append(columns, columnar.Column{Name: name, Kind: columnar.Double})
	}
	file, err := os.Create(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	w, err := columnar.NewWriter(file, columns, nil)
	require.NoError(t, err)
	return parquetWriter{w}
}

// add writes rows of as many numbers as there are columns.
func (w parquetWriter) add(values []float64) {
	for _, value := range values {
		w.Double(value)
	}
	w.EndGroup()
}

// numberedColumns are x1, x2, …
func numberedColumns(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("x%d", i+1))
	}
	return names
}

// slicedEffects writes data of random effects to a file, with row groups of so many groups, and
// opens it.
func slicedEffects(t testing.TB, e *effects, data Values, perSlice int) *ParquetSlices {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.parquet")
	w := newParquetWriter(t, path, numberedColumns(e.dim)...)
	size := e.samples * e.dim
	for start := 0; start < e.groups; start += perSlice {
		w.add(data[e.x][start*size : min(start+perSlice, e.groups)*size])
	}
	require.NoError(t, w.Close())
	s, err := OpenParquetSlices(path, e.model.plates[0], map[*Variable][]string{e.x: numberedColumns(e.dim)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Training by slices comes near the exact evidence, as training on everything does; it goes on from
// a checkpoint with the same numbers.
func TestFitBySlices(t *testing.T) {
	e := newEffects(40, 5, 2)
	data := e.draw(t, 3)
	exact := e.exact(data)
	cfg := Config{
		Family: PAVIE, Steps: 600, Batch: map[*Plate]int{e.model.plates[0]: 10}, Checkpoint: filepath.Join(t.TempDir(), "posterior.vti"),
		Slices: SliceConfig{Source: slicedEffects(t, e, data, 7), Resident: 3, Steps: 2},
	}
	p := fit(t, e.model, Values{}, cfg)
	var elbo, members float64
	for slice := range 6 {
		draws, err := p.SampleSlice(t.Context(), slice, 200, "elbo")
		require.NoError(t, err)
		size := float64(len(draws.Values[e.groupMean])) / float64(200*e.dim)
		members += size
		for i := range draws.N {
			elbo += (draws.LogJoint[i] - draws.LogQ[i]) / float64(draws.N) / 6
		}
	}
	require.InDelta(t, 40, members, 0)
	require.InDelta(t, exact.logEvidence, elbo, 0.2*40, "nats")
	_, _, err := p.ELBO(t.Context(), 10, "elbo")
	require.ErrorContains(t, err, "read by slices, not in memory: use SampleSlice")
	_, err = p.Certify(t.Context(), CertifyConfig{})
	require.ErrorContains(t, err, "read by slices")

	stopped := cfg
	stopped.Checkpoint, stopped.CheckpointEvery = filepath.Join(t.TempDir(), "stopped.vti"), 100
	ctx, stop := gocontext.WithCancel(gocontext.Background())
	stopped.LogEvery = 50
	stopped.Progress = func(info Info) {
		if info.Step == 250 {
			stop()
		}
	}
	_, err = Fit(ctx, openCPU(t), e.model, Values{}, stopped)
	require.ErrorIs(t, err, gocontext.Canceled)
	stopped.Progress, stopped.Resume = nil, true
	q := fit(t, e.model, Values{}, stopped)
	one, err := p.SampleSlice(t.Context(), 1, 3, "same")
	require.NoError(t, err)
	two, err := q.SampleSlice(t.Context(), 1, 3, "same")
	require.NoError(t, err)
	require.Equal(t, one.Values[e.groupMean], two.Values[e.groupMean])
}

// Weighted sums over what steps draw from slices, of unequal sizes and with groups of different
// sizes, are unbiased; and what a step gets are the values of its members.
func TestSlicesAreUnbiased(t *testing.T) {
	const groups = 13
	var index []int32
	for g := range groups {
		for range 1 + g%3 {
			index = append(index, int32(g))
		}
	}
	m := NewModel()
	group := m.Plate("group", groups)
	row := m.Plate("row", len(index)).In(group, index)
	mean := m.Latent("mean", Normal(Number(0), Number(1)), On(group))
	x := m.Observed("x", Normal(mean, Number(1)), On(row))
	data := make([]float64, len(index))
	total := 0.0
	for i := range data {
		data[i] = float64(i*i%17) + 0.25
		total += data[i]
	}
	path := filepath.Join(t.TempDir(), "ragged.parquet")
	w := newParquetWriter(t, path, "x1")
	start := 0
	for _, bound := range []int{2, 6, 7, 10, groups} { // first group of the next slice
		end := start
		for end < len(index) && int(index[end]) < bound {
			end++
		}
		w.add(data[start:end])
		start = end
	}
	require.NoError(t, w.Close())
	source, err := OpenParquetSlices(path, group, map[*Variable][]string{x: {"x1"}})
	require.NoError(t, err)
	defer source.Close()
	require.Equal(t, []int{0, 2, 6, 7, 10, groups}, source.Bounds())

	cfg := Config{Batch: map[*Plate]int{group: 2}, Slices: SliceConfig{Source: source, Resident: 2, Steps: 1}}
	slices, err := newWindow(m, cfg)
	require.NoError(t, err)
	s, err := newSelector(m, cfg.Batch)
	require.NoError(t, err)
	const steps = 4000
	sums := make([]float64, steps)
	for step := range steps {
		spans, err := slices.at(step)
		require.NoError(t, err)
		require.Len(t, slices.resident, 2)
		s.plans[group].among(spans, 5)
		chosen := s.draw(stream.Rand(7, fmt.Sprint(step)))
		got := slices.gather(x, chosen.rows(x), 1)
		for place, member := range chosen.members[row] {
			if weight := chosen.weight[row][place]; weight > 0 {
				require.InDelta(t, data[member], got[place], 0)
				sums[step] += weight * got[place]
			}
		}
	}
	average, sd := stat.MeanStdDev(sums, nil)
	// Steps in a row share slices, so that their sums are not independent; ten at a time nearly
	// are. Five standard errors.
	require.InDelta(t, total, average, 5*sd/math.Sqrt(steps/10))
}

func TestSliceMistakes(t *testing.T) {
	e := newEffects(6, 3, 1)
	data := e.draw(t, 3)
	source := slicedEffects(t, e, data, 2)
	device := openCPU(t)
	for want, change := range map[string]func(c *Config){
		"got 5, want a number from 1 to the 4 members that are in memory": func(c *Config) { c.Batch[e.model.plates[0]] = 5 },
		"got 0":      func(c *Config) { c.Batch = nil },
		"choose one": func(c *Config) { c.Amortize, c.Family = 4, PAVIE },
	} {
		cfg := Config{Batch: map[*Plate]int{e.model.plates[0]: 2}, Slices: SliceConfig{Source: source, Resident: 2}}
		change(&cfg)
		_, err := Fit(gocontext.Background(), device, e.model, Values{}, cfg)
		require.ErrorContains(t, err, want)
	}
	path := filepath.Join(t.TempDir(), "short.parquet")
	w := newParquetWriter(t, path, "x1")
	w.add([]float64{1, 2, 3, 4})
	w.add([]float64{1, 2})
	require.NoError(t, w.Close())
	group := e.model.plates[0]
	for want, columns := range map[string]map[*Variable][]string{
		`no column "x2"; the nearest is "x1"`:                                 {e.x: {"x2"}},
		"got 2 columns, want 1":                                               {e.x: {"x1", "x1"}},
		`row group 2 begins with row 5, in the middle of a member of "group"`: {e.x: {"x1"}},
		"columns were given for 0 variables":                                  {},
	} {
		_, err := OpenParquetSlices(path, group, columns)
		require.ErrorContains(t, err, want)
	}
	_, err := OpenParquetSlices(filepath.Join(t.TempDir(), "none"), group, nil)
	require.ErrorContains(t, err, "no such file")
	_, err = fit(t, e.model, data, Config{Steps: 1}).SampleSlice(t.Context(), 0, 1, "x")
	require.ErrorContains(t, err, "there is no slice 0")
}
