package draws

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/internal/columnar"
)

// sample returns n random draws, in which every third coordinate is inactive.
func sample(kind Kind, cards []int, dim, n int, seed uint64) *Draws {
	rng := rand.New(rand.NewPCG(seed, 0))
	d := &Draws{Header: Header{Kind: kind, Cards: cards, Coordinates: []string{}, Seed: seed, BurnIn: 10, Thin: 2}}
	for j := range dim {
		d.Coordinates = append(d.Coordinates, fmt.Sprintf("x%d, \"naïve\" = #%d", j, j))
	}
	for i := range n {
		d.LogP = append(d.LogP, 1e3*rng.NormFloat64())
		if kind == Chains {
			d.Chain = append(d.Chain, int32(i%3+1))
		} else {
			d.LogQ = append(d.LogQ, rng.NormFloat64())
		}
		for _, card := range cards {
			d.Codes = append(d.Codes, int32(rng.IntN(card)))
		}
		for j := range dim {
			v := 0.0
			if j%3 != 2 {
				v = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
			}
			d.Theta = append(d.Theta, v)
		}
	}
	return d
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]Kind{IID, Chains}).Draw(rt, "kind")
		cards := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 6).Draw(rt, "cards")
		d := sample(kind, cards, rapid.IntRange(0, 7).Draw(rt, "dim"), rapid.IntRange(1, 50).Draw(rt, "n"), rapid.Uint64().Draw(rt, "seed"))
		require.NoError(rt, Write(dir, d))
		got, err := Read(filepath.Join(dir, ParquetFile))
		require.NoError(rt, err)
		if d.Theta == nil {
			got.Theta = nil
		}
		assert.Equal(rt, d, got)
	})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no temporary file is left")
}

// TestOlderParquet checks that files written by an earlier version of this project, with another
// library, are read as the draws that they hold.
func TestOlderParquet(t *testing.T) {
	for _, kind := range []Kind{IID, Chains} {
		got, err := Read(filepath.Join("testdata", kind.String()+"-arrow-go.parquet"))
		require.NoError(t, err)
		assert.Equal(t, sample(kind, []int{2, 3}, 3, 40, 5), got)
	}
}

