package regress

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const answer = `note
{"certificate": {"verdict": "trusted", "khat": 0.1}, "log_evidence": -3.5, "log_evidence_se": 0.01,
 "inclusion": [{"name": "a", "q": 0.4, "certified": 0.5, "se": 0.02}, {"name": "b", "certified": 0, "se": null}],
 "coefficients": [{"name": "a", "mean": 1, "mean_se": 0.1, "sd": 2}],
 "graphs": [{"prob": 0.3, "se": 0.1}],
 "orders": [{"order": 2, "probability": 0.7}]}`

func TestNumbers(t *testing.T) {
	parsed, err := parse([]byte(answer))
	require.NoError(t, err)
	require.Equal(t, "trusted", verdictOf(parsed))
	require.Equal(t, map[string]Number{
		"/log_evidence": {-3.5, 0.01}, "/inclusion[a]/certified": {0.5, 0.02}, "/coefficients[a]/mean": {1, 0.1}, "/orders[2]/probability": {0.7, 0},
	}, numbersOf(parsed))
	_, err = parse([]byte("vti: no such column"))
	require.Error(t, err)
}

// A number that moved by more than its errors, an exact one that moved at all, a worse verdict, a
// wrong answer and a missing run are found; what lies within errors is not.
func TestCompare(t *testing.T) {
	before := Record{
		"a": {Verdict: "trusted", CPU: 2, Numbers: map[string]Number{"p": {0.5, 0.01}, "log": {-3, 0}}},
		"b": {Trusted: 10}, "c": {Verdict: "doubtful"},
	}
	same := Record{
		"a": {Verdict: "trusted", CPU: 1, Numbers: map[string]Number{"p": {0.55, 0.01}, "log": {-3 - 1e-7, 0}}},
		"b": {Trusted: 10}, "c": {Verdict: "trusted"},
	}
	c := Compare(before, same)
	require.Empty(t, c.Differences)
	require.Equal(t, 2, c.Numbers)
	require.InDelta(t, 0.05/(0.01*math.Sqrt2), c.Largest, 1e-3)

	worse := Record{
		"a": {Verdict: "doubtful", Exit: 1, Numbers: map[string]Number{"p": {0.56, 0.01}, "log": {-3.001, 0}}},
		"b": {Trusted: 10, Wrong: 1},
	}
	c = Compare(before, worse)
	require.Len(t, c.Differences, 6)
	var text strings.Builder
	c.Print(&text)
	require.Contains(t, text.String(), `verdict "doubtful", was "trusted"`)
	require.Contains(t, text.String(), "p: 0.56 ± 0.01, was 0.5 ± 0.01")
	require.Contains(t, text.String(), "not run")
}

func TestRecordIsReadBack(t *testing.T) {
	record := Record{"a": {Exit: 3, Verdict: "failed", CPU: 0.5, Numbers: map[string]Number{"p": {1, 0.5}}}}
	path := filepath.Join(t.TempDir(), "record.json")
	require.NoError(t, record.Write(path))
	read, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, record, read)
}

// Names are unique, and what a run refers to comes before it.
func TestRuns(t *testing.T) {
	runs := Runs("")
	require.GreaterOrEqual(t, len(runs), 60)
	seen := map[string]bool{}
	for _, run := range runs {
		require.False(t, seen[run.Name], run.Name)
		for _, arg := range run.Args {
			if _, earlier, ok := strings.Cut(arg, "{runs}/"); ok {
				require.True(t, seen[earlier], "%s needs %s", run.Name, earlier)
			}
		}
		seen[run.Name] = true
	}
}
