package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	comparing "github.com/transdim/vti/compare"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/varsel"
)

// Compared is a comparison of two runs.
type Compared struct {
	common *comparing.Comparison
	// pairs holds the probabilities of predictors, edges or terms in both runs. A terminal shows
	// only the first pairs; printed is their number.
	pairs   []comparing.Pair
	printed int
	// title is the title of the table of pairs. noun and model are the words in sentences for an
	// element of pairs and for a model, such as edge and graph.
	title, noun, model string
	name               func(comparing.Pair) string
	estimates          []regression.Estimates // sorted by absolute shift, the largest first
	facts              []string               // sentences about runs of this kind
	files              []string
}

// Lengths of a comparison on a terminal; pages and files have more.
const (
	leastEdge        = 0.01
	printedEdges     = 40
	printedEstimates = 20
)

// mostCompared is the number of runs that a picture can distinguish by their colours.
const mostCompared = 4

// ownName returns the name or the code of a pair unchanged.
func ownName(p comparing.Pair) string { return p.Name + p.Code }

// Selections returns the comparison of two selections of variables for a reader.
func Selections(c *varsel.Comparison, predictors []string) *Compared {
	s := &Compared{common: &c.Comparison, pairs: slices.Clone(c.Inclusion), title: "Predictors: probability to be in the model", noun: "predictor", model: "model",
		files: []string{"inclusion.csv"}, name: func(p comparing.Pair) string {
			if p.Code != "" {
				return modelName(p.Code, predictors)
			}
			return p.Name
		}}
	if len(s.pairs) > fewPredictors {
		s.sort()
		s.printed = printedPredictors
	}
	if e := c.CrossEntropy; e != nil {
		s.facts = append(s.facts, fmt.Sprintf("Cross-entropy of A's draws under B's density, on B's working scale: %s nats (B's own draws: %s)",
			document.PlusMinus(&e.Mean, &e.SE, 3), document.PlusMinus(&e.OwnDraws, nil, 3)))
		if e.NonFinite > 0 {
			s.facts = append(s.facts, fmt.Sprintf("  left out: %d of %s, without a finite density under B", e.NonFinite, english.Count(e.Draws, "draw")))
		}
	}
	return s
}

// Graphs returns the comparison of two searches for causal graphs for a reader.
func Graphs(c *dag.Comparison) *Compared {
	g := &Compared{common: &c.Comparison, title: fmt.Sprintf("Edges: probability, where it is %g or more", leastEdge), noun: "edge", model: "graph", name: ownName, files: []string{"edges.csv"},
		pairs: slices.DeleteFunc(slices.Clone(c.Edges), func(p comparing.Pair) bool { return max(p.A, p.B) < leastEdge }), printed: printedEdges}
	g.sort()
	return g
}

// Regressions returns the comparison of two hierarchical regressions for a reader.
func Regressions(c *regression.Comparison) *Compared {
	r := &Compared{common: &c.Comparison, pairs: c.Terms, title: "Terms: probability of each state", noun: "term", model: "model", name: ownName,
		estimates: slices.Clone(c.Estimates), files: []string{"estimates.csv"}}
	if len(c.Terms) > 0 {
		r.files = append(r.files, "terms.csv")
	}
	slices.SortStableFunc(r.estimates, func(x, y regression.Estimates) int {
		return -cmp.Compare(math.Abs(float64(x.Shift)), math.Abs(float64(y.Shift)))
	})
	return r
}

// sort puts the most probable pairs first.
func (c *Compared) sort() {
	slices.SortStableFunc(c.pairs, func(x, y comparing.Pair) int { return cmp.Compare(max(y.A, y.B), max(x.A, x.B)) })
}

// Numbers returns the comparison, for a reader, of two runs whose models are counts, such as
// numbers of components of a mixture. The argument about is a noun for the things that are counted.
func Numbers(c *comparing.Comparison, about string) *Compared {
	return &Compared{common: c, model: about, name: ownName}
}

