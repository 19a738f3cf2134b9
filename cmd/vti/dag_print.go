package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/english"
)

// Lengths of what is printed; the files have more.
const (
	shownEdge    = 0.05 // least probability of a pair of nodes to be joined
	shownGraphs  = 3
	shownPairs   = 25
	shownEffects = 10
	shownArrows  = 40 // of a graph
)

// Advice that goes with a verdict on graphs.
var dagVerdictText = map[vti.Verdict]string{
	vti.Trusted:  "the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try more --steps, more --draws, or --anneal.",
	vti.Failed:   "do not use these probabilities. Try more --steps, --flow spline, or --anneal.",
}

// printDag prints an answer for a reader.
func printDag(w io.Writer, r *dag.Result) {
	if c := r.Certificate; c != nil {
		text, byParticles := dagVerdictText[c.Verdict], c.Islands > 0
		if c.Verdict != vti.Trusted {
			switch {
			case len(c.Unclear) > 0 && len(c.Reasons) == 1:
				text = "the computation holds, but it may be of another model than these columns ask for."
			case byParticles:
				text = "the evidences are not known well enough: try more --islands."
			case c.Chains > 0 && r.Command == "dag":
				text = "the chains do not agree well enough: give them more --rounds."
			case c.Chains > 0:
				text = "the chains are too short: give them more --iterations and --burn-in."
			case c.Families == 0:
				text = "the learned approximation is not good enough: try more --steps, or --structure exact, which needs none."
			case c.Draws == 0:
				text = "the evidences of categories are not known well enough: join rare levels, or leave fewer parents (--max-parents)."
			}
		}
		console.PrintVerdict(w, c.Verdict, text, c.Reasons)
		switch {
		case c.Exact:
			fmt.Fprint(w, "  exact: every evidence is a closed form, and all graphs were summed; only the probabilities of graphs and classes come from draws\n\n")
		case byParticles:
			fmt.Fprintf(w, "  %d islands of particles; %.1f%% of the graphs rest on pilot runs; longer moves change log evidences by %.2f; edge probabilities to ± %.2g\n\n",
				c.Islands, 100*float64(c.Rough), float64(c.Settling), float64(c.WorstSE))
		case c.Chains > 0:
			fmt.Fprintf(w, "  worst R-hat %.3f (good up to 1.01), at least %.0f effective draws, edge probabilities to ± %.2g, %s of %s\n\n",
				float64(c.RHat), float64(c.ESS), float64(c.WorstSE), english.Count(c.Chains, "chain"), english.Count(c.Draws/c.Chains, "draw"))
		case c.Families > 0 && c.Draws == 0:
			fmt.Fprintf(w, "  all graphs were summed; evidences of categories are importance weights, Pareto k̂ %.2f (good up to 0.5, of many draws 0.7), edge probabilities to ± %.2g\n\n", float64(c.KHat), float64(c.WorstSE))
		case c.RHat > 0:
			fmt.Fprintf(w, "  by tempered chains: R-hat %.3f (good up to 1.01), edge probabilities to ± %.2g, %d draws\n\n", float64(c.RHat), float64(c.WorstSE), c.Draws)
		case c.Families == 0:
			fmt.Fprintf(w, "  Pareto k̂ %.2f (good up to 0.5, of many draws 0.7), edge probabilities to ± %.2g, %d draws\n\n", float64(c.KHat), float64(c.WorstSE), c.Draws)
		default:
			fmt.Fprintf(w, "  Pareto k̂ %.2f (good up to 0.5, of many draws 0.7), edge probabilities to ± %.2g, %d draws for %d families\n\n", float64(c.KHat), float64(c.WorstSE), c.Draws, c.Families)
		}
	}
	console.PrintModelCheck(w, r.ModelCheck)
	printClasses(w, r)
	printEdges(w, r)
	printEffects(w, r)
	printGraphs(w, r)
	if r.Metrics != nil {
		printMetrics(w, r.Metrics)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "Note: %s\n", note)
	}
	if console.Finite(&r.LogEvidence) {
		fmt.Fprintf(w, "Log evidence of all graphs together: %s; ", console.PlusMinus(&r.LogEvidence, &r.LogEvidenceSE, 3))
	}
	fmt.Fprintf(w, "%.2f edges on average\n", float64(r.ExpectedEdges))
	fmt.Fprintf(w, "Computation: %s", console.TimeText(r.Seconds.Total))
	if r.Seconds.Train > 0 {
		fmt.Fprintf(w, " (%s training in %d steps, %s certifying)", console.TimeText(r.Seconds.Train), r.Steps, console.TimeText(r.Seconds.Certify))
	}
	fmt.Fprintln(w, ".")
	if c := r.Certificate; c != nil && !c.Exact {
		words := []string{console.WordKHat, console.WordRHat, console.WordEvidence}
		if c.Chains > 0 {
			words = append(words, console.WordDraws)
		}
		console.PrintMeanings(w, words...)
	} else {
		console.PrintMeanings(w, console.WordEvidence)
	}
}

