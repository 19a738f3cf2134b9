package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Description describes the commands of vti for programs that call them.
type Description struct {
	Version  string             `json:"version"`
	Commands []DescribedCommand `json:"commands"`
}

// DescribedCommand is a command that can be run, unlike commands that only group other commands.
type DescribedCommand struct {
	// Name is the name on the command line without vti, such as "rjmcmc varsel".
	Name string `json:"name"`
	// Group is the heading in the help under which the first word of the name is listed.
	Group string `json:"group"`
	Short string `json:"short"`
	Long  string `json:"long"`
	// Arguments are the arguments before the flags, as the help writes them: TABLE if it is
	// required, [TABLE] if it may be left out, and RUN... if there may be several.
	Arguments []string        `json:"arguments"`
	Flags     []DescribedFlag `json:"flags"`
}

// Has reports whether the command has a flag.
func (c *DescribedCommand) Has(flag string) bool {
	return slices.ContainsFunc(c.Flags, func(f DescribedFlag) bool { return f.Name == flag })
}

// DescribedFlag describes a flag of a command. Its name has no hyphens in front.
type DescribedFlag struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand"`
	// Type is bool, count, number, name, duration, string, stringSlice (several values, separated
	// by commas) or stringArray (a flag that may be repeated), among others.
	Type string `json:"type"`
	// Value is the word that stands for the value in the help, such as file or column.
	Value string `json:"value"`
	// Optional reports whether the flag can be given without a value.
	Optional bool `json:"optional"`
	// Choices are the values that the flag accepts, if these are a few names.
	Choices []string `json:"choices"`
	// Words are the meanings of the choices in plain words, in which # stands for a number. A
	// choice without a meaning has an empty text.
	Words []string `json:"-"`
	// Columns reports whether the value is one or several columns of the table.
	Columns bool   `json:"-"`
	Default string `json:"default"`
	Group   string `json:"group"`
	Usage   string `json:"usage"`
}

// Describe describes the command root and all commands below it that are not hidden.
func Describe(root *cobra.Command) *Description {
	d := &Description{Version: root.Version, Commands: []DescribedCommand{}}
	titles := map[string]string{}
	for _, group := range root.Groups() {
		titles[group.ID] = strings.TrimSuffix(group.Title, ":")
	}
	for _, cmd := range root.Commands() {
		d.add(cmd, titles[cmd.GroupID])
	}
	return d
}

func (d *Description) add(cmd *cobra.Command, group string) {
	if !cmd.IsAvailableCommand() || group == "" {
		return
	}
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	one := DescribedCommand{Name: name, Group: group, Short: cmd.Short, Long: cmd.Long, Arguments: arguments(cmd), Flags: []DescribedFlag{}}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			one.Flags = append(one.Flags, describeFlag(cmd, flag))
		}
	})
	if leaf := !cmd.HasAvailableSubCommands() || len(one.Flags) > 0; leaf {
		d.Commands = append(d.Commands, one)
	}
	for _, sub := range cmd.Commands() {
		d.add(sub, group)
	}
}

// arguments returns the words of the usage line between the name and the flags.
func arguments(cmd *cobra.Command) []string {
	words := []string{}
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(word, "-") || word == "[flags]" {
			break
		}
		words = append(words, word)
	}
	return words
}

func describeFlag(cmd *cobra.Command, flag *pflag.Flag) DescribedFlag {
	value, usage := pflag.UnquoteUsage(flag)
	d := DescribedFlag{
		Name: flag.Name, Shorthand: flag.Shorthand, Type: flag.Value.Type(), Value: value, Optional: flag.NoOptDefVal != "",
		Choices: []string{}, Default: flag.DefValue, Usage: usage,
	}
	if titles := flag.Annotations[groupAnnotation]; len(titles) > 0 {
		d.Group = titles[0]
	}
	if complete, found := cmd.GetFlagCompletionFunc(flag.Name); found {
		if values, directive := complete(cmd, nil, ""); directive == cobra.ShellCompDirectiveNoFileComp {
			d.Columns = len(values) == 0 // without a table no columns are suggested
			for _, value := range values {
				choice, words, _ := strings.Cut(value, "\t")
				d.Choices, d.Words = append(d.Choices, choice), append(d.Words, words)
			}
		}
	}
	return d
}
