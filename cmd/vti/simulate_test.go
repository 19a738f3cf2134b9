package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/selection"
	"github.com/transdim/vti/cmd/internal/shell"
)

func TestSimulate(t *testing.T) {
	emptyDir(t, "", "")
	first := mustRun(t, "simulate", "varsel", "--rows", "20", "--predictors", "30", "--effects", "2", "--seed", "4", "--out", "a.csv", "--json")
	var truth selection.Simulated
	require.NoError(t, json.Unmarshal([]byte(first.stdout), &truth))
	assert.Equal(t, []any{"a.csv", 20, 31, 2}, []any{truth.Data, truth.Rows, truth.Columns, len(truth.Effects)})
	toOutput := mustRun(t, "simulate", "varsel", "--rows", "20", "--predictors", "30", "--effects", "2", "--seed", "4", "--out", "-")
	file, err := os.ReadFile("a.csv")
	require.NoError(t, err)
	assert.Equal(t, string(file), toOutput.stdout)
	assert.Contains(t, toOutput.stderr, "20 rows, 31 columns, response y; 2 predictors with an effect\n")

	for message, args := range map[string][]string{
		"a.csv exists already":       {"--out", "a.csv"},
		"no file to write was given": {},
		"got 4 effects, want 0 to 3": {"--predictors", "3", "--effects", "4", "--out", "c.csv"},
		"want one from 0 to below 1": {"--correlation", "1", "--out", "c.csv"},
	} {
		got := vtiCommand(t, append([]string{"simulate", "varsel"}, args...)...)
		assert.Equal(t, shell.StatusUsage, got.status)
		assert.Contains(t, got.stderr, message)
	}
	assert.NotContains(t, entries(t), "c.csv")
}
