package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readRows reads a Parquet file. It leaves out nulls.
func readRows(t *testing.T, path string) (rows []map[string]any) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	columns := file.Root().Columns()
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		for range group.NumRows() {
			row := map[string]any{}
			var cells [1]parquet.Row
			n, _ := reader.ReadRows(cells[:])
			require.Equal(t, 1, n)
			for i, v := range cells[0] {
				switch name, kind := columns[i].Name(), v.Kind(); {
				case v.IsNull():
				case kind == parquet.Boolean:
					row[name] = v.Boolean()
				case kind == parquet.Double:
					row[name] = v.Double()
				case kind == parquet.ByteArray:
					row[name] = string(v.ByteArray())
				case columns[i].Type().String() == parquet.Uint(64).Type().String():
					row[name] = v.Uint64()
				default:
					row[name] = v.Int64()
				}
			}
			rows = append(rows, row)
		}
		require.NoError(t, reader.Close())
	}
	return rows
}

func collect(t *testing.T, p *Plan) (*Summary, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "results.parquet")
	summary, err := p.Collect(context.Background(), CollectConfig{Out: out})
	require.NoError(t, err)
	return summary, out
}

func TestCollect(t *testing.T) {
	p := newPlan(t, "command = \"fake\"\nseed = 3\ntables = {files = [\"t?.csv\"]}\ngrid = {name = [\"a\", 1]}",
		map[string]string{"t1.csv": "1", "t2.csv": "22"})
	unreadable := filepath.Join(filepath.Dir(p.Path()), "t2.csv")
	require.NoError(t, os.Remove(unreadable))
	require.NoError(t, os.Mkdir(unreadable, 0o755))
	for _, i := range []int{1, 2} {
		runAll(t, p, RunConfig{Selection: Shard(i, p.Tasks())})
	}
	summary, out := collect(t, p)
	assert.Equal(t, 1, summary.Done)
	assert.Equal(t, 1, summary.Failed)
	assert.Equal(t, 2, summary.Missing)
	assert.Equal(t, map[string]int{"trusted": 1}, summary.Verdicts)
	assert.Positive(t, summary.CPUSeconds)
	rows := readRows(t, out)
	require.Len(t, rows, 4)
	name := func(i int) string { return p.Task(i).Name }
	assert.Equal(t, map[string]any{"task": int64(0), "table": "t1.csv", "name": "a", "replicate": int64(0), "task_name": name(0), "state": "missing"}, rows[0])
	assert.Equal(t, map[string]any{"task": int64(1), "table": "t1.csv", "name": "1", "replicate": int64(0), "task_name": name(1), "state": "done",
		"seed": seedOf(3, name(1), 0), "crashes": int64(0), "verdict": "trusted", "certificate.verdict": "trusted", "certificate.reasons": "one; two",
		"command": "fake", "version": "1", "log_evidence": float64(seedOf(3, name(1), 0)%1000) + 0.125}, rows[1])
	assert.Equal(t, map[string]any{"task": int64(2), "table": "t2.csv", "name": "a", "replicate": int64(0), "task_name": name(2), "state": "failed",
		"seed": seedOf(3, name(2), 0), "crashes": int64(0), "error": "read t2.csv: is a directory"}, rows[2])
	long := filepath.Join(filepath.Dir(out), "results.inclusion.parquet")
	// A field that has the name of a setting is renamed.
	assert.Equal(t, []map[string]any{
		{"task": int64(1), "table": "t1.csv", "name": "1", "replicate": int64(0), "answer.name": "x1", "certified": 0.25},
		{"task": int64(1), "table": "t1.csv", "name": "1", "replicate": int64(0), "answer.name": "x2", "certified": float64(1)},
	}, readRows(t, long))
	assert.Equal(t, map[string]int{out: 4, long: 2, filepath.Join(filepath.Dir(out), "results.costs.parquet"): 2}, summary.Files)

	// A task whose record is incomplete counts as missing, and the other tasks are collected.
	require.NoError(t, os.WriteFile(filepath.Join(store{p.Dir()}.path(name(1), Done), recordFile), []byte(`{"na`), 0o644))
	summary, out = collect(t, p)
	assert.Equal(t, 3, summary.Missing)
	assert.Equal(t, 1, summary.Damaged)
	assert.Contains(t, readRows(t, out)[1]["error"], "damaged")
}

// The same answers give the same bytes, and concurrent collectors do not disturb each other.
func TestCollectIsDeterministic(t *testing.T) {
	text := fmt.Sprintf(simulatedPlan, 300, "")
	one := newPlan(t, text, nil)
	fill(t, one, 1)
	two := newPlan(t, text, nil)
	fill(t, two, 7)
	_, first := collect(t, one)
	want, err := os.ReadFile(first)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "results.parquet")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			_, err := two.Collect(context.Background(), CollectConfig{Out: out})
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, want, got)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// fill writes results of all tasks without running them, in step passes. Each pass writes every
// step-th task.
func fill(t testing.TB, p *Plan, step int) {
	t.Helper()
	for first := range step {
		fillShard(t, p, first, step)
	}
}

