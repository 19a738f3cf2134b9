package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/english"
)

// shownLevels is how many levels of a grouping are printed: the lowest and the highest; the files
// have all.
const shownLevels = 8

// Advice that goes with a verdict on a regression.
var hbmVerdictText = map[vti.Verdict]string{
	vti.Trusted:  "the numbers below hold to within their Monte Carlo errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try more --certify-draws.",
	vti.Failed:   "do not use these numbers. Try a simpler formula.",
}

// hbmFamilyText is that of families that learn the effects.
var hbmFamilyText = map[vti.Verdict]string{
	vti.Trusted:  hbmVerdictText[vti.Trusted],
	vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try --family marginal, which integrates effects out, or more --certify-draws.",
	vti.Failed:   "do not use these numbers. Try --family marginal, which integrates effects out.",
}

// failedInference is the advice where nothing was trained.
const failedInference = "do not use these numbers. The table may be unlike those of the training: fit it with vti hbm."

// printHbm prints an answer for a reader.
func printHbm(w io.Writer, r *regression.Result) {
	c := r.Certificate
	console.PrintVerdict(w, c.Verdict, hbmAdvice(r), c.Reasons)
	if c.RHat != nil {
		fmt.Fprintln(w, "  by tempered chains, as weights were not reliable")
	}
	if r.Advice != "" {
		fmt.Fprintf(w, "  What would help: %s.\n", r.Advice)
	}
	fmt.Fprintln(w)
	console.PrintModelCheck(w, r.ModelCheck)
	if len(r.Terms) > 0 {
		printTerms(w, r)
	}
	averaged := ""
	if len(r.Terms) > 0 {
		averaged = ", averaged over models (0 where absent)"
	}
	odds, spread := "", ""
	if r.Categories != nil {
		odds, spread = " on log odds against "+r.Categories[0], " of the log odds of any two categories"
	}
	printSummaries(w, "Population effects"+odds+averaged, r.Effects)
	printSummaries(w, "Standard deviations"+spread+averaged, r.SDs)
	printSummaries(w, "Shares of the steps of monotonic effects"+averaged, r.Shares)
	printSummaries(w, "Cut points", r.Cuts)
	printLevels(w, r.Varying)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintf(w, "Log evidence%s: %s", map[bool]string{true: " of all models together"}[len(r.Terms) > 0], console.PlusMinus(r.LogEvidence, r.LogEvidenceSE, 3))
	if r.ELBO != nil {
		fmt.Fprintf(w, "; the loss of training was %s away", console.Short(*r.LogEvidence-*r.ELBO))
	}
	fmt.Fprint(w, ".\nComputation: ")
	words := []string{console.WordDraws, console.WordEvidence}
	if c.RHat != nil {
		fmt.Fprintf(w, "R-hat %.3f", float64(*c.RHat))
		words = append(words, console.WordRHat)
	} else {
		fmt.Fprintf(w, "k̂ %.2f", float64(c.KHat))
		words = append(words, console.WordKHat)
	}
	fmt.Fprintf(w, ", %.0f effective draws of %d", float64(c.ESS), c.Draws)
	if len(r.Terms) > 0 && c.RHat == nil {
		fmt.Fprintf(w, ", %s checked", english.Count(c.ModelsChecked, "model"))
	}
	fmt.Fprintf(w, ", so that a mean is good to %.2g of its sd; %s", 1/math.Sqrt(math.Max(1, float64(c.ESS))), console.TimeText(r.Seconds.Total))
	switch {
	case r.Integration == regression.ClosedForm:
		fmt.Fprintln(w, ", nothing was trained: effects are integrated out in closed form.")
	case r.Integration == regression.Laplace:
		fmt.Fprintln(w, ", nothing was trained: effects are drawn around their modes and weighted.")
	case r.Command == regression.InferCommand:
		fmt.Fprintf(w, ", with %d weights trained in %d steps on simulated tables.\n", r.Weights, r.Steps)
	default:
		fmt.Fprintf(w, " (%s training %d weights in %d steps, %s certifying).\n", console.TimeText(r.Seconds.Train), r.Weights, r.Steps, console.TimeText(r.Seconds.Certify))
	}
	console.PrintMeanings(w, words...)
}

// hbmAdvice is the advice that goes with the verdict on an answer.
func hbmAdvice(r *regression.Result) string {
	verdict := r.Certificate.Verdict
	switch {
	case r.Command == regression.InferCommand && verdict == vti.Failed:
		return failedInference
	case r.Command != regression.InferCommand && r.Family != "" && r.Family != regression.MarginalFamily:
		return hbmFamilyText[verdict]
	}
	return hbmVerdictText[verdict]
}

// printTerms prints the probability of each answer about each term, and the most probable models.
func printTerms(w io.Writer, r *regression.Result) {
	fmt.Fprintln(w, "Terms: probability of each state")
	table := &console.Grid{}
	table.Add("", "<state", "probability")
	last := ""
	for _, t := range r.Terms {
		name := t.Term
		if name == last {
			name = ""
		}
		last = t.Term
		table.Add(name, t.State, console.Probability(t.Prob, t.SE))
	}
	table.Print(w)
	fmt.Fprintln(w, "\nMost probable models")
	table = &console.Grid{}
	table.Add("probability", "log evidence", "<formula")
	for k, m := range r.Models[:min(shownModels, len(r.Models))] {
		if k > 0 && m.Certified < leastShown {
			break
		}
		table.Add(console.Probability(m.Certified, m.SE), console.PlusMinus(m.LogEvidence, m.LogEvidenceSE, 3), m.Formula)
	}
	table.Print(w)
	fmt.Fprintln(w)
}

// moment is a mean or a standard deviation, which draws may not resolve.
func moment(x regression.Figure) string {
	if math.IsNaN(float64(x)) {
		return "not resolved"
	}
	return console.Short(x)
}

// printSummaries prints a row for each number.
func printSummaries(w io.Writer, title string, list []regression.Summary) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	table := &console.Grid{}
	table.Add("", "mean", "sd", "<95% interval")
	for _, s := range list {
		table.Add(s.Name, moment(s.Mean), moment(s.SD), console.Interval(s.Q025, s.Q975))
	}
	table.Print(w)
	fmt.Fprintln(w)
}

// printLevels prints the levels of each term and grouping that are furthest from the population.
func printLevels(w io.Writer, varying []regression.LevelSummary) {
	for len(varying) > 0 {
		n := 1
		for n < len(varying) && varying[n].Term == varying[0].Term && varying[n].Group == varying[0].Group {
			n++
		}
		levels := slices.Clone(varying[:n])
		varying = varying[n:]
		if levels[0].Smooth {
			continue // coefficients of a basis say nothing by themselves
		}
		fmt.Fprintf(w, "%s by %s: difference from the population; pooled: the share of its variance that the group's rows leave\n", levels[0].Term, levels[0].Group)
		slices.SortStableFunc(levels, func(a, b regression.LevelSummary) int { return cmp.Compare(a.Mean, b.Mean) })
		table := &console.Grid{}
		table.Add("", "rows", "mean", "sd", "<95% interval", "pooled")
		for i, l := range levels {
			if n > shownLevels && i >= shownLevels/2 && i < n-shownLevels/2 {
				if i == shownLevels/2 {
					table.Add(fmt.Sprintf("… %d more", n-shownLevels))
				}
				continue
			}
			table.Add(l.Level, fmt.Sprint(l.Rows), moment(l.Mean), moment(l.SD), console.Interval(l.Q025, l.Q975), fmt.Sprintf("%.2f", float64(l.Pooling)))
		}
		table.Print(w)
		fmt.Fprintln(w)
	}
}
