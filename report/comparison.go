package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	comparing "github.com/transdim/vti/compare"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/varsel"
)

// compared is what is known of two runs side by side.
type compared struct {
	common *comparing.Comparison
	// pairs are the probabilities of predictors, edges or terms, and what names them.
	pairs []comparing.Pair
	what  string
	// estimates are posteriors of numbers.
	estimates []regression.Estimates
}

// mostCompared is how many runs a picture can distinguish by their inks.
const mostCompared = 4

// compareWith compares two runs as vti compare does.
func compareWith(ctx context.Context, a, b *source) (*compared, error) {
	if a.kind() != b.kind() {
		return nil, fmt.Errorf("%s is about %s and %s about %s: there is nothing to compare", a.dir, a.kind(), b.dir, b.kind())
	}
	switch a.kind() {
	case graphKind:
		x, y, err := openBoth(dag.OpenRun, a.dir, b.dir)
		if err != nil {
			return nil, err
		}
		c, err := dag.Compare(x, y)
		if err != nil {
			return nil, err
		}
		return &compared{common: &c.Comparison, pairs: c.Edges, what: "edge"}, nil
	case regressionKind:
		x, y, err := openBoth(regression.OpenRun, a.dir, b.dir)
		if err != nil {
			return nil, err
		}
		c, err := regression.Compare(x, y)
		if err != nil {
			return nil, err
		}
		return &compared{common: &c.Comparison, pairs: c.Terms, what: "term", estimates: c.Estimates}, nil
	case selectionKind:
		x, y, err := openBoth(varsel.OpenRun, a.dir, b.dir)
		if err != nil {
			return nil, err
		}
		c, err := varsel.Compare(ctx, x, y)
		if err != nil {
			return nil, err
		}
		return &compared{common: &c.Comparison, pairs: c.Inclusion, what: "predictor"}, nil
	}
	return nil, fmt.Errorf("runs of vti %s cannot be compared", a.header.Command)
}

// openBoth opens two runs.
func openBoth[R any](open func(dir string) (R, error), dirA, dirB string) (a, b R, err error) {
	if a, err = open(dirA); err != nil {
		return a, b, err
	}
	b, err = open(dirB)
	return a, b, err
}

// comparisonArticle sets runs side by side: the first with each of the others.
func comparisonArticle(ctx context.Context, sources []*source, articles []article) (*article, error) {
	if len(sources) > mostCompared {
		return nil, fmt.Errorf("got %d runs, want at most %d side by side", len(sources), mostCompared)
	}
	var others []*compared
	for _, s := range sources[1:] {
		c, err := compareWith(ctx, sources[0], s)
		if err != nil {
			return nil, err
		}
		others = append(others, c)
	}
	a := &article{ID: "comparison", Title: articles[0].Title, Subtitle: fmt.Sprintf("%s, answered by %s", sources[0].table(), counted(len(sources), "run"))}
	part := section{ID: "comparison-runs", Title: "Side by side", Lead: "A is the run that was named first; the others are compared with it."}
	runs := table{ID: "comparison-0", Caption: "The runs", Open: true, Columns: []column{{"run", false}, {"directory", false}, {"command", false}, {"computation", false}, {"model", false}}}
	for k, s := range sources {
		runs.Rows = append(runs.Rows, []cell{words(letter(k)), words(filepath.Base(s.dir)), words(s.command()), words(articles[k].Marks[0].Word), words(articles[k].Marks[1].Word)})
	}
	part.Tables = append(part.Tables, runs)
	for k, c := range others {
		a.Answer = append(a.Answer, c.sentence(letter(k+1)))
		part.Notes = append(part.Notes, c.notes(letter(k+1))...)
		part.Tables = append(part.Tables, c.table(letter(k+1)))
	}
	if p := probabilities(others); p != nil {
		part.Pictures = append(part.Pictures, p)
	}
	if p := estimates(others); p != nil {
		part.Pictures = append(part.Pictures, p)
	}
	for k, s := range articles {
		a.Marks = append(a.Marks, badge{Kind: s.Marks[0].Kind, Name: "Computation of " + letter(k), Word: s.Marks[0].Word, Text: s.Marks[0].Text})
	}
	a.Sections = []section{part}
	return a, nil
}

// letter names a run by its place.
func letter(k int) string { return string(rune('A' + k)) }

