package study

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const smallPlan = `
command = "fake"
seed = 1
replicates = 2
[tables]
files = ["data/*/*.csv"]
[flags]
target = "y"
[grid]
b = [0.5, 1]
a = ["u", ["v", "w"]]
`

var smallFiles = map[string]string{"data/group=1/t.csv": "y\n1\n", "data/group=2/t.csv": "y\n22\n"}

func TestReadPlan(t *testing.T) {
	p := newPlan(t, smallPlan, smallFiles)
	require.Equal(t, 16, p.Tasks())
	assert.Equal(t, []Setting{{"table", "data/group=1/t.csv"}, {"group", "1"}, {"a", "u"}, {"b", 0.5}, {"replicate", int64(0)}}, p.Task(0).Settings)
	last := p.Task(15)
	assert.Equal(t, []Setting{{"table", "data/group=2/t.csv"}, {"group", "2"}, {"a", []any{"v", "w"}}, {"b", int64(1)}, {"replicate", int64(1)}}, last.Settings)
	assert.Equal(t, []string{"--a=v", "--a=w", "--b=1"}, arguments(p.grid.at(last.cell)))
	names := map[string]bool{}
	for i := range p.Tasks() {
		names[p.Task(i).Name] = true
	}
	assert.Len(t, names, 16, "each task has a name of its own")
}

// Names of tasks do not depend on the folder of the plan, and stay the same when a plan gets more
// tasks. A different seed gives different names.
func TestNamesLast(t *testing.T) {
	names := func(text string) map[string]bool {
		found := map[string]bool{}
		p := newPlan(t, text, smallFiles)
		for i := range p.Tasks() {
			found[p.Task(i).Name] = true
		}
		return found
	}
	before := names("command = \"fake\"\ntables = {files = [\"data/*/*.csv\"]}\ngrid = {a = [1]}\nseed = 1")
	grown := names("command = \"fake\"\nreplicates = 3\ntables = {files = [\"data/*/*.csv\"]}\ngrid = {a = [2, 1]}\nseed = 1")
	other := names("command = \"fake\"\ntables = {files = [\"data/*/*.csv\"]}\ngrid = {a = [1]}\nseed = 2")
	require.Len(t, before, 2)
	require.Len(t, grown, 12)
	for name := range before {
		assert.True(t, grown[name])
		assert.False(t, other[name])
	}
	assert.NotEqual(t, seedOf(1, "name", 0), seedOf(1, "name", 1))
	assert.NotEqual(t, seedOf(1, "name", 0), seedOf(2, "name", 0))
}

func TestPlansThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"command = ":            "plan.toml: line 1: ",
		"command = 1":           "plan.toml: line 1",
		"comand = \"x\"":        "plan.toml: unknown key comand: want command, seed",
		"seed = 1":              `no command: want command = "varsel"`,
		"command = \"x\"":       "want either [tables] or [simulate]",
		"command = \"x\"\n[a]":  "unknown key a",
		"replicates = 0\n" + ok: "replicates: got 0, want at least 1",
		"command = \"x\"\ntables = {files = [\"nothing*\"]}":                                               `tables: files: nothing matches "nothing*"`,
		"command = \"x\"\ntables = {}":                                                                     "tables: no files",
		"command = \"x\"\ntables = {files = [\"*.csv\"], pairs = \"p\"}":                                   "want responses beside them",
		"command = \"x\"\ntables = {files = [\"t.csv\"], responses = [\"z*\"]}":                            `no column of`,
		"command = \"x\"\ntables = {files = [\"t.csv\"], responses = [\"y\"], pairs = \"p.csv\"}":          `p.csv: line 3: no column "x9" in the table; the nearest are ["x1"]`,
		"command = \"x\"\ntables = {files = [\"t.csv\"], responses = [\"x1\"], pairs = \"p.csv\"}":         `p.csv: line 2: "y" is no response of the plan`,
		"command = \"x\"\nsimulate = {problem = \"z\", seeds = 1}":                                         `simulate: problem: got "z", want varsel or dag`,
		"command = \"x\"\nsimulate = {problem = \"dag\"}":                                                  "seeds: got 0, want at least 1",
		"command = \"x\"\nflags = {a = 1979-05-27}\nsimulate = {problem = \"dag\", seeds = 1}":             "flag a: got a value of type time.Time",
		"command = \"x\"\nflags = {a = 1}\ngrid = {a = [1]}\nsimulate = {problem = \"dag\", seeds = 1}":    "flag a is in flags and in grid",
		"command = \"x\"\ngrid = {a = []}\nsimulate = {problem = \"dag\", seeds = 1}":                      "flag a has no values",
		"command = \"x\"\nkeep = [\"a/b\"]\nsimulate = {problem = \"dag\", seeds = 1}":                     `keep: got "a/b"`,
		"command = \"x\"\nsimulate = {problem = \"dag\", seeds = 1, flags = {a = 1}, grid = {a = [1, 2]}}": "flag a is in flags and in grid",
	} {
		_, err := readNew(t, text, map[string]string{"t.csv": "y,x1\n1,2\n", "p.csv": "response,predictor\ny,x1\ny,x9\n"})
		require.ErrorContains(t, err, want, text)
	}
}

