package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/shell"
)

// printChangepointProblem says what was read and the priors in words.
func printChangepointProblem(w io.Writer, p *changepoint.Problem) {
	o := p.Options
	what := fmt.Sprintf("events, by %s", o.Time)
	if o.Kind != changepoint.Events {
		what = fmt.Sprintf("rows of %s", o.Value)
		if o.Time != "" {
			what += ", by " + o.Time
		}
	}
	fmt.Fprintf(w, "%s: %d %s; model %s\n", p.Path, p.Rows(), what, o.Kind)
	for _, line := range slices.Concat(p.Notes, p.Priors()) {
		fmt.Fprintln(w, "  "+line)
	}
	fmt.Fprintln(w)
}

func changepointConclusion(r *changepoint.Result) *shell.Conclusion {
	return &shell.Conclusion{Result: r, Seconds: r.Seconds}
}
