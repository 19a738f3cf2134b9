package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/shell"
)

func versionCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  vti version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Stdout, versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("vti %s (%s, %s/%s)\n", vti.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