// printEdges prints the pairs of nodes that may be joined.
func printEdges(w io.Writer, r *dag.Result) {
	effects := map[[2]string]dag.Parameter{}
	for _, p := range r.Parameters {
		effects[[2]string{p.From, p.To}] = p
	}
	heading := "Edges: probability of each direction and of none"
	if len(effects) > 0 {
		heading += "; effect on the scale of the table, given the first direction"
	}
	fmt.Fprintln(w, heading)
	fmt.Fprintln(w, "Class: the share of equivalence classes in which the first direction, the other, or neither is compelled by the data")
	if r.Constraints != "" {
		fmt.Fprintln(w, "       alone: classes ignore constraints, which may still determine a direction")
	}
	table := &console.Grid{}
	row := func(joined, effect []string, class ...string) {
		if len(effects) > 0 {
			joined = append(joined, effect...)
		}
		table.Add(append(joined, class...)...)
	}
	row([]string{"", "a → b", "b → a", "none"}, []string{"effect", "<95% interval"}, "|class a → b", "b → a", "a − b")
	edges := slices.DeleteFunc(slices.Clone(r.Edges), func(e dag.Edge) bool { return 1-e.ProbNone < shownEdge })
	slices.SortStableFunc(edges, func(a, b dag.Edge) int { return cmp.Compare(a.ProbNone, b.ProbNone) })
	for _, e := range edges[:min(shownPairs, len(edges))] {
		p := effects[[2]string{e.From, e.To}]
		row([]string{e.From + " → " + e.To, console.InThree(e.Prob, e.ProbSE), console.InThree(e.ProbReverse, e.ProbReverseSE), console.InThree(e.ProbNone, 0)},
			[]string{console.Short(p.Mean), console.Interval(p.Q025, p.Q975)},
			console.InThree(e.ClassForward, 0), console.InThree(e.ClassReverse, 0), console.InThree(e.ClassUndirected, 0))
	}
	table.Print(w)
	if left := len(edges) - shownPairs; left > 0 {
		fmt.Fprintf(w, "  and %d more, in %s\n", left, dag.EdgesFile)
	}
	if left := len(r.Edges) - len(edges); left > 0 {
		fmt.Fprintf(w, "  and %s joined with a probability below %g\n", english.Count(left, "pair"), shownEdge)
	}
	fmt.Fprintln(w)
}

// printClasses prints the most probable equivalence classes.
func printClasses(w io.Writer, r *dag.Result) {
	fmt.Fprintln(w, "Most probable equivalence classes")
	table := &console.Grid{}
	table.Add("probability", "<edges")
	for _, c := range r.Classes[:min(shownGraphs, len(r.Classes))] {
		table.Add(console.Probability(c.Prob, c.SE), strings.TrimSpace(edgeText(c.Directed, "→")+"  "+edgeText(c.Undirected, "−")))
	}
	table.Print(w)
	fmt.Fprintln(w)
}

// printGraphs prints the most probable graphs.
func printGraphs(w io.Writer, r *dag.Result) {
	fmt.Fprintln(w, "Most probable graphs")
	table := &console.Grid{}
	table.Add("probability", "<edges")
	for _, g := range r.Graphs[:min(shownGraphs, len(r.Graphs))] {
		table.Add(ofGraph(g.Prob, g.SE), edgeText(g.Edges, "→"))
	}
	table.Print(w)
	fmt.Fprintln(w)
}

// printEffects prints the total effects that were asked for, else those that are most probable.
func printEffects(w io.Writer, r *dag.Result) {
	var list []dag.Effect
	if len(r.Asked) > 0 {
		for _, pair := range r.Asked {
			at := slices.IndexFunc(r.Effects, func(e dag.Effect) bool { return e.From == pair[0] && e.To == pair[1] })
			if at < 0 {
				list = append(list, dag.Effect{From: pair[0], To: pair[1], ProbNone: 1})
				continue
			}
			list = append(list, r.Effects[at])
		}
	} else {
		list = slices.Clone(r.Effects)
		slices.SortStableFunc(list, func(a, b dag.Effect) int { return cmp.Compare(b.Prob, a.Prob) })
		list = list[:min(shownEffects, len(list))]
	}
	if len(list) == 0 {
		return
	}
	// of categories there is no effect in numbers
	sized := slices.ContainsFunc(list, func(e dag.Effect) bool { return console.Finite(&e.Mean) })
	table := &console.Grid{}
	if sized {
		fmt.Fprintln(w, "Total effects: what a unit of a, set from outside, adds to the mean of b, over graphs and parameters")
		table.Add("", "a causes b", "no effect", "mean", "sd", "<90% interval")
	} else {
		fmt.Fprintln(w, "Total effects: whether b changes when a is set from outside, over graphs")
		table.Add("", "a causes b", "no effect")
	}
	for _, e := range list {
		cells := []string{e.From + " → " + e.To, console.InThree(e.Prob, e.ProbSE), console.InThree(e.ProbNone, 0)}
		if sized {
			cells = append(cells, console.Short(e.Mean), console.Short(e.SD), console.AveragedInterval(e.Q05, e.Q95, e.ProbNone))
		}
		table.Add(cells...)
	}
	table.Print(w)
	if len(r.Asked) > 0 {
		printChanges(w, list)
	}
	if left := len(r.Effects) - len(list); left > 0 && len(r.Asked) == 0 {
		fmt.Fprintf(w, "  and %s, in %s\n", english.Count(left, "more pair"), dag.EffectsFile)
	}
	fmt.Fprintln(w)
}

