package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
)

// versionAnswer is the output of vti version --json.
type versionAnswer struct {
	Command string `json:"command"`
	Version string `json:"version"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func versionCommand(a *shell.App) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  vti version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			answer := versionAnswer{"version", vti.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.Answer(asJSON, shell.Described{Schema: "version", Object: answer}, func() { fmt.Fprint(a.Stdout, versionText()) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func versionText() string {
	return fmt.Sprintf("vti %s (%s, %s/%s)\n", vti.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func describeCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:     "describe",
		Short:   "Print all commands and their flags as JSON, for programs that call vti",
		Example: "  vti describe",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.PrintJSON(shell.Described{Schema: "describe", Object: cli.Describe(cmd.Root())})
		},
	}
}
