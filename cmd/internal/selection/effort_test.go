package selection

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	runs "github.com/transdim/vti/run"
)

// The flags for effort give the expected records, and contradictory flags an error.
func TestEffortFlags(t *testing.T) {
	for _, test := range []struct {
		args  []string
		want  runs.Budget
		error string
	}{
		{nil, runs.Budget{}, ""},
		{[]string{"--precision", "0.01", "--max-time", "90s"}, runs.Budget{Precision: 0.01, Limit: runs.Limit{MaxSeconds: 90}}, ""},
		{[]string{"--effort", "fixed"}, runs.Budget{Effort: runs.FixedEffort}, ""},
		{[]string{"--steps", "10"}, runs.Budget{Effort: runs.FixedEffort}, ""},
		{[]string{"--steps", "10", "--effort", "fixed"}, runs.Budget{Effort: runs.FixedEffort}, ""},
		{[]string{"--steps", "10", "--effort", "auto"}, runs.Budget{}, "--steps is for --effort fixed"},
		{[]string{"--steps", "10", "--precision", "0.1"}, runs.Budget{}, "--precision is for --effort auto; this one is fixed"},
		{[]string{"--effort", "fixed", "--max-time", "1m"}, runs.Budget{}, "--max-time is for --effort auto; this one is fixed"},
		{[]string{"--precision", "1"}, runs.Budget{}, "--precision: got 1, want a standard error"},
		{[]string{"--max-time", "-1s"}, runs.Budget{}, "--max-time: got -1s, want a time that is not negative"},
	} {
		var f varselFlags
		cmd := &cobra.Command{}
		f.registerTraining(cmd)
		require.NoError(t, cmd.Flags().Parse(test.args))
		got, err := f.effort.Budget(cmd.Flags())
		if test.error != "" {
			require.ErrorContains(t, err, test.error, test.args)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, got, test.args)
	}
}
