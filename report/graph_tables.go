package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// Lengths of tables on a terminal; pages and files have more.
const (
	printedEdge    = 0.05 // the least probability that a pair of nodes is joined
	printedGraphs  = 3
	printedPairs   = 25
	printedEffects = 10
	shownArrows    = 40  // the largest number of edges that are listed for a graph
	shownPairs     = 500 // the largest number of pairs of nodes on a page
)

// edges returns the table of the pairs of nodes that may be joined.
func (v *discovery) edges() *document.Table {
	r := v.result
	effects := map[[2]string]dag.Parameter{}
	for _, p := range r.Parameters {
		effects[[2]string{p.From, p.To}] = p
	}
	t := document.NewTable("Edges: probability of each direction and of none", "<~pair", "a → b", "b → a", "none")
	compelled := "the data"
	if !v.byClass {
		compelled = "independences alone, without the shapes of mechanisms"
	}
	t.Under = []string{"Class: the share of equivalence classes in which the first direction, the other, or neither is compelled by " + compelled}
	if len(effects) > 0 {
		t.Caption += "; effect on the scale of the table, given the first direction"
		t.Rows[0] = append(t.Rows[0], "effect", "<95% interval")
	}
	if r.Constraints != "" {
		t.Under = append(t.Under, "       alone: classes ignore constraints, which may still determine a direction")
	}
	t.Rows[0] = append(t.Rows[0], "|class a → b", "b → a", "a − b")
	edges := slices.SortedStableFunc(slices.Values(r.Edges), func(a, b dag.Edge) int { return cmp.Compare(a.ProbNone, b.ProbNone) })
	joined := 0
	for _, e := range edges[:min(len(edges), shownPairs)] {
		if 1-e.ProbNone >= printedEdge {
			joined++
		}
		cells := []string{e.From + " → " + e.To, document.InThree(e.Prob, e.ProbSE), document.InThree(e.ProbReverse, e.ProbReverseSE), document.InThree(e.ProbNone, 0)}
		if len(effects) > 0 {
			p := effects[[2]string{e.From, e.To}]
			cells = append(cells, document.Short(p.Mean), document.Interval(p.Q025, p.Q975))
		}
		t.Add(append(cells, document.InThree(e.ClassForward, 0), document.InThree(e.ClassReverse, 0), document.InThree(e.ClassUndirected, 0))...)
	}
	t.Printed = cmp.Or(min(joined, printedPairs), document.None)
	if left := joined - printedPairs; left > 0 {
		t.More = append(t.More, fmt.Sprintf("and %d more, in %s", left, dag.EdgesFile))
	}
	if left := len(r.Edges) - joined; left > 0 {
		t.More = append(t.More, fmt.Sprintf("and %s joined with a probability below %g", english.Count(left, "pair"), printedEdge))
	}
	return t
}

func edgeText(edges [][2]string, arrow string) string {
	parts := apply.To(edges[:min(shownArrows, len(edges))], func(e [2]string) string { return e[0] + arrow + e[1] })
	if left := len(edges) - shownArrows; left > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", left))
	}
	if len(parts) == 0 && arrow == "→" {
		return "(none)"
	}
	return strings.Join(parts, " ")
}

// effects returns the section on direct effects along edges and on total effects, with a picture of
// each.
func (v *discovery) effects() *document.Section {
	t, changes := v.totals()
	return &document.Section{ID: "effects", Title: "How strong the effects are", Tables: []*document.Table{t, changes},
		Lead: "Direct effects: given that the edge is there, how much its end changes with one more unit of its beginning, the other parents equal. Total effects: what would happen to the second column if the first were set from outside one unit higher, averaged over graphs and parameters, zero where no directed path leads there; they are causal only if no common cause is missing from the table.",
		Draw: func(_ context.Context, part *document.Section) {
			var direct, total []picture.Row
			for _, e := range v.result.Parameters {
				if float64(e.Prob) >= shownLinks && len(direct) < mostBars {
					row := intervalRow(e.From+" → "+e.To, e.Mean, e.Q025, e.Q975, 95)
					row.Note = picture.Probability(float64(e.Prob))
					direct = append(direct, row)
				}
			}
			for _, e := range v.result.Effects {
				if float64(e.Prob) >= shownLinks && !math.IsNaN(float64(e.Mean)) && len(total) < mostBars {
					row := intervalRow(e.From+" → "+e.To, e.Mean, e.Q05, e.Q95, 90)
					row.Note = picture.Probability(float64(e.Prob))
					total = append(total, row)
				}
			}
			part.Place(effectsPicture("effects", "Direct effects, with the probabilities of their edges", "Means and 95% intervals", direct))
			part.Place(effectsPicture("total-effects", "Total effects, with the probabilities of a path", "Means and 90% intervals", total))
		}}
}

// effectsPicture draws effects. It returns nil if there are none.
func effectsPicture(name, title, subject string, rows []picture.Row) *picture.Picture {
	return rowsPicture(name, title, rows, picture.RowsOptions{Axis: "effect in the units of the table"}).
		Described("%s of %s.", subject, document.Counted(len(rows), "effect"))
}

