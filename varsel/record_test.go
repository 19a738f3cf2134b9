package varsel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

func TestReadRecordRefuses(t *testing.T) {
	_, err := run.ReadRecord[Record](filepath.Join(t.TempDir(), "absent"))
	require.ErrorContains(t, err, "is not a run directory: it holds no run.json")
	for name, test := range map[string]struct{ content, message string }{
		"empty":          {"", "run.json: damaged: unexpected end of JSON input"},
		"half":           {`{"command":"varsel","da`, "run.json: damaged: unexpected end of JSON input"},
		"something else": {`{"name":"package"}`, "run.json: not the record of a vti run: expected the keys command, data and fingerprint"},
		"a list":         {`[1,2]`, "run.json: damaged: json: cannot unmarshal array"},
		"other flow":     {`{"command":"varsel","data":"a","fingerprint":"b","flow":{"kind":"planar"}}`, `kind of flow "planar"`},
		"other family":   {`{"command":"varsel","data":"a","fingerprint":"b","sampler":"forest"}`, `unknown sampler "forest"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, rundir.RecordFile), []byte(test.content), 0o644))
			_, err := run.ReadRecord[Record](dir)
			require.ErrorContains(t, err, test.message)
			require.ErrorContains(t, err, dir)
		})
	}
}

// A record rebuilds its problem from the table, as long as the table is unchanged.
func TestRecordRebuildsItsProblem(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hald.csv")
	content, err := os.ReadFile("../testdata/hald.csv")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	record := &Record{
		Header: run.Header{Command: "varsel", Data: path, Fingerprint: data.Fingerprint}, Design: DesignOptions{Target: "y", Exclude: []string{"x2"}},
		Model: ModelOptions{Sigma: 2.5, Prior: Prior{A: 1, B: 1}}, Flow: cosmic.Config{Kind: cosmic.Spline}.WithDefaults(), Steps: 7, Batch: 9, Seed: 11,
	}
	require.NoError(t, run.WriteRecord(dir, record))
	written, err := os.ReadFile(filepath.Join(dir, rundir.RecordFile))
	require.NoError(t, err)
	assert.Contains(t, string(written), `"kind": "spline"`)
	read, err := run.ReadRecord[Record](dir)
	require.NoError(t, err)
	require.Equal(t, record, read)
	problem, err := read.Problem()
	require.NoError(t, err)
	assert.Equal(t, []string{"x1", "x3", "x4"}, problem.Design.PredictorNames())
	assert.False(t, problem.UnknownScale())
	fit, err := read.FitConfig(problem)
	require.NoError(t, err)
	assert.Equal(t, []any{7, 9, uint64(11), cosmic.Spline, 5}, []any{fit.Steps, fit.Batch, fit.Seed, fit.Flow.Kind, fit.Flow.Layers})

	require.NoError(t, os.WriteFile(path, append(content, content[strings.LastIndexByte(string(content[:len(content)-1]), '\n')+1:]...), 0o644))
	_, err = read.Problem()
	require.ErrorContains(t, err, "has changed since the run started")
	require.NoError(t, os.Remove(path))
	_, err = read.Problem()
	require.ErrorContains(t, err, "hald.csv: no such file")
}
