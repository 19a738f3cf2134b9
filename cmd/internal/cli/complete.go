package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// CompleteWith makes the shell suggest values of a flag. A value may be followed by a tab and its
// meaning in words, in which # stands for the number at the end of the value.
func CompleteWith(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("completeWith: " + err.Error()) // no such flag
	}
}

// CompleteLikelihoods makes the shell suggest names of likelihoods.
func CompleteLikelihoods(cmd *cobra.Command, kinds []likelihood.Kind) {
	names := apply.To(kinds, func(kind likelihood.Kind) string { return kind.String() })
	CompleteWith(cmd, "likelihood", names...)
}

// CompleteColumns makes the shell suggest the columns of the table as values of the given flags. A
// flag takes one column, or several separated by commas.
func CompleteColumns(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.RegisterFlagCompletionFunc(flag, columnsOf); err != nil {
			panic("completeColumns: " + err.Error()) // no such flag
		}
	}
}

func columnsOf(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	data, err := table.ReadFile(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	before := begun[:strings.LastIndex(begun, ",")+1]
	suggestions := apply.To(data.Names(), func(name string) string { return before + name })
	return suggestions, cobra.ShellCompDirectiveNoFileComp
}

// Arguments accepts a command line with at least the number least and at most the number most of
// arguments. If most is 0 there is no upper limit. The text noun describes the arguments in errors.
func Arguments(least, most int, noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && (most == 0 || len(args) <= most):
			return nil
		case len(args) == 0 && most == 0:
			return fmt.Errorf("expected %s, found none (see %s --help)", noun, cmd.CommandPath())
		}
		return fmt.Errorf("expected %s, found %s (see %s --help)", noun, english.Count(len(args), "argument"), cmd.CommandPath())
	}
}

// TableArgument accepts one table, or no argument if --resume is given.
func TableArgument(cmd *cobra.Command, args []string) error {
	resume := cmd.Flags().Lookup("resume")
	switch {
	case len(args) > 1 && cmd.Flags().Changed("interactions") && strings.Contains(args[1], ":"):
		return fmt.Errorf("expected one table, found %q; pairs follow an equals sign, as --interactions=%s", args, args[1])
	case len(args) > 1:
		return fmt.Errorf("expected one table, found %q (see %s --help)", args, cmd.CommandPath())
	case len(args) == 0 && (resume == nil || !resume.Changed):
		return errors.New("no table was given: expected a CSV or Parquet file, or PLINK genotypes (see " + cmd.CommandPath() + " --help)")
	}
	return nil
}

// CompleteTable makes the shell suggest files of tables.
func CompleteTable(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"csv", "tsv", "txt", "parquet", "bed"}, cobra.ShellCompDirectiveFilterFileExt
}
