package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
)

func rootCommand(a *shell.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "vtilab",
		Short: "Measure vti: compare builds, repeat published studies, check devices",
		Long: `vtilab measures vti. It repeats published studies (paper, dag, simulate), measures times and
errors against references (time, hbm), looks for trusted answers that are wrong (calibrate), checks
and times devices, and compares the answers of two builds (regress).`,
		Example:       "  vtilab paper vti fig4 --quick\n  vtilab dag --out figure3\n  vtilab time --only hald,diabetes\n  vtilab devices --check",
		Version:       vti.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().BoolVar(&a.Stack, "stack", false, "print the stack trace after an internal error")
	root = cli.Choice(root, paperCommand(a), dagCommand(a), timeCommand(a), hbmCommand(a),
		calibrateCommand(a), simulateCommand(a), devicesCommand(a), regressCommand())
	cli.SetHelp(root)
	return root
}