func TestManyRowGroups(t *testing.T) {
	dir := t.TempDir()
	d := sample(IID, []int{2, 3}, 2, columnar.GroupRows+1000, 1)
	require.NoError(t, Write(dir, d))
	got, err := Read(filepath.Join(dir, ParquetFile))
	require.NoError(t, err)
	assert.Equal(t, d, got)
	info, err := os.Stat(filepath.Join(dir, ParquetFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}

func TestNonFiniteAndUncountable(t *testing.T) {
	cards := make([]int, 60) // 2^60 models: more than a float64 can number
	for i := range cards {
		cards[i] = 2
	}
	d := sample(IID, cards, 1, 3, 1)
	d.LogP = []float64{math.Inf(-1), math.Inf(1), -0.5}
	d.Theta = []float64{math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(-1)}
	dir := t.TempDir()
	require.NoError(t, WriteBoth(dir, d))
	got, err := Read(filepath.Join(dir, ParquetFile))
	require.NoError(t, err)
	assert.Equal(t, d, got)
	text, err := os.ReadFile(filepath.Join(dir, CSVFile))
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n-inf,")
	assert.Contains(t, string(text), ",nan,")
}

func TestCSVText(t *testing.T) {
	dir := t.TempDir()
	d := &Draws{
		Header: Header{Cards: []int{2, 3}, Sites: []string{"a", "b"}, Coordinates: []string{"one", "a"}, Seed: 5},
		LogP:   []float64{-1.5, -2}, LogQ: []float64{-1, -2.25}, Codes: []int32{1, 2, 0, 1}, Theta: []float64{0.1, 1e-30, 3, 0},
	}
	require.NoError(t, WriteBoth(dir, d))
	text, err := os.ReadFile(filepath.Join(dir, CSVFile))
	require.NoError(t, err)
	assert.Equal(t, `# vti_draws {"version":2,"kind":"iid","cards":[2,3],"sites":["a","b"],"coordinates":["one","a"],"seed":5}
# model = vti
# method = laplace
# id = 1
# seed = 5
log_p__,log_q__,model__,gamma[a],gamma[b],beta[one],beta[a]
-1.5,-1,5,1,2,0.1,1e-30
-2,-2.25,1,0,1,3,0
# rows = 2
`, string(text))
}

// cmdStan reads a CmdStan CSV file by the rules of its readers: comments anywhere, settings of the
// form key = value, one row of names, and cells that are all floats. A column name is a variable,
// or a variable followed by 1-based indices after dots. The result variables holds for each
// variable its elements, and for each element its rows.
func cmdStan(t *testing.T, text string) (settings map[string]string, variables map[string][][]float64) {
	settings, variables = map[string]string{}, map[string][][]float64{}
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if key, value, ok := strings.Cut(comment, "="); ok {
				settings[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
			continue
		}
		cells := strings.Split(line, ",")
		if names == nil {
			names = cells
			for _, name := range names {
				variable, index, isElement := strings.Cut(name, ".")
				if isElement {
					i, err := strconv.Atoi(index)
					require.NoError(t, err)
					require.Equal(t, len(variables[variable])+1, i, "elements in order")
				}
				variables[variable] = append(variables[variable], nil)
			}
			continue
		}
		require.Len(t, cells, len(names))
		for i, name := range names {
			variable, index, isElement := strings.Cut(name, ".")
			at := 0
			if isElement {
				at, _ = strconv.Atoi(index)
				at--
			}
			v, err := strconv.ParseFloat(cells[i], 64)
			require.NoError(t, err)
			variables[variable][at] = append(variables[variable][at], v)
		}
	}
	return settings, variables
}

// TestReadableAsCmdStan checks that the CSV file contains every number of the draws exactly.
func TestReadableAsCmdStan(t *testing.T) {
	for _, kind := range []Kind{IID, Chains} {
		dir := t.TempDir()
		d := sample(kind, []int{2, 3, 2}, 4, 9, 3)
		require.NoError(t, WriteBoth(dir, d))
		text, err := os.ReadFile(filepath.Join(dir, CSVFile))
		require.NoError(t, err)
		settings, variables := cmdStan(t, string(text))
		assert.Equal(t, "1", settings["id"])
		density := "log_p__"
		if kind == Chains {
			density = "lp__"
			assert.Equal(t, "sample", settings["method"])
			assert.Equal(t, "0", settings["save_warmup"])
			assert.Equal(t, "2", settings["thin"])
			assert.Equal(t, 3.0, variables["chain__"][0][2])
		} else {
			assert.Equal(t, "laplace", settings["method"])
			assert.Equal(t, d.LogQ, variables["log_q__"][0])
		}
		assert.Equal(t, d.LogP, variables[density][0])
		for i := range d.Len() {
			index := 0
			for s, outcome := range d.Code(i) {
				assert.Equal(t, float64(outcome), variables[fmt.Sprintf("gamma[%d]", s+1)][0][i])
				index = index*d.Cards[s] + int(outcome)
			}
			assert.Equal(t, float64(index), variables["model__"][0][i])
			for j, v := range d.Values(i) {
				assert.Equal(t, v, variables[fmt.Sprintf("beta[x%d; 'naïve' =  %[1]d]", j)][0][i])
			}
		}
	}
}

func TestDamagedParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), ParquetFile)
	d := sample(Chains, []int{2, 3}, 2, 400, 3)
	require.NoError(t, Write(filepath.Dir(path), d))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, good[:len(good)/2], 0o600))
	_, err = Read(path)
	assert.ErrorContains(t, err, "draws.parquet: damaged Parquet file")

	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 { // one wrong byte in each file; reading must not panic
		bad := append([]byte{}, good...)
		bad[4+rng.IntN(len(bad)-4)] ^= byte(1 + rng.IntN(255))
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		_, _ = Read(path)
	}
}

