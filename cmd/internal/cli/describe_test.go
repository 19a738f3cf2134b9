package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	root := &cobra.Command{Use: "vti", Version: "1"}
	root.AddGroup(&cobra.Group{ID: "answer", Title: "Answer:"})
	choice := &cobra.Command{Use: "rjmcmc", GroupID: "answer"}
	count := 3
	asked := &cobra.Command{Use: "varsel TABLE [MORE] --target COLUMN [flags]", Short: "Select", RunE: func(*cobra.Command, []string) error { return nil }}
	Group(asked, "Effort", func() {
		asked.Flags().VarP(Count(&count, 1), "steps", "s", "`number` of steps")
	})
	asked.Flags().String("mode", "fast", "how")
	asked.Flags().StringSlice("pairs", nil, "pairs, or all")
	asked.Flags().Lookup("pairs").NoOptDefVal = "all"
	asked.Flags().Bool("secret", false, "")
	require.NoError(t, asked.Flags().MarkHidden("secret"))
	CompleteWith(asked, "mode", "fast", "slow\tat leisure")
	CompleteColumns(asked, "pairs")
	root.AddCommand(choice, &cobra.Command{Use: "version", Run: func(*cobra.Command, []string) {}})
	choice.AddCommand(asked)

	require.Equal(t, &Description{Version: "1", Commands: []DescribedCommand{{
		Name: "rjmcmc varsel", Group: "Answer", Short: "Select", Arguments: []string{"TABLE", "[MORE]"},
		Flags: []DescribedFlag{
			{Name: "mode", Type: "string", Value: "string", Choices: []string{"fast", "slow"}, Words: []string{"", "at leisure"}, Default: "fast", Usage: "how"},
			{Name: "pairs", Type: "stringSlice", Value: "strings", Optional: true, Choices: []string{}, Columns: true, Default: "[]", Usage: "pairs, or all"},
			{Name: "steps", Shorthand: "s", Type: "count", Value: "number", Choices: []string{}, Default: "3", Group: "Effort", Usage: "number of steps"},
		},
	}}}, Describe(root))
}
