package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// discovery holds the result of a run that searches for causal graphs and the data that its page
// shows.
type discovery struct {
	*source
	result *dag.Result
	// byClass reports whether the data cannot distinguish the graphs of one Markov equivalence
	// class.
	byClass bool
	links   []link // the pairs of nodes that are joined with a probability of more than one half
}

// graphMeaning is the meaning of each verdict on graphs, with advice.
var graphMeaning = [...]string{
	vti.Trusted:  "the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try more --steps or more --certify-draws.",
	vti.Failed:   "do not use these probabilities. Try more --steps, or --flow spline.",
}

// GraphPage is the page of runs that search for causal graphs.
var GraphPage = Page{show: pageOf(graphDocument), ownDraws: true}

func graphDocument(s *source, r *dag.Result) *document.Document {
	v := &discovery{source: s, result: r}
	curved := []string{dag.MLP.String(), dag.Spline.String()}
	v.byClass = r.Constraints == "" && !slices.Contains(curved, s.settings["model.mechanism"]) && s.settings["model.sigma"] == "0"
	v.links = links(r, shownLinks, v.byClass)
	d := &document.Document{
		Title:    "Which columns depend on which?",
		Subtitle: fmt.Sprintf("%s, %s; a graph over %s; %s mechanisms", s.table(), document.Counted(r.Data.Rows, "row"), document.Counted(len(r.Data.Nodes), "column"), s.settings["model.mechanism"]),
		Answer:   v.sentences(),
		Sections: []*document.Section{v.graph(), v.matrix(), v.classes(), v.effects(), v.checks()},
	}
	if r.Metrics != nil {
		d.Sections = append(d.Sections, &document.Section{ID: "truth", Title: "Against the truth", Tables: []*document.Table{metricsTable(r.Metrics)}})
	}
	return s.answer(d, v.computation(), r.ModelCheck, v.otherwise())
}

func (v *discovery) pairName(l link) string {
	arrow := "\u00a0–\u2060\u00a0" // no-break spaces
	if l.directed {
		arrow = "\u00a0→\u2060\u00a0"
	}
	return v.result.Data.Nodes[l.from] + arrow + v.result.Data.Nodes[l.to]
}

// sentences returns the answer: the probable edges, their directions, and how much more probable
// the best graph is than others.
func (v *discovery) sentences() []string {
	n := len(v.result.Data.Nodes)
	var sure, likely, directed, open []string
	for _, l := range v.links {
		name := v.result.Data.Nodes[l.from] + "\u00a0–\u2060\u00a0" + v.result.Data.Nodes[l.to]
		switch {
		case l.joined >= certain:
			sure = append(sure, name)
		default:
			likely = append(likely, fmt.Sprintf("%s (%s)", name, picture.Probability(l.joined)))
		}
		if l.directed {
			directed = append(directed, fmt.Sprintf("%s (%s)", v.pairName(l), picture.Probability(l.forward)))
		} else {
			open = append(open, v.pairName(l))
		}
	}
	first := fmt.Sprintf("Of the %s of columns, %s joined directly with probability above %g: %s", document.Counted(n*(n-1)/2, "pair"), document.Grouped(len(sure))+" "+english.Form(len(sure), "is", "are"), certain, list(sure))
	switch {
	case len(sure) == 0 && n == 2:
		first = fmt.Sprintf("The two columns are not joined directly with probability above %g", certain)
	case n == 2:
		first = fmt.Sprintf("The two columns are joined directly with probability above %g", certain)
	case len(sure) == 0:
		first = fmt.Sprintf("None of the %s of columns is joined directly with probability above %g", document.Counted(n*(n-1)/2, "pair"), certain)
	}
	if len(likely) > 0 {
		first += "; more likely than not " + english.Form(len(likely), "is ", "are ") + list(likely)
	}
	second := "The table does not determine the direction of any of them."
	switch {
	case len(v.links) == 0:
		second = "So there is no direction to determine."
	case len(open) == 0:
		second = fmt.Sprintf("The table determines the direction of all of them: %s.", list(directed))
	case len(directed) > 0:
		second = fmt.Sprintf("The table determines the direction of %s, but not of %s.", list(directed), list(open))
	}
	third := fmt.Sprintf("On average a graph has %s edges.", picture.Number(float64(v.result.ExpectedEdges)))
	if len(v.result.Classes) > 0 {
		best := v.result.Classes[0]
		p := float64(best.Prob)
		if p >= 0.5 {
			third = fmt.Sprintf("One equivalence class of graphs stands out with probability %s; on average a graph has %s edges.", picture.Probability(p), picture.Number(float64(v.result.ExpectedEdges)))
		} else {
			third = fmt.Sprintf("No single graph stands out: the most probable equivalence class has probability %s, and on average a graph has %s edges.", picture.Probability(p), picture.Number(float64(v.result.ExpectedEdges)))
		}
	}
	return []string{first + ".", second, third}
}