// TestWrongParquet checks that columns, metadata and numbers that are invalid for draws give errors
// that name them.
func TestWrongParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), ParquetFile)
	d := sample(Chains, []int{2, 3}, 2, 4, 3)
	write := func(header string, change func(columns []columnar.Column) []columnar.Column, row []float64) error {
		var out bytes.Buffer
		columns := d.parquetColumns()
		if change != nil {
			columns = change(columns)
		}
		metadata := map[string]string{}
		if header != "" {
			metadata[headerKey] = header
		}
		w, err := columnar.NewWriter(&out, columns, metadata)
		require.NoError(t, err)
		for i, v := range row {
			if columns[i].Kind == columnar.Int32 {
				w.Int32(int32(v))
			} else {
				w.Double(v)
			}
		}
		if row != nil {
			w.Text("text")
		}
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
		_, err = Read(path)
		return err
	}
	good, err := d.marshal()
	require.NoError(t, err)
	shorter := func(columns []columnar.Column) []columnar.Column { return columns[1:] }
	renamed := func(columns []columnar.Column) []columnar.Column {
		columns[4].Name = "gamma[3]"
		return columns
	}
	replaced := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	assert.ErrorContains(t, write("", nil, nil), "not a file of draws")
	assert.ErrorContains(t, write(replaced(`"version":2`, `"version":9`), nil, nil), "layout version is 9")
	assert.ErrorContains(t, write(replaced(`"kind":"chains"`, `"kind":"ch"`), nil, nil), "damaged header: unknown kind of draws")
	assert.ErrorContains(t, write(replaced(`"cards":[2,3]`, `"cards":[2,0]`), nil, nil), "site 2 has 0 outcomes")
	assert.ErrorContains(t, write(good, shorter, nil), "want 8 columns, got 7")
	assert.ErrorContains(t, write(good, renamed, nil), `column 5: want "gamma[2]", got "gamma[3]"`)
	assert.ErrorContains(t, write(good, nil, []float64{-1, 1, 3, 2, 0, 0, 0}), "row 1: column gamma[1]: want a whole number from 0 to 1, got 2")
	assert.ErrorContains(t, write(good, nil, []float64{-1, 0, 3, 1, 0, 0, 0}), "column chain__: want a whole number from 1")
	assert.ErrorContains(t, write(good, nil, []float64{-1, 1, 77, 1, 0, 0, 0}), "column model__")
	assert.NoError(t, write(good, nil, []float64{-1, 1, 3, 1, 0, 0, 0}))
	_, err = Read(filepath.Join(t.TempDir(), "absent"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestHeadersThatAreNone(t *testing.T) {
	dir := t.TempDir()
	d := sample(IID, []int{2}, 1, 5, 3)
	require.NoError(t, WriteBoth(dir, d))
	for _, wrong := range []struct {
		header Header
		want   string
	}{
		{Header{}, "at least one site"}, {Header{Kind: 5, Cards: []int{2}}, "unknown kind"},
		{Header{Cards: []int{2}, Sites: []string{"a", "b"}}, "2 names for 1 sites"},
	} {
		assert.ErrorContains(t, WriteBoth(dir, &Draws{Header: wrong.header}), wrong.want)
	}
	got, err := Read(filepath.Join(dir, ParquetFile))
	require.NoError(t, err)
	assert.Equal(t, 5, got.Len(), "the older file stays")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	assert.ErrorIs(t, WriteBoth(filepath.Join(dir, "no", "such"), d), os.ErrNotExist)
}

func TestWrongShapesPanic(t *testing.T) {
	bad := *sample(IID, []int{2}, 1, 5, 3)
	bad.Theta = bad.Theta[1:]
	assert.Panics(t, func() { _ = WriteBoth(t.TempDir(), &bad) })
	bad = *sample(IID, []int{2}, 1, 5, 3)
	bad.Codes = []int32{0, 1, 2, 0, 0}
	assert.Panics(t, func() { _ = WriteBoth(t.TempDir(), &bad) })
}

// FuzzRead checks that reading any file gives either an error or draws that are the same after
// writing and reading them again.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, ParquetFile)
	for _, kind := range []Kind{IID, Chains} {
		require.NoError(f, Write(dir, sample(kind, []int{2, 3}, 3, 5, 5)))
		content, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o644))
		d, err := Read(path)
		if err != nil {
			return
		}
		require.NoError(t, WriteBoth(dir, d))
		got, err := Read(path)
		require.NoError(t, err)
		require.Equal(t, d.Codes, got.Codes)
		require.Equal(t, fmt.Sprint(d.LogP, d.LogQ, d.Chain, d.Theta), fmt.Sprint(got.LogP, got.LogQ, got.Chain, got.Theta))
	})
}