const ok = "command = \"x\"\nsimulate = {problem = \"dag\", seeds = 1}"

func TestEachFlag(t *testing.T) {
	p := newPlan(t, "command = \"x\"\nflags = {a = [1, 2]}\ngrid = {b = [true, \"z\"]}\nsimulate = {problem = \"dag\", seeds = 1, flags = {c = 3}}", nil)
	var got []string
	require.NoError(t, p.EachFlag(func(command, flag, value string) error {
		got = append(got, command+" "+flag+" "+value)
		return nil
	}))
	assert.Equal(t, []string{"simulate dag c 3", "x a 1", "x a 2", "x b true", "x b z"}, got)
}

func TestSelection(t *testing.T) {
	const tasks = 10
	seen := map[int]int{}
	for i := range 4 {
		s := Shard(i, 4)
		n := 0
		for index := range s.indices(tasks) {
			seen[index]++
			n++
		}
		assert.Equal(t, n, s.count(tasks))
	}
	assert.Len(t, seen, tasks)
	for index, times := range seen {
		assert.Equal(t, 1, times, index)
	}
	assert.Equal(t, tasks, Selection{}.count(tasks))
	assert.Equal(t, 0, Shard(11, 12).count(tasks))
	last, err := One(9, tasks)
	require.NoError(t, err)
	assert.Equal(t, []int{9}, slices.Collect(last.indices(tasks)))
	assert.Equal(t, 1, last.count(tasks))
	_, err = One(10, tasks)
	require.ErrorContains(t, err, "got index 10, want one from 0 to 9")
	for _, wrong := range []string{"", "3", "3/3", "-1/3", "a/3", "1/b"} {
		_, err := ParseShard(wrong)
		require.ErrorContains(t, err, "want I/N", wrong)
	}
}

func TestFromScheduler(t *testing.T) {
	_, _, found, err := FromScheduler()
	require.NoError(t, err)
	require.False(t, found)
	t.Setenv("JOB_COMPLETION_INDEX", "7")
	index, variable, found, err := FromScheduler()
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, 7, index)
	require.Equal(t, "JOB_COMPLETION_INDEX", variable)
	t.Setenv("SLURM_ARRAY_TASK_ID", "x")
	_, _, _, err = FromScheduler()
	require.ErrorContains(t, err, `SLURM_ARRAY_TASK_ID: got "x"`)
}

// Every text of a plan gives either an error that names the file, or a list of tasks with different
// names.
func FuzzReadPlan(f *testing.F) {
	for _, seed := range []string{
		smallPlan, "command = \"fake\"\nkeep = [\"*.csv\"]\n[tables]\nfiles = [\"*.csv\"]\nresponses = [\"y*\"]\n",
		"command = \"varsel\"\n[simulate]\nproblem = \"varsel\"\nseeds = 3\ngrid = {rows = [10, 20]}\n",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "a.csv"), []byte("y,y2\n1,2\n"), 0o644))
	path := filepath.Join(dir, "plan.toml")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		p, err := Read(path)
		if err != nil {
			require.ErrorContains(t, err, path)
			return
		}
		names := map[string]bool{}
		for i := range min(p.Tasks(), 100) {
			names[p.Task(i).Name] = true
		}
		require.Len(t, names, min(p.Tasks(), 100))
	})
}