// otherwise returns the advice that concerns neither the computation nor the model check.
func (v *discovery) otherwise() string {
	open := apply.To(apply.Keep(v.links, func(l link) bool { return !l.directed }), v.pairName)
	if len(open) == 0 {
		return "Use probabilities of edges rather than one graph; arrows mean causes only if no common cause is missing from the table."
	}
	return fmt.Sprintf("More rows of the same kind will not settle the direction of %s: interventions (--intervened) or knowledge from elsewhere (--tiers, --forbid, --require) can. Arrows mean causes only if no common cause is missing from the table.", list(open))
}

// graph returns the section with the drawing of the graph.
func (v *discovery) graph() *document.Section {
	return &document.Section{ID: "graph", Title: "The graph", Tables: []*document.Table{v.edges()},
		Lead: "Pairs of columns that are more likely joined than not; what is not drawn is less likely, not impossible.",
		Draw: func(_ context.Context, part *document.Section) {
			nodes, likely := placed(v.result.Data.Nodes, v.links)
			every := links(v.result, lowestLinks, v.byClass)
			allNodes, weak := placed(v.result.Data.Nodes, every)
			shown, err := drawGraph("graph", "Pairs that are joined", nodes, likely)
			all, failed := drawGraph("graph-all", "Pairs that may be joined", allNodes, weak)
			if err = errors.Join(err, failed); err != nil {
				part.Notes = []string{"Not drawn: " + err.Error() + "."}
				return
			}
			said := apply.To(v.links[:len(likely)], func(l link) string { return v.pairName(l) + " " + linkLabel(l) })
			shown.Text = "A graph of " + strings.Join(nodes, ", ") + ", with " + strings.Join(said, ", ") + "."
			if len(said) == 0 {
				shown.Text = "A graph of " + strings.Join(nodes, ", ") + " without edges."
			}
			all.Text = fmt.Sprintf("The same with all pairs that are joined with a probability of at least %g.", lowestLinks)
			part.Graph = &document.Graph{Picture: shown, All: all, Lowest: lowestLinks, Shown: shownLinks, Legend: v.legend()}
			if len(weak) < len(every) {
				part.Notes = append(part.Notes, fmt.Sprintf("Only the %d most probable of %d pairs are drawn, with the columns that they join.", mostLinks, len(every)))
			}
			if c := v.result.Constraints; c != "" {
				part.Notes = append(part.Notes, "Constraints, which the table did not have to show: "+c+".")
			}
		}}
}

// legend returns the meaning of the lines of the drawing.
func (v *discovery) legend() []string {
	rule := fmt.Sprintf("An arrow (blue): its direction has at least %g of the probability of the pair. The number is the probability of the arrow.", clearDirection)
	undirected := "A line (orange): both directions are probable. The number is the probability that the two are joined."
	if v.byClass {
		rule = "An arrow (blue): most of the probability is on equivalence classes that fix its direction. The number is the probability of the arrow."
		undirected = "A line without head (orange): the table cannot determine the direction. The number is the probability that the two are joined."
	}
	return []string{rule, undirected, "Lines are as wide as they are probable; each says more when the pointer rests on it, and the table below has all numbers."}
}

// matrix returns the section with the probabilities of all edges.
func (v *discovery) matrix() *document.Section {
	return &document.Section{ID: "matrix", Title: "Probabilities of all edges", Lead: "Row → column: the probability that the row is a direct cause of the column, as far as graphs mean causes.",
		Draw: func(_ context.Context, part *document.Section) {
			nodes := v.result.Data.Nodes
			const most = 60 // the largest number of columns with which the picture can be read
			if len(nodes) > most {
				part.Notes = []string{fmt.Sprintf("With %d columns the matrix is too large to draw; adjacency.csv has it.", len(nodes))}
				return
			}
			probability := map[[2]string]float64{}
			for _, e := range v.result.Edges {
				probability[[2]string{e.From, e.To}], probability[[2]string{e.To, e.From}] = float64(e.Prob), float64(e.ProbReverse)
			}
			part.Place(picture.Cells("edges", "Probabilities of edges", widthFor(len(nodes)), nodes, nodes, nil, func(row, column int) picture.Cell {
				if row == column {
					return picture.Cell{}
				}
				x := probability[[2]string{nodes[row], nodes[column]}]
				c := picture.Cell{Value: x, Hint: fmt.Sprintf("%s → %s: %s", nodes[row], nodes[column], picture.Probability(x))}
				if x >= 0.005 {
					c.Text = strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0")
				}
				return c
			}).
				Described("A matrix of the probabilities of all edges, which the table of pairs above has as numbers."))
		}}
}

// classes returns the section on equivalence classes and on single graphs.
func (v *discovery) classes() *document.Section {
	classes := document.NewTable("Most probable equivalence classes", "probability", "<edges").Opened()
	for _, c := range v.result.Classes {
		classes.Add(document.Probability(c.Prob, c.SE), strings.TrimSpace(edgeText(c.Directed, "→")+"  "+edgeText(c.Undirected, "−")))
	}
	graphs := document.NewTable("Most probable graphs", "probability", "<edges")
	for _, g := range v.result.Graphs {
		p := document.Probability(g.Prob, g.SE)
		if g.Prob > 0 && g.Prob < 1e-3 { // even the best of very many graphs can have a tiny probability
			p = fmt.Sprintf("%.1e", float64(g.Prob))
		}
		graphs.Add(p, edgeText(g.Edges, "→"))
	}
	classes.Printed, graphs.Printed = printedGraphs, printedGraphs
	return &document.Section{ID: "classes", Title: "Probable graphs and equivalence classes", Tables: []*document.Table{classes, graphs},
		Lead: "Graphs of an equivalence class have the same independences; where the table has no interventions, linear and categorical mechanisms cannot tell them apart."}
}

