package modelcheck

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
)

// GraphInput is a fitted directed graph: each column is a response given its parents.
type GraphInput struct {
	// Columns holds the columns of the table. Each column is a node of the graph.
	Columns []Column
	// Kinds are the kinds of the columns, Continuous or Binary; nil means that all are continuous.
	// A category with more than two levels has a binary column for each level but the first.
	Kinds []Kind
	// Rows determines the names of rows in findings.
	Rows RowNames
	// Counted lists, for each column, the rows in which no intervention set it; nil means all rows.
	Counted [][]int
	// Draw writes the mean, the standard deviation (up to a constant factor) and a replicate of the
	// counted rows of a node, given the observed values of its parents and the parameters of draw
	// d. d is below [MinDraws].
	Draw func(d, node int, mean, sd, replicate []float64)
	// Descends reports whether a column is a descendant of a node in the graph of draw d. Residuals
	// of the node are then not compared with the column: an outlier of a node also changes its
	// descendants, which replicates of the node alone do not reproduce. If Descends is nil, no
	// column descends from another.
	Descends func(d, node, column int) bool
	// Curves reports whether children are nonlinear functions of their parents plus noise. The
	// directions of edges are then inferred from the assumption that noise does not depend on
	// parents. The absolute values of residuals are therefore compared with each column instead of
	// the fitted value.
	Curves bool
	// Remedies are texts for the advice in findings.
	Remedies Remedies
}

// Graph checks a fitted graph. It returns the error of ctx.
func Graph(ctx context.Context, in GraphInput) (Report, error) {
	rows := in.Rows
	var numbers []Column // columns other than indicators: a rare level of a category is no defect
	for j, c := range in.Columns {
		if in.Kinds == nil || in.Kinds[j] == Continuous {
			numbers = append(numbers, c)
		}
	}
	findings := append(columnFindings(numbers, rows), collinearFindings(in.Columns)...)
	findings = append(findings, copiesFindings(in.Columns, rows)...)
	responses := make([]*response, len(in.Columns))
	for j, c := range in.Columns {
		r := &response{name: c.Name, noun: "node", y: c.Values, rowNames: rows}
		if in.Kinds != nil {
			r.kind = in.Kinds[j]
		}
		if r.kind == Continuous {
			findings = append(findings, fewValues(c, in.Remedies)...)
		}
		if in.Counted != nil {
			r.rows = in.Counted[j]
			r.y = distinct.At(c.Values, r.rows)
		}
		responses[j] = r
	}
	checks := newChecks(responses, in.Columns, in.Remedies, in.Curves)
	checks.ignored = in.Descends
	if err := checks.run(ctx, in.Draw); err != nil {
		return Report{}, err
	}
	return newReport(append(findings, checks.findings()...)), nil
}

// copiesFindings finds copied rows in a table whose columns are all random. It reports a table in
// which every row occurs several times. It also reports equal rows, if some column has few equal
// values in the other rows.
func copiesFindings(columns []Column, rows RowNames) []Finding {
	if len(columns) == 0 {
		return nil
	}
	if found := repeatedTable(columns); found != nil {
		return found
	}
	copied := copiedRows(columns)
	if len(copied) == 0 {
		return nil
	}
	const mostlyDistinct = 0.9
	n := len(columns[0].Values)
	others := apply.Where(n, func(i int) bool { _, isCopy := slices.BinarySearch(copied, i); return !isCopy })
	for _, c := range columns {
		values := distinct.At(c.Values, others)
		slices.Sort(values)
		if len(values) < fewestRows || float64(len(slices.Compact(slices.Clone(values)))) < mostlyDistinct*float64(len(values)) {
			continue
		}
		share := float64(len(copied)) / float64(n)
		return []Finding{{
			What:  fmt.Sprintf("duplicated rows: %.2g%% of the rows equal an earlier one in every column, while %s hardly repeats a value otherwise", 100*share, c.Name),
			Where: rows.list(copied), Statistic: Number(share), P: Number(math.NaN()), Verdict: verdictIf(share > 0.5),
			Advice: "each row once: copies count as independent data",
		}}
	}
	return nil
}
