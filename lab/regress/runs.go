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
	Name string
	// Args are its arguments, and Lab says that it is a command of vtilab.
	Args []string
	Lab  bool
	// Needs are the names of the runs whose results the command reads.
	Needs []string
}

// inRun matches arguments in the folder of runs, and the name of the run.
var inRun = regexp.MustCompile(`\{runs\}/([a-z0-9-]+)`)

// Runs are the commands of the list with names that match only, and the runs that they need. Each
// line has a name and arguments, separated by blanks; "·" stands for a blank inside an argument.
// The first is "vtilab" for a command of that program.
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