func (v *discovery) checks() *document.Section {
	t := document.NewTable("Residuals of each column: probabilities of statistics at least as large (near 0 or 1 the model does not fit)", "<column", "spread", "skewness", "kurtosis").Opened()
	t.OnPage = true
	for _, c := range v.result.Checks {
		t.Add(c.Node, document.Probability(c.Spread, 0), document.Probability(c.Skewness, 0), document.Probability(c.Kurtosis, 0))
	}
	return v.checked("", v.result.ModelCheck, t)
}

func (v *discovery) computation() *computation {
	r := v.result
	found := &computation{facts: apply.To(r.Notes, func(note string) string { return "Note: " + note })}
	edges := fmt.Sprintf("%.2f edges on average", float64(r.ExpectedEdges))
	if document.Finite(&r.LogEvidence) {
		edges = fmt.Sprintf("Log evidence of all graphs together: %s; ", document.PlusMinus(&r.LogEvidence, &r.LogEvidenceSE, 3)) + edges
	}
	found.facts = append(found.facts, edges, "Computation: "+took(r.Seconds, r.Steps)+".")
	found.words = []string{document.WordEvidence}
	c := r.Certificate
	if c == nil {
		return found
	}
	found.level, found.reasons, found.text = &c.Verdict, c.Reasons, graphMeaning[c.Verdict]
	if c.Verdict != vti.Trusted {
		found.text = v.notTrusted()
	} else if c.SearchedParents > 0 {
		found.text = fmt.Sprintf("the probabilities below hold to within their standard errors, for parents that matter only together in sets of up to %d.", c.SearchedParents)
	}
	found.basis = []string{graphBasis(c)}
	if !c.Exact {
		found.words = append(found.words, document.WordKHat, document.WordRHat)
	}
	if c.Chains > 0 {
		found.words = append(found.words, document.WordDraws)
	}
	return found
}

// notTrusted returns the meaning of a verdict other than trusted, with advice for each method of
// computation.
func (v *discovery) notTrusted() string {
	switch c := v.result.Certificate; {
	case len(c.Unclear) > 0 && len(c.Reasons) == 1:
		return "the computation is right, but its model may not suit these columns. Try " +
			fmt.Sprintf("--discrete or --continuous for %s.", list(c.Unclear))
	case c.Islands > 0 || c.Rough > 0:
		return "the evidences are not known well enough. Try --sigma, fewer --hidden or fewer --max-parents where a network has as many weights as rows, else more --islands."
	case c.Chains > 0 && v.result.Command == "dag":
		return "the chains do not agree well enough. Try more --rounds."
	case c.Chains > 0:
		return "the chains are too short. Try more --iterations and --burn-in."
	case c.Families == 0:
		return "the learned approximation is not good enough. Try more --steps, or --structure exact, which needs none."
	case c.Draws == 0:
		return "the evidences of categories are not known well enough. Try to join rare levels, or fewer parents (--max-parents)."
	default:
		return graphMeaning[c.Verdict]
	}
}

func graphBasis(c *dag.Certificate) string {
	const weights = "Pareto k̂ %.2f (good up to 0.5, of many draws 0.7), edge probabilities to ± %.2g"
	khat, se := float64(c.KHat), float64(c.WorstSE)
	switch {
	case c.Exact:
		return "exact: every evidence has a closed form, and the sum is over all graphs; only the probabilities of graphs and classes come from draws"
	case c.Islands > 0 || c.Rough > 0:
		return fmt.Sprintf("%d islands of particles; %.1f%% of the graphs rest on pilot runs; longer moves change log evidences by %.2f; edge probabilities to ± %.2g",
			c.Islands, 100*float64(c.Rough), float64(c.Settling), se)
	case c.Chains > 0:
		return fmt.Sprintf("worst R-hat %.3f (good up to 1.01), at least %.0f effective draws, edge probabilities to ± %.2g, %s of %s",
			float64(c.RHat), float64(c.ESS), se, english.Count(c.Chains, "chain"), english.Count(c.Draws/c.Chains, "draw"))
	case c.Families > 0 && c.Draws == 0:
		return fmt.Sprintf("all graphs were summed; evidences of categories are importance weights, "+weights, khat, se)
	case c.RHat > 0:
		return fmt.Sprintf("by tempered chains: R-hat %.3f (good up to 1.01), edge probabilities to ± %.2g, %d draws", float64(c.RHat), se, c.Draws)
	case c.Families == 0:
		return fmt.Sprintf(weights+", %d draws", khat, se, c.Draws)
	}
	return fmt.Sprintf(weights+", %d draws for %d families", khat, se, c.Draws, c.Families)
}
