package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/varsel"
)

// printRuns prints what comparisons of all kinds begin with.
func printRuns(w io.Writer, c *compare.Comparison) {
	for _, side := range []struct {
		name string
		run  compare.Run
	}{{"A", c.A}, {"B", c.B}} {
		verdict := "exact"
		if side.run.Verdict != nil {
			verdict = side.run.Verdict.String()
		}
		fmt.Fprintf(w, "%s: %s (vti %s, %s)\n", side.name, side.run.RunDir, side.run.Command, verdict)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	fmt.Fprintln(w)
	if e := c.LogEvidence; e != nil && console.Finite(&e.Difference) {
		fmt.Fprintf(w, "Log evidence: %s in A, %s in B; A − B is %+.3f nats\n", console.PlusMinus(&e.A, &e.SEA, 3), console.PlusMinus(&e.B, &e.SEB, 3), float64(e.Difference))
	}
	if c.TotalVariation == nil {
		return
	}
	fmt.Fprintf(w, "Total variation between the model probabilities: %s\n", rangeText(*c.TotalVariation))
	if console.Finite(&c.KLAB) {
		fmt.Fprintf(w, "Kullback-Leibler divergence of B from A: %.4g nats\n", float64(c.KLAB))
	}
	if console.Finite(&c.KLBA) {
		fmt.Fprintf(w, "Kullback-Leibler divergence of A from B: %.4g nats\n", float64(c.KLBA))
	}
}

// printPairs prints a table of probabilities in both runs.
func printPairs(w io.Writer, title string, pairs []compare.Pair, name func(compare.Pair) string) {
	fmt.Fprintf(w, "\n%s\n", title)
	table := &console.Grid{}
	table.Add("", "A", "B", "A − B", "in s.e.")
	for _, p := range pairs {
		difference, z := "", ""
		if console.Finite(&p.Difference) {
			difference = signed(p.Difference)
		}
		// a difference that is not even shown is not worth counting in errors, which may be as
		// small
		if console.Finite(&p.Z) && math.Abs(float64(p.Difference)) >= 5e-5 {
			z = fmt.Sprintf("%+.1f", float64(p.Z))
		}
		table.Add(name(p), console.Probability(p.A, p.SEA), console.Probability(p.B, p.SEB), difference, z)
	}
	table.Print(w)
}

// printDisagreements prints what differs most. kind names what is not a model.
func printDisagreements(w io.Writer, pairs []compare.Pair, kind, model string, name func(compare.Pair) string) {
	if len(pairs) == 0 {
		fmt.Fprintln(w, "\nNo probability differs by more than 0.0001.")
		return
	}
	printPairs(w, "Largest disagreements", pairs, func(p compare.Pair) string {
		if p.Code != "" {
			return model + " " + name(p)
		}
		return kind + " " + name(p)
	})
}

// ownName is the name or the code of a pair as it is.
func ownName(p compare.Pair) string { return p.Name + p.Code }

// printComparisonFiles says what the directory of a comparison holds.
func printComparisonFiles(w io.Writer, c *compare.Comparison, tables ...string) {
	if c.LogEvidence != nil {
		fmt.Fprintln(w)
		console.PrintMeanings(w, console.WordEvidence)
	}
	if len(c.Models) == 0 {
		fmt.Fprintf(w, "\n%s holds %s and %s\n", c.RunDir, compare.File, strings.Join(tables, ", "))
		return
	}
	fmt.Fprintf(w, "\n%s holds %s, %s, and the figure as %s and models.png\n", c.RunDir, compare.File, strings.Join(append(tables, compare.ModelsFile), ", "), filepath.Join(c.RunDir, "models.svg"))
}

// printSelections prints a comparison of selections of variables.
func printSelections(w io.Writer, c *varsel.Comparison, predictors []string) {
	printRuns(w, &c.Comparison)
	if e := c.CrossEntropy; e != nil {
		fmt.Fprintf(w, "Cross-entropy of A's draws under B's density, on B's working scale: %s nats (B's own draws: %s)\n",
			console.PlusMinus(&e.Mean, &e.SE, 3), console.PlusMinus(&e.OwnDraws, nil, 3))
		if e.NonFinite > 0 {
			fmt.Fprintf(w, "  left out: %d of %s, without a finite density under B\n", e.NonFinite, english.Count(e.Draws, "draw"))
		}
	}
	name := func(p compare.Pair) string {
		if p.Code != "" {
			return modelName(p.Code, predictors)
		}
		return p.Name
	}
	larger := make([]varsel.Number, len(c.Inclusion))
	for s, pair := range c.Inclusion {
		larger[s] = max(pair.A, pair.B)
	}
	var inclusion []compare.Pair
	for _, s := range mostProbable(larger) {
		inclusion = append(inclusion, c.Inclusion[s])
	}
	printPairs(w, "Predictors: probability to be in the model", inclusion, name)
	printPairs(w, "Most probable models", c.Models[:min(shownModels, len(c.Models))], name)
	printDisagreements(w, c.Disagreements, "predictor", "model", name)
	printComparisonFiles(w, &c.Comparison, "inclusion.csv")
}

// Edges that a comparison of graphs prints.
const (
	leastEdge  = 0.01
	shownEdges = 40
)

// printGraphComparison prints a comparison of discoveries of graphs.
func printGraphComparison(w io.Writer, c *dag.Comparison) {
	printRuns(w, &c.Comparison)
	edges := slices.DeleteFunc(slices.Clone(c.Edges), func(p compare.Pair) bool { return max(p.A, p.B) < leastEdge })
	slices.SortStableFunc(edges, func(x, y compare.Pair) int { return cmp.Compare(max(y.A, y.B), max(x.A, x.B)) })
	printPairs(w, fmt.Sprintf("Edges: probability, where it is %g or more", leastEdge), edges[:min(len(edges), shownEdges)], ownName)
	printPairs(w, "Most probable graphs", c.Models[:min(shownModels, len(c.Models))], ownName)
	printDisagreements(w, c.Disagreements, "edge", "graph", ownName)
	printComparisonFiles(w, &c.Comparison, "edges.csv")
}

// printRegressionComparison prints a comparison of hierarchical regressions.
func printRegressionComparison(w io.Writer, c *regression.Comparison) {
	printRuns(w, &c.Comparison)
	if len(c.Terms) > 0 {
		printPairs(w, "Terms: probability of each state", c.Terms, ownName)
		printPairs(w, "Most probable models", c.Models[:min(shownModels, len(c.Models))], ownName)
		printDisagreements(w, c.Disagreements, "", "model", ownName)
	}
	shown := slices.Clone(c.Estimates)
	slices.SortStableFunc(shown, func(x, y regression.Estimates) int {
		return -cmp.Compare(math.Abs(float64(x.Shift)), math.Abs(float64(y.Shift)))
	})
	fmt.Fprintln(w, "\nPosterior means (sd), the largest shifts first; a shift is in posterior standard deviations")
	table := &console.Grid{}
	table.Add("", "A", "B", "shift", "ratio of sds")
	for _, e := range shown[:min(shownEstimates, len(shown))] {
		table.Add(e.Name, meanSD(e.MeanA, e.SDA), meanSD(e.MeanB, e.SDB), fmt.Sprintf("%+.3f", float64(e.Shift)), fmt.Sprintf("%.3f", float64(e.Ratio)))
	}
	table.Print(w)
	if more := len(shown) - shownEstimates; more > 0 {
		fmt.Fprintf(w, "  and %d more in estimates.csv\n", more)
	}
	files := []string{"estimates.csv"}
	if len(c.Terms) > 0 {
		files = append(files, "terms.csv")
	}
	printComparisonFiles(w, &c.Comparison, files...)
}

// shownEstimates is how many posteriors of numbers a comparison prints.
const shownEstimates = 20

func meanSD(mean, sd regression.Figure) string {
	return fmt.Sprintf("%.4g (%.3g)", float64(mean), float64(sd))
}

func rangeText(i compare.Interval) string {
	if i.Low == i.High {
		return console.Probability(i.Low, 0)
	}
	return fmt.Sprintf("between %s and %s (a run lists only its best models)", console.Probability(i.Low, 0), console.Probability(i.High, 0))
}

// signed is a difference of probabilities with four decimals, which are not all zero.
func signed(difference varsel.Number) string {
	switch size := math.Abs(float64(difference)); {
	case size == 0:
		return "0"
	case size < 5e-5:
		return "<1e-4"
	}
	return fmt.Sprintf("%+.4f", float64(difference))
}