// Print prints the comparison for a terminal.
func (c *Compared) Print(w io.Writer) { c.document().Print(w) }

func (c *Compared) document() *document.Document {
	notes := apply.To(c.common.Notes, func(note string) string { return "  note: " + note })
	runs := append([]string{fmt.Sprint("A: ", c.common.A), fmt.Sprint("B: ", c.common.B)}, notes...)
	var last []string
	if c.common.LogEvidence != nil {
		last = append(document.Explained(document.WordEvidence), "")
	}
	files := append([]string{comparing.File}, c.files...)
	if len(c.common.Models) > 0 {
		files = append(files, comparing.ModelsFile, fmt.Sprintf("the figure as %s and models.png", filepath.Join(c.common.RunDir, "models.svg")))
	}
	last = append(last, c.common.RunDir+" holds "+list(files))
	return &document.Document{Sections: []*document.Section{{Said: runs}, {Said: c.said("B")}, {Tables: c.tables("B")}, {Said: last}}}
}

// said returns sentences on how far the models of run A agree with the models of another run.
func (c *Compared) said(name string) (lines []string) {
	if e := c.common.LogEvidence; e != nil && document.Finite(&e.Difference) {
		lines = append(lines, fmt.Sprintf("Log evidence: %s in A, %s in %s; A − %s is %+.3f nats", document.PlusMinus(&e.A, &e.SEA, 3), document.PlusMinus(&e.B, &e.SEB, 3), name, name, float64(e.Difference)))
	}
	if tv := c.common.TotalVariation; tv != nil {
		text := document.Probability(tv.Low, 0)
		if tv.Low != tv.High {
			text = fmt.Sprintf("between %s and %s (a run lists only its best models)", text, document.Probability(tv.High, 0))
		}
		lines = append(lines, "Total variation between the model probabilities: "+text)
		if document.Finite(&c.common.KLAB) {
			lines = append(lines, fmt.Sprintf("Kullback-Leibler divergence of %s from A: %.4g nats", name, float64(c.common.KLAB)))
		}
		if document.Finite(&c.common.KLBA) {
			lines = append(lines, fmt.Sprintf("Kullback-Leibler divergence of A from %s: %.4g nats", name, float64(c.common.KLBA)))
		}
	}
	return append(lines, c.facts...)
}

// tables returns tables of probabilities and estimates of run A beside values of another run.
func (c *Compared) tables(name string) (list []*document.Table) {
	pairs := func(title string, pairs []comparing.Pair, printed int, named func(comparing.Pair) string) {
		t := document.NewTable(title, "<~name", "A", name, "A − "+name, "in s.e.")
		t.Printed = printed
		for _, p := range pairs {
			difference, z := "", ""
			if document.Finite(&p.Difference) {
				difference = difference4(p.Difference)
			}
			// if the difference is printed as zero, only tiny standard errors make z large
			if document.Finite(&p.Z) && math.Abs(float64(p.Difference)) >= 5e-5 {
				z = fmt.Sprintf("%+.1f", float64(p.Z))
			}
			t.Add(named(p), document.Probability(p.A, p.SEA), document.Probability(p.B, p.SEB), difference, z)
		}
		list = append(list, t)
	}
	pairs(c.title, c.pairs, c.printed, c.name)
	list[0].Open = true
	models := c.common.Models[:min(printedModels, len(c.common.Models))]
	if c.noun == "" {
		pairs("Most probable: "+c.model, models, 0, c.name)
		return list
	}
	pairs(fmt.Sprintf("Most probable %ss", c.model), models, 0, c.name)
	if len(models) > 0 && len(c.common.Disagreements) == 0 {
		list[len(list)-1].More = []string{"No probability differs by more than 0.0001."}
	}
	pairs("Largest disagreements", c.common.Disagreements, 0, func(p comparing.Pair) string {
		if p.Code != "" {
			return c.model + " " + c.name(p)
		}
		return c.noun + " " + c.name(p)
	})
	return append(list, c.estimatesTable(name))
}

