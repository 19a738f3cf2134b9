package serve

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
)

// question is a command that answers a question about a table.
type question struct {
	cli.DescribedCommand
	Asks      string
	first     []string // flags at the beginning of the form, perhaps with values
	Resumable bool     // whether a run that was stopped can be continued
}

// withheld lists the flags that forms lack, because the server sets them or because they concern
// the machine. Other flags that name a file can name a table of the workspace.
var withheld = []string{"out", "json", "quiet", "no-report", "resume", "stack", "device", "pjrt-plugin", "from"}

// questions returns the commands of the registry that take a table and make a run with a report.
// Commands with a question in words (Asks) are first.
func questions(all application.Registry, d *cli.Description) (list []*question) {
	for _, a := range all {
		for _, command := range a.Commands {
			at := slices.IndexFunc(d.Commands, func(c cli.DescribedCommand) bool { return c.Name == command.Name })
			if at < 0 || !slices.Equal(d.Commands[at].Arguments, []string{"TABLE"}) || !d.Commands[at].Has("no-report") {
				continue
			}
			q := &question{d.Commands[at], cmp.Or(command.Asks, d.Commands[at].Short), command.First, d.Commands[at].Has("resume")}
			q.Flags = slices.DeleteFunc(slices.Clone(q.Flags), func(f cli.DescribedFlag) bool {
				return slices.Contains(withheld, f.Name)
			})
			list = append(list, q)
		}
	}
	other := func(q *question) bool { return q.Asks == q.Short }
	named := slices.DeleteFunc(slices.Clone(list), other)
	return append(named, slices.DeleteFunc(list, func(q *question) bool { return !other(q) })...)
}

// Other reports whether the command answers the question of another command by another method. The
// name of such a command has more than one word.
func (q *question) Other() bool { return strings.Contains(q.Name, " ") }

// group is a group of fields under one title in a form.
type group struct {
	Title  string // empty for the first group
	Fields []field
}

// field is a flag in a form, with its values, and with the columns and files that may be its
// values.
type field struct {
	cli.DescribedFlag
	Columns, Files, Values []string
}

// form returns the groups of fields of a question. The fields show the given values of flags or,
// without such values, the values of an empty form.
func (q *question) form(columns, files []string, values map[string][]string) []group {
	groups, rank := []group{{}}, map[string]int{}
	preset := map[string][]string{}
	for i, named := range q.first {
		name, value, found := strings.Cut(named, "=")
		if rank[name] = i - len(q.first); found {
			preset[name] = []string{value}
		}
	}
	if values == nil {
		values = preset
	}
	flags := slices.SortedStableFunc(slices.Values(q.Flags), func(x, y cli.DescribedFlag) int { return cmp.Compare(rank[x.Name], rank[y.Name]) })
	for _, flag := range flags {
		title := flag.Group
		if rank[flag.Name] < 0 || len(q.first) == 0 && title == flags[0].Group {
			title = ""
		}
		at := slices.IndexFunc(groups, func(g group) bool { return g.Title == title })
		if at < 0 {
			at, groups = len(groups), append(groups, group{Title: title})
		}
		groups[at].Fields = append(groups[at].Fields, field{flag, columns, files, values[flag.Name]})
	}
	return groups
}

// Several reports whether the flag takes several values.
func (f field) Several() bool { return f.Type == "stringSlice" || f.Type == "stringArray" }

// mostBoxes is the largest number of columns for which a form has a box for each column.
const mostBoxes = 60

// Kind is the kind of the field.
func (f field) Kind() string {
	switch {
	case f.Type == "bool":
		return "check"
	case f.DescribedFlag.Columns && f.Several() && len(f.Columns) <= mostBoxes:
		return "columns"
	case f.DescribedFlag.Columns && !f.Several():
		return "column"
	case f.Value == "file":
		return "file"
	case f.Type == "stringArray":
		return "lines"
	case strings.Join(f.Words, "") != "":
		return "words"
	case len(f.Choices) > 0 && !f.Several():
		return "choice"
	}
	return "text"
}

// Label returns the name of the flag in words.
func (f field) Label() string { return strings.ReplaceAll(f.Name, "-", " ") }

// Text returns the values as a text, one a line.
func (f field) Text() string { return strings.Join(f.Values, "\n") }

// Has reports whether a column is one of the values of the field.
func (f field) Has(name string) bool {
	return slices.Contains(f.Values, name) || slices.ContainsFunc(f.Values, func(value string) bool {
		line, err := csv.NewReader(strings.NewReader(value)).Read()
		return err == nil && slices.Contains(line, name)
	})
}

// option is a value that can be chosen, with its meaning in words. If the words contain a number,
// Before is the text before the number, and After the text after it.
type option struct {
	Value, Before, After, Number string
	On                           bool
}

// Options returns the values that can be chosen.
func (f field) Options() (options []option) {
	value := cmp.Or(f.Text(), f.Default)
	for i, choice := range f.Choices {
		o := option{Value: choice, Before: cmp.Or(f.Words[i], choice), On: choice == value}
		stem, number, found := strings.Cut(choice, ":")
		if before, after, hash := strings.Cut(o.Before, "#"); found && hash {
			o.Before, o.After, o.Number = before, after, number
			if entered, same := strings.CutPrefix(value, stem+":"); same {
				o.On, o.Number = true, entered
			}
		}
		options = append(options, o)
	}
	return options
}

// Other returns the value of the field if it is not one of the options, and "" otherwise.
func (f field) Other() string {
	if slices.ContainsFunc(f.Options(), func(o option) bool { return o.On }) {
		return ""
	}
	return f.Text()
}

// flags returns the values of flags in a submitted form. Other entries of the form are ignored. The
// values are checked later, by the command.
func (q *question) flags(sent url.Values, files []string) (map[string][]string, error) {
	values := map[string][]string{}
	for _, g := range q.form(nil, files, nil) {
		for _, f := range g.Fields {
			answers := slices.DeleteFunc(slices.Clone(sent["f."+f.Name]), func(value string) bool { return value == "" })
			if len(answers) == 0 {
				continue
			}
			switch number := strings.TrimSpace(sent.Get("n." + f.Name + "." + answers[0])); {
			case f.Kind() == "file" && !slices.Contains(files, answers[0]):
				return nil, fmt.Errorf("%s: there is no table called %.100q", f.Label(), answers[0])
			case f.Type == "stringArray":
				answers = strings.FieldsFunc(strings.Join(answers, "\n"), func(r rune) bool { return r == '\n' || r == '\r' })
			case f.DescribedFlag.Columns && f.Several():
				answers = []string{cli.Listed(answers...)}
			case number != "":
				stem, _, _ := strings.Cut(answers[0], ":")
				answers = []string{stem + ":" + number}
			}
			for _, value := range answers {
				if len(value) > 10000 || strings.ContainsFunc(value, unicode.IsControl) {
					return nil, fmt.Errorf("%s: the value is too long, or has control characters", f.Label())
				}
			}
			if answers[0] != f.Default {
				values[f.Name] = answers
			}
		}
	}
	return values, nil
}