// printChanges prints how effects of or on categories change them.
func printChanges(w io.Writer, list []dag.Effect) {
	for _, e := range list {
		if len(e.Changes) == 0 {
			continue
		}
		table := &console.Grid{}
		what := "the mean of " + e.To
		if e.Changes[0].To != "" {
			what = "the probability of each value of " + e.To
		}
		fmt.Fprintf(w, "\n%s: what setting %s adds to %s\n", e.From+" → "+e.To, e.From, what)
		table.Add("", "mean", "sd", "<90% interval")
		for _, c := range e.Changes {
			name := fmt.Sprintf("%s, not %s", c.From, c.Reference)
			if c.To != "" {
				name = fmt.Sprintf("%s: %s", c.To, name)
			}
			table.Add(name, console.Short(c.Mean), console.Short(c.SD), console.AveragedInterval(c.Q05, c.Q95, e.ProbNone))
		}
		table.Print(w)
	}
}

// ofGraph writes the probability of a graph, of which the best may have a tiny one.
func ofGraph(p, se dag.Number) string {
	if console.Finite(&p) && p > 0 && p < 1e-3 {
		return fmt.Sprintf("%.1e", float64(p))
	}
	return console.Probability(p, se)
}

func edgeText(edges [][2]string, arrow string) string {
	var parts []string
	for _, e := range edges[:min(shownArrows, len(edges))] {
		parts = append(parts, e[0]+arrow+e[1])
	}
	if left := len(edges) - shownArrows; left > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", left))
	}
	if len(parts) == 0 && arrow == "→" {
		return "(none)"
	}
	return strings.Join(parts, " ")
}

// printMetrics prints the comparison with a truth.
func printMetrics(w io.Writer, m *dag.Metrics) {
	fmt.Fprintf(w, "Against the truth of %s\n", english.Count(m.TruthEdges, "edge"))
	if len(m.TruthCycle) > 0 {
		fmt.Fprintf(w, "  it has a cycle, %s: no acyclic graph is it", strings.Join(append(m.TruthCycle, m.TruthCycle[0]), " → "))
		if m.BestSHD != nil {
			fmt.Fprintf(w, "; the best possible SHD is %d", *m.BestSHD)
		}
		fmt.Fprintln(w)
	}
	table := &console.Grid{}
	table.Add("", "this answer", "greedy BIC", "empty graph")
	methods := []graph.MethodMetrics{m.Answer, m.GreedyBIC, m.Empty}
	row := func(name string, of func(graph.MethodMetrics) dag.Number) {
		cells := []string{name}
		for _, method := range methods {
			value := of(method)
			cells = append(cells, console.PlusMinus(&value, nil, 3))
		}
		table.Add(cells...)
	}
	row("as the paper: F1, mean over graphs", func(m graph.MethodMetrics) dag.Number { return m.Paper.F1 })
	row("  SHD, a reversed edge twice", func(m graph.MethodMetrics) dag.Number { return m.Paper.SHD })
	row("  Brier, sum over entries", func(m graph.MethodMetrics) dag.Number { return m.Paper.Brier })
	row("  AUROC, mean over graphs", func(m graph.MethodMetrics) dag.Number { return m.Paper.AUROC })
	for _, part := range []struct {
		name string
		of   func(graph.MethodMetrics) graph.EdgeMetrics
	}{
		{"graph", func(m graph.MethodMetrics) graph.EdgeMetrics { return m.Graph }},
		{"skeleton", func(m graph.MethodMetrics) graph.EdgeMetrics { return m.Skeleton }},
		{"equivalence class", func(m graph.MethodMetrics) graph.EdgeMetrics { return m.CPDAG }},
	} {
		row(part.name+": F1 of the median graph", func(m graph.MethodMetrics) dag.Number { return part.of(m).MedianF1 })
		row("  SHD of it, a reversed edge once", func(m graph.MethodMetrics) dag.Number { return part.of(m).MedianSHD })
		row("  SHD, mean over graphs", func(m graph.MethodMetrics) dag.Number { return part.of(m).ExpectedSHD })
		row("  Brier, mean over entries", func(m graph.MethodMetrics) dag.Number { return part.of(m).Brier })
		row("  AUROC of the probabilities", func(m graph.MethodMetrics) dag.Number { return part.of(m).AUROC })
	}
	table.Print(w)
	fmt.Fprintln(w)
}
