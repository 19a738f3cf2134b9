package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/answers"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/serve"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cmd/internal/studies"
)

// These are the headings under which the help lists commands.
const (
	answerGroup = "answer"
	useGroup    = "use"
	checkGroup  = "check"
)

func rootCommand(a *shell.App) *cobra.Command { return commandsOf(a, applications) }

// commandsOf returns the root command of a program with the given applications.
func commandsOf(a *shell.App, all application.Registry) *cobra.Command {
	a.Pages = all.Page
	root := &cobra.Command{
		Use:   "vti",
		Short: "Which model do the data support, and whether to trust the answer",
		Long: `vti answers questions of structure about a table: which predictors matter (varsel), which columns
depend on which (dag), which effects vary by group (hbm --select).

Each possible answer is a model. vti computes the posterior probability of every model, and of every
part of one, with the parameters averaged over models, and says whether its own answer can be
trusted.`,
		Example: `  vti varsel testdata/diabetes.csv --target y
  vti dag data.csv
  vti hbm testdata/radon.csv --formula "log_radon ~ floor + (1 + floor | county)" --select
  vti varsel --help`,
		Version:       vti.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.PersistentFlags().BoolVar(&a.Stack, "stack", false, "print the stack trace after an internal error")
	root.SetVersionTemplate(versionText())
	root.AddGroup(&cobra.Group{ID: answerGroup, Title: "Answer a question about a table:"}, &cobra.Group{ID: useGroup, Title: "Use an answer:"}, &cobra.Group{ID: checkGroup, Title: "Check and compare answers:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	add(answerGroup, all.Below(a, "")...)
	add(answerGroup, rjmcmcCommand(a, all), amortizeCommand(a, all))
	add(useGroup, answers.Runs(a, all), answers.Show(a, all), answers.Report(a, all), answers.Predict(a, all), answers.Effects(a, all), answers.Colocate(a), answers.Export(a, all))
	add(checkGroup, answers.Check(a, all), answers.LeaveOneOut(a, all), answers.Compare(a, all), simulateCommand(a, all), calibrateCommand(a, all))
	add(checkGroup, answers.Certify(a, all), studies.Command(a, all))
	add(useGroup, serve.Command(a, all))
	add("", describeCommand(a), devicesCommand(a), versionCommand(a))
	cli.SetHelp(root)
	return root
}
