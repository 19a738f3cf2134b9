package report

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/verdict"
)

// discovery is the result of a run about graphs, with what its page needs.
type discovery struct {
	*source
	result *dag.Result
	// byClass says that graphs of an equivalence class cannot be distinguished by the table.
	byClass bool
	links   []link // that are more probable than not
}

// graphArticle makes the article of a discovery of graphs.
func (s *source) graphArticle(result *dag.Result) *article {
	v := &discovery{source: s, result: result}
	v.byClass = result.Constraints == "" && s.value("model.mechanism") != dag.MLP.String() && s.value("model.sigma") == "0"
	v.links = links(result, shownLinks, v.byClass)
	var level *verdict.Verdict
	var reasons []string
	if c := result.Certificate; c != nil {
		level, reasons = &c.Verdict, c.Reasons
		if c.Exact {
			level = nil
			if c.Verdict != verdict.Trusted {
				level = &c.Verdict
			}
		}
	}
	a := &article{
		Title:    "Which columns depend on which?",
		Subtitle: fmt.Sprintf("%s, %s; a graph over %s; %s mechanisms", s.table(), counted(result.Data.Rows, "row"), counted(len(result.Data.Nodes), "column"), s.value("model.mechanism")),
		Answer:   v.answer(),
		Marks:    []badge{computation(level, reasons), model(result.ModelCheck)},
		Next:     next(level, v.effort(), result.ModelCheck, v.otherwise()),
	}
	a.rest = func(ctx context.Context) ([]section, error) {
		drawn, err := v.graph()
		if err != nil {
			return nil, err
		}
		list := []section{drawn, v.matrix(), v.classes()}
		if len(result.Parameters) > 0 {
			list = append(list, v.parameters())
		}
		if len(result.Effects) > 0 {
			list = append(list, v.totals())
		}
		if result.ModelCheck != nil || len(result.Checks) > 0 {
			list = append(list, v.checks())
		}
		return append(list, v.earned(computation(level, reasons)), s.provenance()), nil
	}
	return a
}

// pairName is a link in words.
func (v *discovery) pairName(l link) string {
	arrow := "\u00a0–\u2060\u00a0" // no-break spaces
	if l.directed {
		arrow = "\u00a0→\u2060\u00a0"
	}
	return v.result.Data.Nodes[l.from] + arrow + v.result.Data.Nodes[l.to]
}