// totals returns a table of all total effects. It also returns a table of effects of and on
// categories: changes in the mean or the probability of a column. The effects that the user asked
// for come first, then all other effects, the most probable first.
func (v *discovery) totals() (t, changes *document.Table) {
	r := v.result
	all := slices.SortedStableFunc(slices.Values(r.Effects), func(a, b dag.Effect) int { return cmp.Compare(b.Prob, a.Prob) })
	for k, pair := range r.Asked {
		at := slices.IndexFunc(all, func(e dag.Effect) bool { return e.From == pair[0] && e.To == pair[1] })
		if at < 0 {
			continue // another version of the program has written the result
		}
		asked := all[at]
		all = slices.Insert(slices.Delete(all, at, at+1), k, asked)
	}
	// an effect of or on categories is not a single number
	sized := slices.ContainsFunc(all, func(e dag.Effect) bool { return document.Finite(&e.Mean) })
	t = document.NewTable("Total effects: whether b changes when a is set from outside, over graphs", "<~pair", "a causes b", "no effect")
	if sized {
		t = document.NewTable("Total effects: what a unit of a, set from outside, adds to the mean of b, over graphs and parameters",
			"<~pair", "a causes b", "no effect", "mean", "sd", "<90% interval")
	}
	changes = document.NewTable("Effects of and on categories: what setting a column to a value adds to the mean or probability of another",
		"<~effect", "mean", "sd", "<90% interval")
	printed := 0
	for k, e := range all {
		cells := []string{e.From + " → " + e.To, document.InThree(e.Prob, e.ProbSE), document.InThree(e.ProbNone, 0)}
		if sized {
			cells = append(cells, document.Short(e.Mean), document.Short(e.SD), document.AveragedInterval(e.Q05, e.Q95, e.ProbNone))
		}
		t.Add(cells...)
		for _, c := range e.Changes {
			on := e.To
			if c.To != "" {
				on += "=" + c.To
			}
			changes.Add(fmt.Sprintf("%s=%s, not %s → %s", e.From, c.From, c.Reference, on), document.Short(c.Mean), document.Short(c.SD), document.AveragedInterval(c.Q05, c.Q95, e.ProbNone))
		}
		if k < len(r.Asked) {
			printed = changes.Len()
		}
	}
	if changes.Printed = printed; printed == 0 {
		changes.OnPage = true
	}
	t.Printed = printedEffects
	if len(r.Asked) > 0 {
		t.Printed = len(r.Asked)
	} else if left := t.Len() - printedEffects; left > 0 {
		t.More = []string{fmt.Sprintf("and %s, in %s", english.Count(left, "more pair"), dag.EffectsFile)}
	}
	return t, changes
}

func metricsTable(m *dag.Metrics) *document.Table {
	names, methods := []string{"<~metric", "this answer"}, []graph.MethodMetrics{m.Answer}
	if m.GreedyBIC != nil {
		names, methods = append(names, "greedy BIC"), append(methods, *m.GreedyBIC)
	}
	names, methods = append(names, "empty graph"), append(methods, m.Empty)
	t := document.NewTable("Against the truth of "+english.Count(m.TruthEdges, "edge"), names...).Opened()
	if len(m.TruthCycle) > 0 {
		line := fmt.Sprintf("  it has a cycle, %s: no acyclic graph is it", strings.Join(append(m.TruthCycle, m.TruthCycle[0]), " → "))
		if m.BestSHD != nil {
			line += fmt.Sprintf("; the best possible SHD is %d", *m.BestSHD)
		}
		t.Under = []string{line}
	}
	row := func(name string, value func(graph.MethodMetrics) dag.Number) {
		cells := []string{name}
		for _, method := range methods {
			value := value(method)
			cells = append(cells, document.PlusMinus(&value, nil, 3))
		}
		t.Add(cells...)
	}
	row("as the paper: F1, mean over graphs", func(m graph.MethodMetrics) dag.Number { return m.Paper.F1 })
	row("  SHD, a reversed edge twice", func(m graph.MethodMetrics) dag.Number { return m.Paper.SHD })
	row("  Brier, sum over entries", func(m graph.MethodMetrics) dag.Number { return m.Paper.Brier })
	row("  AUROC, mean over graphs", func(m graph.MethodMetrics) dag.Number { return m.Paper.AUROC })
	for _, part := range []struct {
		name    string
		metrics func(graph.MethodMetrics) graph.EdgeMetrics
	}{
		{"graph", func(m graph.MethodMetrics) graph.EdgeMetrics { return m.Graph }},
		{"skeleton", func(m graph.MethodMetrics) graph.EdgeMetrics { return m.Skeleton }},
		{"equivalence class", func(m graph.MethodMetrics) graph.EdgeMetrics { return m.CPDAG }},
	} {
		row(part.name+": F1 of the median graph", func(m graph.MethodMetrics) dag.Number { return part.metrics(m).MedianF1 })
		row("  SHD of it, a reversed edge once", func(m graph.MethodMetrics) dag.Number { return part.metrics(m).MedianSHD })
		row("  SHD, mean over graphs", func(m graph.MethodMetrics) dag.Number { return part.metrics(m).ExpectedSHD })
		row("  Brier, mean over entries", func(m graph.MethodMetrics) dag.Number { return part.metrics(m).Brier })
		row("  AUROC of the probabilities", func(m graph.MethodMetrics) dag.Number { return part.metrics(m).AUROC })
	}
	return t
}