// sentence says how far a run agrees with A.
func (c *compared) sentence(name string) string {
	var worst comparing.Pair
	for _, p := range c.pairs {
		if math.Abs(float64(p.Difference)) > math.Abs(float64(worst.Difference)) {
			worst = p
		}
	}
	text := fmt.Sprintf("A and %s give every %s the same probability to within 0.0001", name, c.what)
	if math.Abs(float64(worst.Difference)) >= 1e-4 {
		text = fmt.Sprintf("The largest difference between A and %s is that of %s %s: %s and %s", name, c.what, worst.Name, plusMinus(float64(worst.A), float64(worst.SEA)), plusMinus(float64(worst.B), float64(worst.SEB)))
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

// notes are what a reader of a comparison must know.
func (c *compared) notes(name string) (list []string) {
	called := ""
	if name != "B" {
		called = " (called B here)"
	}
	for _, note := range c.common.Notes {
		list = append(list, "A and "+name+called+": "+note+".")
	}
	if e := c.common.LogEvidence; e != nil {
		list = append(list, fmt.Sprintf("Log evidences of A and %s: %s and %s nats.", name, evidence(float64(e.A), float64(e.SEA)), evidence(float64(e.B), float64(e.SEB))))
	}
	return list
}

// table sets the probabilities of two runs side by side, the largest differences first.
func (c *compared) table(name string) table {
	t := table{ID: "comparison-" + name, Caption: "A and " + name, Columns: []column{{c.what, false}, {"A", true}, {name, true}, {"difference", true}, {"in standard errors", true}}}
	pairs := slices.Concat(c.pairs, c.common.Models[:min(len(c.common.Models), 100)])
	slices.SortStableFunc(pairs, func(x, y comparing.Pair) int {
		return cmp.Compare(math.Abs(float64(y.Difference)), math.Abs(float64(x.Difference)))
	})
	const most = 300
	for _, p := range pairs[:min(len(pairs), most)] {
		title := p.Name
		if p.Code != "" {
			title = "model " + p.Code
		}
		z := cell{Text: "–"}
		if !math.IsNaN(float64(p.Z)) && math.Abs(float64(p.Difference)) >= 5e-5 {
			z = cell{picture.Digits(float64(p.Z), 2), sortKey(float64(p.Z))}
		}
		t.Rows = append(t.Rows, []cell{words(title), share(float64(p.A)), share(float64(p.B)), value(float64(p.Difference)), z})
	}
	for _, e := range c.estimates[:min(len(c.estimates), most)] {
		t.Rows = append(t.Rows, []cell{words("mean of " + e.Name), value(float64(e.MeanA)), value(float64(e.MeanB)), value(float64(e.MeanA - e.MeanB)), {Text: "–"}})
	}
	return t
}

// inks are those of the runs, in their order.
func inks() []picture.Ink {
	return []picture.Ink{picture.First, picture.Second, picture.Third, picture.Muted}
}

// legend names the inks of so many runs.
func legend(runs int) (list []picture.Entry) {
	for k, ink := range inks()[:runs] {
		list = append(list, picture.Entry{Text: letter(k), Ink: ink})
	}
	return list
}

// probabilities draws the probabilities of all runs, the largest first; nil without any.
func probabilities(others []*compared) *picture.Picture {
	first := others[0].pairs
	var order []int
	for k, p := range first {
		if larger := math.Max(float64(p.A), float64(p.B)); larger >= 0.01 {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(float64(first[b].A), float64(first[a].A)) })
	var rows []picture.Row
	for _, k := range order[:min(len(order), mostBars)] {
		row := picture.Row{Label: first[k].Name, From: math.NaN()}
		add := func(p, se float64, run int) {
			row.Intervals = append(row.Intervals, picture.Interval{Mid: p, Low: math.Max(0, p-2*se), High: math.Min(1, p+2*se), Ink: inks()[run],
				Hint: fmt.Sprintf("%s, %s: %s", row.Label, letter(run), picture.Probability(p))})
		}
		add(float64(first[k].A), float64(first[k].SEA), 0)
		for run, c := range others {
			at := slices.IndexFunc(c.pairs, func(p comparing.Pair) bool { return p.Name == row.Label })
			if at >= 0 {
				add(float64(c.pairs[at].B), float64(c.pairs[at].SEB), run+1)
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	p := picture.Rows("comparison", "Probabilities in all runs", picture.Column, rows, picture.RowsOptions{Axis: "probability, ± 2 standard errors", Min: 0, Max: 1, Reference: 0.5, Legend: legend(len(others) + 1)})
	p.Text = fmt.Sprintf("Probabilities of %s in %s side by side; the tables have the numbers.", counted(len(rows), others[0].what), counted(len(others)+1, "run"))
	return p
}

// estimates draws posteriors of numbers of all runs; nil without any.
func estimates(others []*compared) *picture.Picture {
	var rows []picture.Row
	for _, e := range others[0].estimates {
		if len(rows) == mostBars {
			break
		}
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
	if len(rows) == 0 {
		return nil
	}
	p := picture.Rows("comparison-numbers", "Posteriors in all runs", picture.Column, rows, picture.RowsOptions{Axis: "mean ± 2 posterior standard deviations", Legend: legend(len(others) + 1)})
	p.Text = fmt.Sprintf("Means and intervals of %s in %s side by side.", counted(len(rows), "number"), counted(len(others)+1, "run"))
	return p
}