// answer is three sentences: what is joined, in which direction, and how far one graph stands out.
func (v *discovery) answer() []string {
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
	first := fmt.Sprintf("Of the %s of columns, %s joined directly with probability above %g: %s", counted(n*(n-1)/2, "pair"), grouped(len(sure))+" "+english.Form(len(sure), "is", "are"), certain, list(sure))
	switch {
	case len(sure) == 0 && n == 2:
		first = fmt.Sprintf("The two columns are not joined directly with probability above %g", certain)
	case n == 2:
		first = fmt.Sprintf("The two columns are joined directly with probability above %g", certain)
	case len(sure) == 0:
		first = fmt.Sprintf("None of the %s of columns is joined directly with probability above %g", counted(n*(n-1)/2, "pair"), certain)
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

// effort is the advice about the computation.
func (v *discovery) effort() string {
	if c := v.result.Certificate; c != nil && len(c.Unclear) > 0 {
		return fmt.Sprintf("Say whether %s are categories (--discrete) or numbers (--continuous).", list(c.Unclear))
	}
	return "Compute with more effort, or find the graphs by another method (--structure) and let vti compare say whether the two agree."
}

// otherwise is the advice that concerns neither the computation nor the model.
func (v *discovery) otherwise() string {
	var open []string
	for _, l := range v.links {
		if !l.directed {
			open = append(open, v.pairName(l))
		}
	}
	if len(open) == 0 {
		return "Use probabilities of edges rather than one graph; arrows mean causes only if no common cause is missing from the table."
	}
	return fmt.Sprintf("More rows of the same kind will not settle the direction of %s: interventions (--intervened) or knowledge from elsewhere (--tiers, --forbid, --require) can. Arrows mean causes only if no common cause is missing from the table.", list(open))
}

// graph is the section with the drawing.
func (v *discovery) graph() (section, error) {
	part := section{ID: "graph", Title: "The graph", Lead: "Pairs of columns that are more likely joined than not; what is not drawn is less likely, not impossible."}
	nodes := v.result.Data.Nodes
	shown, err := drawGraph("graph", "Pairs that are joined", nodes, v.links)
	if err != nil {
		return part, err
	}
	weak := links(v.result, lowestLinks, v.byClass)
	all, err := drawGraph("graph-all", "Pairs that may be joined", nodes, weak)
	if err != nil {
		return part, err
	}
	var said []string
	for _, l := range v.links {
		said = append(said, v.pairName(l)+" "+linkLabel(l))
	}
	shown.Text = "A graph of " + strings.Join(nodes, ", ") + ", with " + strings.Join(said, ", ") + "."
	if len(said) == 0 {
		shown.Text = "A graph of " + strings.Join(nodes, ", ") + " without edges."
	}
	all.Text = fmt.Sprintf("The same with all pairs that are joined with a probability of at least %g.", lowestLinks)
	rule := fmt.Sprintf("An arrow (blue): its direction has at least %g of the probability of the pair. The number is the probability of the arrow.", clearDirection)
	undirected := "A line (orange): both directions are probable. The number is the probability that the two are joined."
	if v.byClass {
		rule = "An arrow (blue): most of the probability is on equivalence classes that fix its direction. The number is the probability of the arrow."
		undirected = "A line without head (orange): the table cannot determine the direction. The number is the probability that the two are joined."
	}
	part.Graph = &graphView{Picture: shown, All: all, Lowest: lowestLinks, Shown: shownLinks, Legend: []string{rule, undirected, "Lines are as wide as they are probable; each says more when the pointer rests on it, and the table below has all numbers."}}
	if len(weak) == mostLinks {
		part.Notes = append(part.Notes, fmt.Sprintf("Only the %d most probable pairs are placed.", mostLinks))
	}
	if c := v.result.Constraints; c != "" {
		part.Notes = append(part.Notes, "Constraints, which the table did not have to show: "+c+".")
	}
	part.Notes = append(part.Notes, v.result.Notes...)
	t := table{Caption: "All pairs", Columns: []column{{"a", false}, {"b", false}, {"joined", true}, {"a → b", true}, {"b → a", true}, {"standard error", true}, {"class a → b", true}, {"class b → a", true}, {"class undirected", true}}}
	const most = 500
	for _, e := range v.result.Edges {
		if len(t.Rows) == most {
			break
		}
		t.Rows = append(t.Rows, []cell{words(e.From), words(e.To), share(math.Min(1, float64(e.Prob+e.ProbReverse))), share(float64(e.Prob)), share(float64(e.ProbReverse)), value(float64(e.ProbSE)),
			share(float64(e.ClassForward)), share(float64(e.ClassReverse)), share(float64(e.ClassUndirected))})
	}
	part.Tables = []table{t}
	return part, nil
}

// matrix is the section with all probabilities of edges.
func (v *discovery) matrix() section {
	part := section{ID: "matrix", Title: "Probabilities of all edges", Lead: "Row → column: the probability that the row is a direct cause of the column, as far as graphs mean causes."}
	nodes := v.result.Data.Nodes
	const most = 60 // columns of which a picture can be read
	if len(nodes) > most {
		part.Notes = []string{fmt.Sprintf("With %d columns the matrix is too large to draw; adjacency.csv has it.", len(nodes))}
		return part
	}
	probability := map[[2]string]float64{}
	for _, e := range v.result.Edges {
		probability[[2]string{e.From, e.To}], probability[[2]string{e.To, e.From}] = float64(e.Prob), float64(e.ProbReverse)
	}
	width := float64(picture.Column)
	if len(nodes) > 9 {
		width = picture.Page
	}
	p := picture.Cells("edges", "Probabilities of edges", width, nodes, nodes, nil, func(row, column int) picture.Cell {
		if row == column {
			return picture.Cell{}
		}
		x := probability[[2]string{nodes[row], nodes[column]}]
		c := picture.Cell{Value: x, Hint: fmt.Sprintf("%s → %s: %s", nodes[row], nodes[column], picture.Probability(x))}
		if x >= 0.005 {
			c.Text = strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0")
		}
		return c
	})
	p.Text = "A matrix of the probabilities of all edges, which the table of pairs above has as numbers."
	if width == picture.Page {
		part.Wide = []*picture.Picture{p}
	} else {
		part.Pictures = []*picture.Picture{p}
	}
	return part
}

// classes is the section of equivalence classes and graphs.
func (v *discovery) classes() section {
	part := section{ID: "classes", Title: "Probable graphs and equivalence classes",
		Lead: "Graphs of an equivalence class have the same independences; where the table has no interventions, linear and categorical mechanisms cannot tell them apart."}
	edges := func(pairs [][2]string, arrow string) string {
		var parts []string
		for _, e := range pairs {
			parts = append(parts, e[0]+" "+arrow+" "+e[1])
		}
		return strings.Join(parts, ", ")
	}
	classes := table{Caption: "Equivalence classes", Open: true, Columns: []column{{"probability", true}, {"standard error", true}, {"directed in all its graphs", false}, {"undirected", false}}}
	for _, c := range v.result.Classes {
		classes.Rows = append(classes.Rows, []cell{share(float64(c.Prob)), value(float64(c.SE)), words(edges(c.Directed, "→")), words(edges(c.Undirected, "–"))})
	}
	graphs := table{Caption: "Graphs", Columns: []column{{"probability", true}, {"standard error", true}, {"edges", false}}}
	for _, g := range v.result.Graphs {
		graphs.Rows = append(graphs.Rows, []cell{share(float64(g.Prob)), value(float64(g.SE)), words(edges(g.Edges, "→"))})
	}
	part.Tables = []table{classes, graphs}
	return part
}

// parameters is the section of the effects along edges.
func (v *discovery) parameters() section {
	part := section{ID: "effects", Title: "How strong the direct effects are", Lead: "Given that the edge is there: how much its end changes with one more unit of its beginning, the other parents equal. Lines hold 95% of the posterior."}
	var rows []picture.Row
	t := table{Caption: "Effects along edges", Columns: []column{{"from", false}, {"to", false}, {"probability", true}, {"mean", true}, {"sd", true}, {"95% interval", false}}}
	for _, e := range v.result.Parameters {
		if float64(e.Prob) >= shownLinks && len(rows) < mostBars {
			rows = append(rows, picture.Row{Label: e.From + " → " + e.To, From: math.NaN(), Note: picture.Probability(float64(e.Prob)), Intervals: []picture.Interval{{Mid: float64(e.Mean), Low: float64(e.Q025), High: float64(e.Q975), Ink: picture.First}}})
		}
		t.Rows = append(t.Rows, []cell{words(e.From), words(e.To), share(float64(e.Prob)), value(float64(e.Mean)), value(float64(e.SD)), words(interval(float64(e.Q025), float64(e.Q975)))})
	}
	if len(rows) > 0 {
		p := picture.Rows("effects", "Direct effects, with the probabilities of their edges", picture.Column, rows, picture.RowsOptions{Axis: "effect in the units of the table"})
		p.Text = fmt.Sprintf("Means and 95%% intervals of %s.", counted(len(rows), "effect"))
		part.Pictures = []*picture.Picture{p}
	}
	part.Tables = []table{t}
	return part
}

// totals is the section of total effects.
func (v *discovery) totals() section {
	part := section{ID: "totals", Title: "Total effects", Lead: "What would happen to the second column if the first were set from outside one unit higher: averaged over graphs and parameters, zero where no directed path leads there. Lines hold 90%. They are causal effects only if no common cause is missing from the table."}
	var rows []picture.Row
	t := table{Caption: "Total effects", Columns: []column{{"of", false}, {"on", false}, {"probability of a path", true}, {"mean", true}, {"sd", true}, {"90% interval", false}}}
	changes := table{Caption: "Effects of and on categories", Columns: []column{{"set", false}, {"changes", false}, {"mean", true}, {"sd", true}, {"90% interval", false}}}
	for _, e := range v.result.Effects {
		if float64(e.Prob) >= shownLinks && !math.IsNaN(float64(e.Mean)) && len(rows) < mostBars {
			rows = append(rows, picture.Row{Label: e.From + " → " + e.To, From: math.NaN(), Note: picture.Probability(float64(e.Prob)), Intervals: []picture.Interval{{Mid: float64(e.Mean), Low: float64(e.Q05), High: float64(e.Q95), Ink: picture.First}}})
		}
		t.Rows = append(t.Rows, []cell{words(e.From), words(e.To), share(float64(e.Prob)), value(float64(e.Mean)), value(float64(e.SD)), words(interval(float64(e.Q05), float64(e.Q95)))})
		for _, c := range e.Changes {
			on := e.To
			if c.To != "" {
				on = fmt.Sprintf("probability of %s=%s", e.To, c.To)
			}
			changes.Rows = append(changes.Rows, []cell{words(fmt.Sprintf("%s=%s, not %s", e.From, c.From, c.Reference)), words(on), value(float64(c.Mean)), value(float64(c.SD)), words(interval(float64(c.Q05), float64(c.Q95)))})
		}
	}
	if len(rows) > 0 {
		p := picture.Rows("total-effects", "Total effects, with the probabilities of a path", picture.Column, rows, picture.RowsOptions{Axis: "effect in the units of the table"})
		p.Text = fmt.Sprintf("Means and 90%% intervals of %s.", counted(len(rows), "total effect"))
		part.Pictures = []*picture.Picture{p}
	}
	part.Tables = []table{t}
	if len(changes.Rows) > 0 {
		part.Tables = append(part.Tables, changes)
	}
	return part
}

// checks is the section of the model check.
func (v *discovery) checks() section {
	part := v.checked("", v.result.ModelCheck)
	if len(v.result.Checks) > 0 {
		t := table{Caption: "Residuals of each column: probabilities of statistics at least as large (near 0 or 1 the model does not fit)", Open: true, Columns: []column{{"column", false}, {"spread", true}, {"skewness", true}, {"kurtosis", true}}}
		for _, c := range v.result.Checks {
			t.Rows = append(t.Rows, []cell{words(c.Node), share(float64(c.Spread)), share(float64(c.Skewness)), share(float64(c.Kurtosis))})
		}
		part.Tables = append(part.Tables, t)
	}
	return part
}

// earned is how the verdict was earned.
func (v *discovery) earned(b badge) section {
	facts := table{Caption: "What the verdict rests on", Open: true, Columns: []column{{"what", false}, {"value", false}}}
	add := func(name, text string) { facts.Rows = append(facts.Rows, []cell{words(name), words(text)}) }
	add("log evidence of all graphs together (nats)", evidence(float64(v.result.LogEvidence), float64(v.result.LogEvidenceSE)))
	if c := v.result.Certificate; c != nil {
		add("evidences in closed form, all graphs summed", map[bool]string{true: "yes", false: "no"}[c.Exact])
		if k := float64(c.KHat); !math.IsNaN(k) {
			add("Pareto k̂ of the weights (up to 0.5 is reliable, of very many draws 0.7)", picture.Number(k))
		}
		add("largest standard error of an edge", picture.Number(float64(c.WorstSE)))
		if c.Families > 0 {
			add("families (a node with its parents)", grouped(c.Families))
		}
		if c.Draws > 0 {
			add("draws", grouped(c.Draws))
		}
		if c.Chains > 0 {
			add("chains", grouped(c.Chains))
		}
		if c.RHat > 0 {
			add("worst R-hat (up to 1.01 is converged)", picture.Digits(float64(c.RHat), 4))
			add("fewest effective draws", grouped(int(c.ESS)))
		}
	}
	if m := v.result.Metrics; m != nil {
		add("edges of the truth that was given", fmt.Sprint(m.TruthEdges))
	}
	return earned(b, facts, v.training())
}
