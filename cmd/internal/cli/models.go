package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// modelList is a flag that says which models a result lists: the best, or all.
type modelList bool

// String returns the name on the command line.
func (m modelList) String() string {
	if m {
		return "all"
	}
	return "best"
}

// UnmarshalText reads the name.
func (m *modelList) UnmarshalText(text []byte) error {
	if *m = string(text) == "all"; !*m && string(text) != "best" {
		return fmt.Errorf("got %q, want best or all", text)
	}
	return nil
}

// RegisterModels adds the flag that selects the models, or graphs, that results list.
func RegisterModels(cmd *cobra.Command, all *bool, usage string) {
	Group(cmd, OutputGroup, func() {
		cmd.Flags().Var(Name((*modelList)(all)), "models", usage)
	})
	CompleteWith(cmd, "models", "best", "all")
}
