package main

import (
	"fmt"
	"io"
	"strings"
)

// printProblem says what was read, what was left out, and the likelihood and priors in words. With
// --json the part about what was left out goes to standard error.
func (j *varselJob) printProblem() {
	if j.output.json {
		if !j.output.quiet {
			j.printDropped(j.stderr)
		}
		return
	}
	design := j.problem.Design
	fmt.Fprintf(j.stdout, "%s: %d rows, target %s, %d predictors to select from\n", design.Path, design.Rows(), design.Target, len(design.Predictors))
	j.printDropped(j.stdout)
	if len(design.Levels) == 2 {
		fmt.Fprintf(j.stdout, "  %s: 0 is %q, 1 is %q\n", design.Target, design.Levels[0], design.Levels[1])
	}
	for _, line := range j.problem.Priors() {
		fmt.Fprintln(j.stdout, "  "+line)
	}
	fmt.Fprintln(j.stdout)
}

func (j *varselJob) printDropped(w io.Writer) {
	design := j.problem.Design
	if design.DroppedRows > 0 {
		fmt.Fprintf(w, "  %d rows with missing values dropped\n", design.DroppedRows)
	}
	for _, dropped := range design.Dropped {
		fmt.Fprintf(w, "  %s left out: it %s\n", dropped.Name, dropped.Reason)
	}
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$`&;|<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
