package draws

import (
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

var formats = []Format{Parquet, CmdStanCSV}

// sample makes n draws; every third coordinate is inactive.
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
		format := rapid.SampledFrom(formats).Draw(rt, "format")
		path := filepath.Join(dir, "draws")
		require.NoError(rt, Write(path, format, d))
		got, err := Read(path)
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

// Files of the library that this project once wrote with are read.
func TestOlderParquet(t *testing.T) {
	for _, kind := range []Kind{IID, Chains} {
		got, err := Read(filepath.Join("testdata", kind.String()+"-arrow-go.parquet"))
		require.NoError(t, err)
		assert.Equal(t, sample(kind, []int{2, 3}, 3, 40, 5), got)
	}
}

func TestManyBatchesAndRowGroups(t *testing.T) {
	for _, format := range formats {
		path := filepath.Join(t.TempDir(), "draws")
		d := sample(IID, []int{2, 3}, 2, columnar.GroupRows+1000, 1)
		w, err := NewWriter(path, format, d.Header)
		require.NoError(t, err)
		const step = 777
		for from := 0; from < d.Len(); from += step {
			to := min(d.Len(), from+step)
			require.NoError(t, w.Write(Batch{LogP: d.LogP[from:to], LogQ: d.LogQ[from:to], Codes: d.Codes[2*from : 2*to], Theta: d.Theta[2*from : 2*to]}))
		}
		_, err = os.Stat(path)
		assert.ErrorIs(t, err, os.ErrNotExist, "nothing under the name before Close")
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		got, err := Read(path)
		require.NoError(t, err, format)
		assert.Equal(t, d, got, format)
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	}
}

func TestNonFiniteAndUncountable(t *testing.T) {
	cards := make([]int, 60) // 2^60 models: more than a float64 can number
	for i := range cards {
		cards[i] = 2
	}
	d := sample(IID, cards, 1, 3, 1)
	d.LogP = []float64{math.Inf(-1), math.Inf(1), -0.5}
	d.Theta = []float64{math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(-1)}
	for _, format := range formats {
		path := filepath.Join(t.TempDir(), "draws")
		require.NoError(t, Write(path, format, d))
		got, err := Read(path)
		require.NoError(t, err)
		assert.Equal(t, d, got)
		if format == CmdStanCSV {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Contains(t, string(text), "\n-inf,")
			assert.Contains(t, string(text), ",nan,")
		}
	}
}

func TestCSVText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws.csv")
	d := &Draws{
		Header: Header{Cards: []int{2, 3}, Sites: []string{"a", "b"}, Coordinates: []string{"one", "a"}, Seed: 5},
		Batch:  Batch{LogP: []float64{-1.5, -2}, LogQ: []float64{-1, -2.25}, Codes: []int32{1, 2, 0, 1}, Theta: []float64{0.1, 1e-30, 3, 0}},
	}
	require.NoError(t, Write(path, CmdStanCSV, d))
	text, err := os.ReadFile(path)
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

// cmdStan reads a CmdStan CSV as its readers do: comments anywhere, key = value settings, one row
// of names, all cells floats; a column name is a variable, or a variable and 1-based indices after
// dots. The result is variable -> element -> row.
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

func TestReadableAsCmdStan(t *testing.T) {
	for _, kind := range []Kind{IID, Chains} {
		path := filepath.Join(t.TempDir(), "draws.csv")
		d := sample(kind, []int{2, 3, 2}, 4, 9, 3)
		require.NoError(t, Write(path, CmdStanCSV, d))
		text, err := os.ReadFile(path)
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

func TestDamagedCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws.csv")
	d := sample(Chains, []int{2, 3}, 2, 4, 3)
	require.NoError(t, Write(path, CmdStanCSV, d))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	good := string(content)
	lines := strings.SplitAfter(good, "\n")
	names := 0
	for !strings.HasPrefix(lines[names], "lp__") {
		names++
	}
	change := func(line int, text string) string {
		changed := append([]string{}, lines...)
		changed[line] = text
		return strings.Join(changed, "")
	}
	row := names + 1
	cells := strings.Split(strings.TrimSpace(lines[row]), ",")
	cell := func(column int, text string) string {
		changed := append([]string{}, cells...)
		changed[column] = text
		return change(row, strings.Join(changed, ",")+"\n")
	}
	at := fmt.Sprintf("draws.csv: line %d: ", row+1)
	for text, want := range map[string]string{
		"":           "draws.csv: the file is empty",
		"x,y\n1,2\n": "line 1: not a file of draws",
		strings.Replace(good, `"version":2`, `"version":9`, 1):     "line 1: layout version is 9",
		strings.Replace(good, `"kind":"chains"`, `"kind":"ch"`, 1): "line 1: damaged header: unknown kind of draws",
		strings.Replace(good, `"cards":[2,3]`, `"cards":[2,0]`, 1): "site 2 has 0 outcomes",
		strings.Replace(good, "gamma[2]", "gamma[3]", 1):           `column 5: want "gamma[2]", got "gamma[3]"`,
		strings.Replace(good, ",beta[x1; 'naïve' =  1]", "", 1):    "want 7 columns, got 6",
		change(row, "1,2\n"):            at + "want 7 cells, got 2",
		cell(5, "abc"):                  at + `column beta[x0; 'naïve' =  0]: want a number, got "abc"`,
		cell(3, "2"):                    at + "column gamma[1]: want a whole number from 0 to 1, got 2",
		cell(1, "0"):                    at + "column chain__: want a whole number from 1",
		cell(2, "77"):                   at + "column model__",
		strings.Join(lines[:row+2], ""): "it is truncated",
		change(row, ""):                 "want 4 rows, got 3",
		good + lines[row]:               "want nothing after",
		strings.Replace(good, "# rows = 4", "# rows = four", 1): "want a number of rows",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Read(path)
		assert.ErrorContains(t, err, want)
	}
	_, err = Read(filepath.Join(t.TempDir(), "absent"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestDamagedParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws.parquet")
	d := sample(Chains, []int{2, 3}, 2, 400, 3)
	require.NoError(t, Write(path, Parquet, d))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, good[:len(good)/2], 0o600))
	_, err = Read(path)
	assert.ErrorContains(t, err, "draws.parquet: damaged Parquet file")

	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 { // never a panic, whatever byte is wrong
		bad := append([]byte{}, good...)
		bad[4+rng.IntN(len(bad)-4)] ^= byte(1 + rng.IntN(255))
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		_, _ = Read(path)
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "draws.csv")
	d := sample(IID, []int{2}, 1, 5, 3)
	require.NoError(t, Write(path, CmdStanCSV, d))
	w, err := NewWriter(path, CmdStanCSV, d.Header)
	require.NoError(t, err)
	require.NoError(t, w.Write(d.Batch))
	w.Abort()
	w.Abort()
	got, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, 5, got.Len())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	_, err = NewWriter(filepath.Join(dir, "no", "such", "draws.csv"), CmdStanCSV, d.Header)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = NewWriter(path, CmdStanCSV, Header{})
	assert.ErrorContains(t, err, "at least one site")
	_, err = NewWriter(path, Format(7), d.Header)
	assert.ErrorContains(t, err, "Format(7)")
	_, err = NewWriter(path, CmdStanCSV, Header{Kind: 5, Cards: []int{2}})
	assert.ErrorContains(t, err, "unknown kind")
	_, err = NewWriter(path, CmdStanCSV, Header{Cards: []int{2}, Sites: []string{"a", "b"}})
	assert.ErrorContains(t, err, "2 names for 1 sites")
}

func TestWrongShapesPanic(t *testing.T) {
	d := sample(IID, []int{2}, 1, 5, 3)
	w, err := NewWriter(filepath.Join(t.TempDir(), "x"), Parquet, d.Header)
	require.NoError(t, err)
	bad := d.Batch
	bad.Theta = bad.Theta[1:]
	assert.Panics(t, func() { _ = w.Write(bad) })
	bad = d.Batch
	bad.Codes = []int32{0, 1, 2, 0, 0}
	assert.Panics(t, func() { _ = w.Write(bad) })
	w.Abort()
	assert.Panics(t, func() { _ = w.Write(d.Batch) })
}

// Whatever a file holds, it is an error or draws, which are the same after they were written and
// read.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "draws")
	for _, format := range formats {
		for _, kind := range []Kind{IID, Chains} {
			require.NoError(f, Write(path, format, sample(kind, []int{2, 3}, 3, 5, 5)))
			content, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o644))
		d, err := Read(path)
		if err != nil {
			return
		}
		for _, format := range formats {
			again := filepath.Join(dir, "again")
			require.NoError(t, Write(again, format, d))
			got, err := Read(again)
			require.NoError(t, err)
			require.Equal(t, d.Codes, got.Codes)
			require.Equal(t, fmt.Sprint(d.LogP, d.LogQ, d.Chain, d.Theta), fmt.Sprint(got.LogP, got.LogQ, got.Chain, got.Theta))
		}
	})
}
