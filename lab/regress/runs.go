package regress

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed runs.txt
var list string

// Run is a command of the list.
type Run struct {
	// Name is the name of the run in the list.
	Name string
	// Args are the arguments of the command. Lab reports whether it is a command of vtilab instead
	// of vti.
	Args []string
	Lab  bool
	// Needs holds the names of the runs whose results the command reads.
	Needs []string
}

// inRun matches arguments that refer to the result of another run. The group of the expression is
// the name of the other run.
var inRun = regexp.MustCompile(`\{runs\}/([a-z0-9-]+)`)

// Runs returns the runs of the list whose names match the expression only, and the runs that these
// runs need. Each line of the list has the name of a run and the arguments of its command,
// separated by blanks; "·" stands for a blank inside an argument. For a command of vtilab, the word
// after the name is "vtilab".
func Runs(only *regexp.Regexp) (runs []Run) {
	seen := map[string]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		run := Run{Name: fields[0], Lab: fields[1] == "vtilab"}
		if fields = fields[1:]; run.Lab {
			fields = fields[1:]
		}
		for _, field := range fields {
			run.Args = append(run.Args, strings.ReplaceAll(field, "·", " "))
			if earlier := inRun.FindStringSubmatch(field); earlier != nil && seen[earlier[1]] {
				run.Needs = append(run.Needs, earlier[1])
			}
		}
		runs = append(runs, run)
		seen[run.Name] = true
	}
	needed := map[string]bool{}
	for _, run := range slices.Backward(runs) {
		if needed[run.Name] || only.MatchString(run.Name) {
			needed[run.Name] = true
			for _, name := range run.Needs {
				needed[name] = true
			}
		}
	}
	return slices.DeleteFunc(runs, func(run Run) bool { return !needed[run.Name] })
}
