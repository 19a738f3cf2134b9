package regress

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const answer = `note
{"certificate": {"verdict": "trusted", "khat": 0.1}, "log_evidence": -3.5, "log_evidence_se": 0.01,
 "inclusion": [{"name": "a", "q": 0.4, "certified": 0.5, "se": 0.02}, {"name": "b", "certified": 0, "se": null}],
 "coefficients": [{"name": "a", "mean": 1, "mean_se": 0.1, "low": 2}], "means": [{"values": ["1", "x"], "mean": 2, "sd": 4}],
 "graphs": [{"prob": 0.3, "se": 0.1}], "a": [{"name": "b", "a": 0.5, "se_a": 0.25}],
 "orders": [{"order": 2, "probability": 0.7}]}`

func TestNumbers(t *testing.T) {
	parsed, err := parse([]byte(answer))
	require.NoError(t, err)
	require.Equal(t, "trusted", verdictOf(parsed))
	require.Equal(t, map[string]Number{
		"/log_evidence": {-3.5, 0.01}, "/inclusion[a]/certified": {0.5, 0.02}, "/coefficients[a]/mean": {1, 0.1}, "/orders[2]/probability": {0.7, 0},
		"/means[[1 x]]/mean": {2, 0.2}, "/means[[1 x]]/sd": {4, 0.2}, "/a[b]/a": {0.5, 0.25},
	}, numbersOf(parsed))
	_, err = parse([]byte("vti: no such column"))
	require.Error(t, err)
}

// TestLongLists checks that a part of a long list is kept, and that the kept elements do not depend
// on the numbers in the list.
func TestLongLists(t *testing.T) {
	var models []any
	for i := range 5000 {
		models = append(models, map[string]any{"code": float64(i), "probability": 0.1})
	}
	kept := numbersOf(map[string]any{"models": models})
	require.InDelta(t, 3*longest/2, len(kept), longest/2)
	require.Contains(t, kept, "/models[7]/probability")
}

// TestCompare checks that Compare finds a number that changed by more than its errors, an exact
// number that changed at all, a worse verdict, a wrong answer, a missing run and a missing field,
// and that it does not list differences within errors.
func TestCompare(t *testing.T) {
	before := Record{
		"a": {Verdict: "trusted", CPU: 2, Numbers: map[string]Number{"p": {0.5, 0.01}, "log": {-3, 0}, "m[x]/p": {1, 0}, "m[y]/p": {1, 0}}},
		"b": {Trusted: 10}, "c": {Verdict: "doubtful"},
	}
	same := Record{
		"a": {Verdict: "trusted", CPU: 1, Numbers: map[string]Number{"p": {0.55, 0.01}, "log": {-3 - 1e-7, 0}, "m[y]/p": {1, 0}}},
		"b": {Trusted: 10}, "c": {Verdict: "trusted"},
	}
	c := Compare(before, same)
	require.Empty(t, c.Differences)
	require.Equal(t, 3, c.Numbers)
	require.Equal(t, 2, c.Same)
	require.Equal(t, 1, c.Gone)

	worse := Record{
		"a": {Verdict: "doubtful", Exit: 1, Numbers: map[string]Number{"p": {0.57, 0.01}, "log": {-3.001, 0}}},
		"b": {Trusted: 10, Wrong: 1},
	}
	c = Compare(before, worse)
	require.Len(t, c.Differences, 7)
	require.Equal(t, 7, c.Failures())
	var text strings.Builder
	c.Print(&text, 10, true)
	for _, want := range []string{
		`verdict "doubtful", was "trusted"`, "4.9  p: 0.57 ± 0.01, was 0.5 ± 0.01", "log: -3.001, was -3\n",
		"m[]/p: not answered", "10 trusted and 1 wrong, was 10 and 0", "not run", "exit status 1, was 0",
	} {
		require.Contains(t, text.String(), want)
	}
}

// TestLimit checks that, among 10,000 numbers, a difference of 4.3 standard errors is listed but
// does not count as a failure, and that a difference of 5.2 standard errors, above Limit, counts.
func TestLimit(t *testing.T) {
	before, now := Record{"a": {Numbers: map[string]Number{}}}, Record{"a": {Numbers: map[string]Number{}}}
	for i := range 10000 {
		before["a"].Numbers[strconv.Itoa(i)], now["a"].Numbers[strconv.Itoa(i)] = Number{0, 3}, Number{1, 4}
	}
	now["a"].Numbers["7"] = Number{21.5, 4}
	c := Compare(before, now)
	require.InDelta(t, 4.9, c.Limit(), 0.1)
	require.Len(t, c.Differences, 1)
	require.Zero(t, c.Failures())
	now["a"].Numbers["7"] = Number{26, 4}
	require.Equal(t, 1, Compare(before, now).Failures())
}

func TestRecordIsReadBack(t *testing.T) {
	record := Record{"a": {Exit: 3, Verdict: "failed", CPU: 0.5, Numbers: map[string]Number{"p": {1, 0.5}, "log": {-1.25e-7, 0}}}}
	path := filepath.Join(t.TempDir(), "record.json")
	require.NoError(t, record.Write(path))
	read, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, record, read)
}

// TestRuns checks that names are unique, and that Runs includes the runs that other runs need.
func TestRuns(t *testing.T) {
	runs := Runs(regexp.MustCompile(""))
	require.GreaterOrEqual(t, len(runs), 60)
	seen := map[string]bool{}
	for _, run := range runs {
		require.False(t, seen[run.Name], run.Name)
		for _, name := range run.Needs {
			require.True(t, seen[name], "%s needs %s", run.Name, name)
		}
		seen[run.Name] = true
	}
	var names []string
	for _, run := range Runs(regexp.MustCompile("^hbm-infer$")) {
		names = append(names, run.Name)
	}
	require.Equal(t, []string{"hbm-amortize", "hbm-infer"}, names)
}

// TestMake checks that two machines, whose binaries are the programs echo and false, make each run
// after the runs that it needs.
func TestMake(t *testing.T) {
	runs := []Run{{Name: "first", Args: []string{"show", `{"seed": 1}`}}, {Name: "second", Args: []string{"show", "{runs}/first", "{data}"}, Needs: []string{"first"}}}
	machines := []Machine{{Binary: "echo", Data: `{"log_evidence": 3}`, Scratch: t.TempDir()}, {Binary: "false"}}
	failures := 0
	records, err := Make(t.Context(), runs, machines, 2, func(_ int, _ Run, _ Answer, err error) {
		if err != nil {
			failures++
		}
	})
	require.NoError(t, err)
	require.Equal(t, 1, failures) // the binary false cannot answer, and the second run has no data
	require.Equal(t, map[string]Number{"/log_evidence": {3, 0}}, records[0]["second"].Numbers)
	require.Equal(t, 1, records[1]["first"].Exit)
	require.NotContains(t, records[1], "second")
}