// estimatesTable returns the table of the posterior means and standard deviations in both runs.
func (c *Compared) estimatesTable(name string) *document.Table {
	t := document.NewTable("Posterior means (sd), the largest shifts first; a shift is in posterior standard deviations", "<~name", "A", name, "shift", "ratio of sds")
	t.Printed = printedEstimates
	for _, e := range c.estimates {
		t.Add(e.Name, fmt.Sprintf("%.4g (%.3g)", float64(e.MeanA), float64(e.SDA)), fmt.Sprintf("%.4g (%.3g)", float64(e.MeanB), float64(e.SDB)),
			fmt.Sprintf("%+.3f", float64(e.Shift)), fmt.Sprintf("%.3f", float64(e.Ratio)))
	}
	if more := t.Len() - printedEstimates; more > 0 {
		t.More = []string{fmt.Sprintf("and %d more in estimates.csv", more)}
	}
	return t
}

// difference4 formats a difference of probabilities with four decimals. A difference that would be
// printed as zero but is not becomes "<1e-4".
func difference4(difference varsel.Number) string {
	switch size := math.Abs(float64(difference)); {
	case size == 0:
		return "0"
	case size < 5e-5:
		return "<1e-4"
	}
	return fmt.Sprintf("%+.4f", float64(difference))
}

// Comparer compares two runs.
type Comparer func(ctx context.Context, dirA, dirB string) (*Compared, error)

// sideBySide returns the document that compares the first run with each of the other runs.
func sideBySide(ctx context.Context, compare Comparer, sources []*source, documents []*document.Document) (*document.Document, error) {
	if len(sources) > mostCompared {
		return nil, fmt.Errorf("got %d runs, want at most %d side by side", len(sources), mostCompared)
	}
	d := &document.Document{Title: documents[0].Title, Subtitle: fmt.Sprintf("%s, answered by %s", sources[0].table(), document.Counted(len(sources), "run"))}
	runs := document.NewTable("The runs", "<run", "<directory", "<command", "<computation", "<model").Opened()
	for k, s := range sources {
		m := documents[k].Marks[0]
		runs.Add(letter(k), filepath.Base(s.dir), s.command(), m.Word, documents[k].Marks[1].Word)
		d.Marks = append(d.Marks, document.Mark{Kind: m.Kind, Name: "Computation of " + letter(k), Word: m.Word, Text: m.Text})
	}
	d.Sections = []*document.Section{{ID: "runs", Title: "Side by side", Tables: []*document.Table{runs}, Lead: "A is the run that was named first; the others are compared with it."}}
	var others []*Compared
	for k, s := range sources[1:] {
		c, err := compare(ctx, sources[0].dir, s.dir)
		if err != nil {
			return nil, err
		}
		if c.noun == "" {
			return nil, fmt.Errorf("runs of vti %s cannot be compared", s.header.Command)
		}
		others = append(others, c)
		name := letter(k + 1)
		called := ""
		if name != "B" {
			called = " (called B here)"
		}
		part := &document.Section{ID: name, Title: "A and " + name, Said: c.said(name), Tables: c.tables(name)}
		part.Notes = apply.To(c.common.Notes, func(note string) string { return "A and " + name + called + ": " + note + "." })
		d.Answer, d.Sections = append(d.Answer, c.sentence(name)), append(d.Sections, part)
	}
	d.Sections[0].Place(probabilities(others))
	d.Sections[0].Place(estimates(others))
	return d, d.Draw(ctx, "comparison")
}

func letter(k int) string { return string(rune('A' + k)) }

