package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// modelList says which models results list: the best, or all.
type modelList bool

// String is the name on the command line.
func (m modelList) String() string {
	if m {
		return "all"
	}
	return "best"
}

func parseModelList(s string) (modelList, error) {
	switch s {
	case "all", "best":
		return s == "all", nil
	}
	return false, fmt.Errorf("got %q, want best or all", s)
}

// RegisterModels adds the flag that says which models, or graphs, results list.
func RegisterModels(cmd *cobra.Command, all *bool, usage string) {
	Group(cmd, OutputGroup, func() {
		cmd.Flags().Var(Parsed[modelList]{(*modelList)(all), parseModelList}, "models", usage)
	})
	CompleteWith(cmd, "models", "best", "all")
}
