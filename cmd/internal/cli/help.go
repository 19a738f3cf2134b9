package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// HelpWidth is the largest width of the help in columns.
const HelpWidth = 100

// groupAnnotation names the group of a flag in the help of its command.
const groupAnnotation = "vti_group"

// Group calls the function define, and puts the flags that define registers under the heading title
// in the help. The help shows the groups in the order of the calls of Group, and last the flags
// without a heading.
func Group(cmd *cobra.Command, title string, define func()) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { before[flag.Name] = true })
	define()
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !before[flag.Name] && flag.Annotations[groupAnnotation] == nil {
			if flag.Annotations == nil {
				flag.Annotations = map[string][]string{}
			}
			flag.Annotations[groupAnnotation] = []string{title}
		}
	})
}

// SetHelp prints the help of all commands in groups, and in at most HelpWidth columns.
func SetHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		printUsage(cmd.OutOrStdout(), cmd)
		return nil
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		w := cmd.OutOrStdout()
		fmt.Fprintf(w, "%s\n\n", wrapped(cmp.Or(cmd.Long, cmd.Short)))
		printUsage(w, cmd)
	})
}

// wrapped returns a text wrapped to lines of at most HelpWidth columns. Paragraphs are separated by
// blank lines. Lines that begin with a space are not wrapped.
func wrapped(text string) string {
	var lines []string
	line := ""
	end := func() {
		if line != "" {
			lines, line = append(lines, line), ""
		}
	}
	for source := range strings.SplitSeq(text, "\n") {
		if source == "" || source[0] == ' ' {
			end()
			lines = append(lines, source)
			continue
		}
		for word := range strings.FieldsSeq(source) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > HelpWidth {
				end()
			}
			if line != "" {
				line += " "
			}
			line += word
		}
	}
	end()
	return strings.Join(lines, "\n")
}

func printUsage(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	printCommands(w, cmd)
	printFlags(w, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s [command] --help shows the help of a command.\n", cmd.CommandPath())
	}
}

// printCommands lists the commands below cmd, by groups.
func printCommands(w io.Writer, cmd *cobra.Command) {
	list := func(title, group string) {
		began := false
		for _, sub := range cmd.Commands() {
			if sub.GroupID != group || !sub.IsAvailableCommand() {
				continue
			}
			if !began {
				fmt.Fprintf(w, "\n%s\n", title)
				began = true
			}
			fmt.Fprintf(w, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	other := "Commands:"
	for _, group := range cmd.Groups() {
		list(group.Title, group.ID)
		other = "Other commands:"
	}
	list(other, "")
}

// printFlags lists the flags of a command, by groups.
func printFlags(w io.Writer, cmd *cobra.Command) {
	groups, byGroup := []string{""}, map[string]*pflag.FlagSet{}
	collect := func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		group := ""
		if groups := flag.Annotations[groupAnnotation]; len(groups) > 0 {
			group = groups[0]
		}
		if byGroup[group] == nil {
			byGroup[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
			byGroup[group].SortFlags = false
			if group != "" {
				groups = append(groups, group)
			}
		}
		byGroup[group].AddFlag(flag)
	}
	local := cmd.LocalFlags()
	local.SortFlags = false
	local.VisitAll(collect)
	cmd.InheritedFlags().VisitAll(collect)
	// Flags without a heading are few and the same for all commands, and come last.
	for _, group := range append(groups[1:], "") {
		set := byGroup[group]
		if set == nil {
			continue
		}
		title := cmp.Or(group, "Flags")
		if group == "" && len(groups) > 1 {
			title = "Other flags"
		}
		fmt.Fprintf(w, "\n%s:\n%s\n", title, strings.TrimRight(set.FlagUsagesWrapped(HelpWidth), "\n"))
	}
}

// UnknownCommand returns the error for a command that does not exist, which suggests commands with
// similar names.
func UnknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	return fmt.Errorf("unknown command %q%s (see %s --help)", name, didYouMean(cmd.SuggestionsFor(name)), cmd.CommandPath())
}

// Choice makes cmd a command that only groups other commands, and lists them if it is called by
// itself.
func Choice(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	names := apply.To(commands, func(one *cobra.Command) string { return one.Name() })
	choices := english.Join(names, "or")
	cmd.AddCommand(commands...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return UnknownCommand(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return fmt.Errorf("expected %s %s (see %s --help)", cmd.CommandPath(), choices, cmd.CommandPath())
	}
	return cmd
}

// FlagError returns the error for a flag that does not exist. It suggests a flag with a similar
// name, and names the help of the command. If the command line names a command that does not exist,
// the error is about the command instead.
func FlagError(cmd *cobra.Command, args []string, err error) error {
	if !cmd.HasParent() && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return UnknownCommand(cmd, args[0])
	}
	if arguments := cmd.Flags().Args(); cmd.HasSubCommands() && len(arguments) > 0 && cmd.Args != nil && cmd.Args(cmd, arguments) != nil {
		return UnknownCommand(cmd, arguments[0])
	}
	suggestion := ""
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		kinds := map[string]string{"uint64": "a whole number", "float64": "a number", "duration": "a time such as 90s or 10m"}
		if expected := kinds[invalid.GetFlag().Value.Type()]; expected != "" {
			return fmt.Errorf("--%s: expected %s, found %q (see %s --help)", invalid.GetFlag().Name, expected, invalid.GetValue(), cmd.CommandPath())
		}
	}
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && len(missing.GetSpecifiedName()) > 1 {
		var names []string
		add := func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, flag.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		slices.Sort(names)
		similar := apply.To(table.Nearest(missing.GetSpecifiedName(), slices.Compact(names)), func(name string) string { return "--" + name })
		suggestion = didYouMean(similar)
	}
	return fmt.Errorf("%w%s (see %s --help)", err, suggestion, cmd.CommandPath())
}

// didYouMean returns a question that suggests similar names, or "" for an empty list.
func didYouMean(similar []string) string {
	if len(similar) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(similar[:min(len(similar), 3)], " or ") + "?"
}