// sentence returns a sentence on how far a run agrees with run A.
func (c *Compared) sentence(name string) string {
	var worst comparing.Pair
	for _, p := range c.pairs {
		if math.Abs(float64(p.Difference)) > math.Abs(float64(worst.Difference)) {
			worst = p
		}
	}
	text := fmt.Sprintf("A and %s give every %s the same probability to within 0.0001", name, c.noun)
	if math.Abs(float64(worst.Difference)) >= 1e-4 {
		text = fmt.Sprintf("The largest difference between A and %s is that of %s %s: %s and %s", name, c.noun, worst.Name, document.Probability(worst.A, worst.SEA), document.Probability(worst.B, worst.SEB))
		if z := math.Abs(float64(worst.Z)); z > 0 {
			text += fmt.Sprintf(", %s standard errors apart", picture.Digits(z, 2))
		}
	}
	if len(c.pairs) == 0 {
		text = fmt.Sprintf("A and %s answer with numbers, not with probabilities of models", name)
	}
	if tv := c.common.TotalVariation; tv != nil {
		text += fmt.Sprintf("; the total variation between their models: %s", picture.Probability(float64(tv.High)))
		if tv.High > tv.Low {
			text += fmt.Sprintf(" at most, and at least %s", picture.Probability(float64(tv.Low)))
		}
	}
	return text + "."
}

func inks() []picture.Ink {
	return []picture.Ink{picture.First, picture.Second, picture.Third, picture.Muted}
}

func legend(runs int) []picture.Entry {
	return apply.UpTo(runs, func(k int) picture.Entry { return picture.Entry{Text: letter(k), Ink: inks()[k]} })
}

// probabilities draws the probabilities in all runs, the largest first. It returns nil if there are
// none.
func probabilities(others []*Compared) *picture.Picture {
	shown := slices.DeleteFunc(slices.Clone(others[0].pairs), func(p comparing.Pair) bool { return !(max(p.A, p.B) >= 0.01) })
	slices.SortStableFunc(shown, func(a, b comparing.Pair) int { return cmp.Compare(b.A, a.A) })
	var rows []picture.Row
	for _, first := range shown[:min(len(shown), mostBars)] {
		row := picture.Row{Label: first.Name, From: math.NaN()}
		add := func(p, se float64, run int) {
			row.Intervals = append(row.Intervals, picture.Interval{Mid: p, Low: math.Max(0, p-2*se), High: math.Min(1, p+2*se), Ink: inks()[run],
				Hint: fmt.Sprintf("%s, %s: %s", row.Label, letter(run), picture.Probability(p))})
		}
		add(float64(first.A), float64(first.SEA), 0)
		for run, c := range others {
			at := slices.IndexFunc(c.pairs, func(p comparing.Pair) bool { return p.Name == row.Label })
			if at >= 0 {
				add(float64(c.pairs[at].B), float64(c.pairs[at].SEB), run+1)
			}
		}
		rows = append(rows, row)
	}
	return rowsPicture("comparison", "Probabilities in all runs", rows, picture.RowsOptions{Axis: "probability, ± 2 standard errors", Min: 0, Max: 1, Reference: 0.5, Legend: legend(len(others) + 1)}).
		Described("Probabilities of %s in %s side by side; the tables have the numbers.", document.Counted(len(rows), others[0].noun), document.Counted(len(others)+1, "run"))
}

// estimates draws the posterior means and intervals in all runs. It returns nil if there are none.
func estimates(others []*Compared) *picture.Picture {
	var rows []picture.Row
	for _, e := range others[0].estimates[:min(len(others[0].estimates), mostBars)] {
		row := picture.Row{Label: e.Name, From: math.NaN()}
		add := func(mean, sd regression.Figure, run int) {
			row.Intervals = append(row.Intervals, picture.Interval{Mid: float64(mean), Low: float64(mean - 2*sd), High: float64(mean + 2*sd), Ink: inks()[run]})
		}
		add(e.MeanA, e.SDA, 0)
		for run, c := range others {
			for _, other := range c.estimates {
				if other.Name == e.Name {
					add(other.MeanB, other.SDB, run+1)
				}
			}
		}
		rows = append(rows, row)
	}
	return rowsPicture("comparison-numbers", "Posteriors in all runs", rows, picture.RowsOptions{Axis: "mean ± 2 posterior standard deviations", Legend: legend(len(others) + 1)}).
		Described("Means and intervals of %s in %s side by side.", document.Counted(len(rows), "number"), document.Counted(len(others)+1, "run"))
}