// fillShard writes the results of the tasks of a shard.
func fillShard(t testing.TB, p *Plan, shard, shards int) {
	s := store{p.Dir()}
	for i := range Shard(shard, shards).indices(p.Tasks()) {
		task := p.Task(i)
		dir := s.path(task.Name, Done)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		write := func(name string, value any) {
			encoded, err := json.Marshal(value)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), encoded, 0o644))
		}
		seed := seedOf(p.Seed, task.Name, 0)
		u := float64(seed>>11) / (1 << 53)
		answer := json.RawMessage(fmt.Sprintf(`{"certificate":{"ess":%g,"khat":%g,"verdict":"trusted"},"data":{"rows":100},"inclusion":[{"certified":%g,"name":"x1","se":0.001},{"certified":%g,"name":"x2","se":0.001},{"certified":0.5,"name":"x3","se":0.002}],"log_evidence":%g,"log_evidence_se":0.01,"version":"1"}`,
			1000*u, u, u, 1-u, -100*u))
		write(recordFile, Record{Name: task.Name, Command: p.Command, Settings: named(task.Settings), Seed: &seed, Answer: answer})
		write(costFile, Cost{Seconds: 1 + u, CPUSeconds: 1, PeakBytes: 6e7, Cores: 1, Machine: "simulated"})
	}
}

func TestFlatten(t *testing.T) {
	var f flat
	decoder := json.NewDecoder(strings.NewReader(`{"b": {"x": 1, "y": null, "z": 1.5}, "a": true, "n": [1, 2], "t": ["u"], "big": 18446744073709551615,
		"list": [{"name": "r", "pair": ["a", "b"], "deep": {"k": 2}}], "empty": []}`))
	decoder.UseNumber()
	var object any
	require.NoError(t, decoder.Decode(&object))
	f.walk("p", object)
	f.walk("", nil)
	assert.Equal(t, []cell{{"p.a", true}, {"p.b.x", int64(1)}, {"p.b.z", 1.5}, {"p.big", uint64(18446744073709551615)}}, f.scalars)
	assert.Equal(t, map[string][][]cell{"p.list": {{{"deep.k", int64(2)}, {"name", "r"}, {"pair", `["a","b"]`}}}}, f.tables)
}

// writeRows writes to a Parquet file the rows that write adds.
func writeRows(path string, write func(w *spool) error) error {
	w, err := newSpool(path)
	if err != nil {
		return err
	}
	defer w.close()
	if err := write(w); err != nil {
		return err
	}
	return w.commit()
}

// The columns of a file are the union of the columns of its rows. The type of each column can hold
// all its values.
func TestRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.parquet")
	require.NoError(t, writeRows(path, func(w *spool) error {
		for _, row := range [][]cell{
			{{"i", int64(-1)}, {"f", int64(1)}, {"t", 1.5}, {"b", true}},
			{{"f", 0.5}, {"t", "text"}, {"u", uint64(1 << 63)}},
			{},
		} {
			if err := w.add(row); err != nil {
				return err
			}
		}
		return nil
	}))
	assert.Equal(t, []map[string]any{
		{"i": int64(-1), "f": float64(1), "t": "1.5", "b": true},
		{"f": 0.5, "t": "text", "u": uint64(1 << 63)},
		{},
	}, readRows(t, path))
	failed := fmt.Errorf("no more")
	require.ErrorIs(t, writeRows(path+"2", func(*spool) error { return failed }), failed)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// A task of a plan with responses gets a table of the columns that it needs, without changes.
func TestColumnTables(t *testing.T) {
	p := newPlan(t, "command = \"fake\"\ntables = {files = [\"large.csv\"], responses = [\"y*\"], pairs = \"pairs.csv\"}", map[string]string{
		"large.csv": "y1,x1,y2,x2,g\n1,0.1,2,NA,a\n3,0.3,4,5e-300,b\n",
		"pairs.csv": "response,predictor\ny2,g\ny1,x1\ny2,x2\n",
	})
	require.Equal(t, 2, p.Tasks())
	assert.Equal(t, []Setting{{"table", "large.csv"}, {"response", "y2"}, {"replicate", int64(0)}}, p.Task(1).Settings)
	made, err := p.source.prepare(context.Background(), 1, t.TempDir(), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"--target=y2"}, made.flags)
	assert.Equal(t, []map[string]any{{"y2": float64(2), "g": "a"}, {"y2": float64(4), "g": "b", "x2": 5e-300}}, readRows(t, made.path))
	all := newPlan(t, "command = \"fake\"\ntables = {files = [\"large.csv\"], responses = [\"y*\"]}", map[string]string{"large.csv": "y1,x1,y2,x2\n1,2,3,4\n"})
	assert.Equal(t, []string{"x1", "x2"}, all.source.content(0))
}
