package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
)

// shownLevels is how many levels of a grouping are printed: the lowest and the highest; the files
// have all.
const shownLevels = 12

// Advice that goes with a verdict on a regression.
var hbmVerdictText = map[vti.Verdict]string{
	vti.Trusted:  "the numbers below hold to within their Monte Carlo errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try more --certify-draws.",
	vti.Failed:   "do not use these numbers. Try a simpler formula.",
}

// failedInference is the advice where nothing was trained.
const failedInference = "do not use these numbers. The table may be unlike those of the training: fit it with vti hbm."

// printHbm prints an answer for a reader.
func printHbm(w io.Writer, r *regression.Result) {
	c := r.Certificate
	advice := hbmVerdictText[c.Verdict]
	if r.Command == regression.InferCommand && c.Verdict == vti.Failed {
		advice = failedInference
	}
	printVerdict(w, c.Verdict, advice, c.Reasons)
	if c.RHat != nil {
		fmt.Fprintf(w, "  by tempered chains, as weights were not reliable: R-hat %.3f (good up to 1.01), %.0f effective draws of %d", float64(*c.RHat), float64(c.ESS), c.Draws)
	} else {
		fmt.Fprintf(w, "  Pareto k̂ %.2f (good below 0.7), %.0f effective draws of %d", float64(c.KHat), float64(c.ESS), c.Draws)
	}
	if len(r.Terms) > 0 && c.RHat == nil {
		fmt.Fprintf(w, ", %d models checked", c.ModelsChecked)
	}
	fmt.Fprintf(w, "; a mean is good to %.2g of its sd\n", 1/math.Sqrt(math.Max(1, float64(c.ESS))))
	if r.Advice != "" {
		fmt.Fprintf(w, "  What would help: %s.\n", r.Advice)
	}
	fmt.Fprintln(w)
	printModelCheck(w, r.ModelCheck)
	if len(r.Terms) > 0 {
		printTerms(w, r)
	}
	averaged := ""
	if len(r.Terms) > 0 {
		averaged = ", averaged over models (0 where absent)"
	}
	printSummaries(w, "Population effects"+averaged, r.Effects)
	printSummaries(w, "Standard deviations"+averaged, r.SDs)
	printLevels(w, r.Varying)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintf(w, "log evidence%s: %s", map[bool]string{true: " of all models together"}[len(r.Terms) > 0], plusMinus(r.LogEvidence, r.LogEvidenceSE, 3))
	if r.ELBO != nil {
		fmt.Fprintf(w, "; the loss of training was %s away", short(*r.LogEvidence-*r.ELBO))
	}
	fmt.Fprintln(w)
	if r.ELBO == nil && len(r.Rounds) == 0 {
		fmt.Fprintf(w, "%s in all: effects are integrated out in closed form, so that nothing was trained\n\n%s holds\n", timeText(r.Seconds.Total), r.RunDir)
	} else if r.Command == regression.InferCommand {
		fmt.Fprintf(w, "%s in all, with %d weights, trained in %d steps on simulated tables\n\n%s holds\n", timeText(r.Seconds.Total), r.Weights, r.Steps, r.RunDir)
	} else {
		fmt.Fprintf(w, "%s in all: %s training (%d steps, %d weights), %s certifying\n\n%s holds\n",
			timeText(r.Seconds.Total), timeText(r.Seconds.Train), r.Steps, r.Weights, timeText(r.Seconds.Certify), r.RunDir)
	}
	files := &grid{}
	files.add(rundir.RecordFile, "<the settings: what was asked for")
	files.add(rundir.ResultFile, "all of this and more, as --json prints it")
	tables := "the tables: effects, sds, varying, checks"
	if len(r.Terms) > 0 {
		tables += ", terms, models"
	}
	files.add("*.csv", tables)
	if len(r.Varying) > 0 {
		files.add("caterpillar-*", "the effects of all groups as SVG and PNG")
	}
	files.add(regression.DrawsParquet, "posterior draws; "+regression.DrawsCSV+" has the same as CmdStan writes them")
	if r.Command != regression.InferCommand && r.ELBO != nil {
		files.add(rundir.PosteriorFile, "the trained approximation")
	}
	files.print(w)
}

// printTerms prints the probability of each answer about each term, and the most probable models.
func printTerms(w io.Writer, r *regression.Result) {
	fmt.Fprintln(w, "Terms: probability of each state")
	table := &grid{}
	trained := r.ELBO != nil
	if trained {
		table.add("", "<state", "by q", "certified")
	} else {
		table.add("", "<state", "probability")
	}
	last := ""
	for _, t := range r.Terms {
		name := t.Term
		if name == last {
			name = ""
		}
		last = t.Term
		row := []string{name, t.State, fmt.Sprintf("%.4f", float64(t.Q)), plusMinus(&t.Prob, &t.SE, 4)}
		if !trained {
			row = slices.Delete(row, 2, 3)
		}
		table.add(row...)
	}
	table.print(w)
	fmt.Fprintln(w, "\nMost probable models")
	table = &grid{}
	table.add("probability", "log evidence", "<formula")
	for _, m := range r.Models[:min(shownModels, len(r.Models))] {
		table.add(plusMinus(&m.Certified, &m.SE, 4), plusMinus(m.LogEvidence, m.LogEvidenceSE, 3), m.Formula)
	}
	table.print(w)
	fmt.Fprintln(w)
}

// moment is a mean or a standard deviation, which draws may not resolve.
func moment(x regression.Figure) string {
	if math.IsNaN(float64(x)) {
		return "not resolved"
	}
	return short(x)
}

// printSummaries prints a row for each number.
func printSummaries(w io.Writer, title string, list []regression.Summary) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	table := &grid{}
	table.add("", "mean", "sd", "<95% interval")
	for _, s := range list {
		table.add(s.Name, moment(s.Mean), moment(s.SD), interval(s.Q025, s.Q975))
	}
	table.print(w)
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
		fmt.Fprintf(w, "%s by %s: difference from the population; pooled: the share of its variance that the group's rows leave\n", levels[0].Term, levels[0].Group)
		slices.SortStableFunc(levels, func(a, b regression.LevelSummary) int { return cmp.Compare(a.Mean, b.Mean) })
		table := &grid{}
		table.add("", "rows", "mean", "sd", "<95% interval", "pooled")
		for i, l := range levels {
			if n > shownLevels && i >= shownLevels/2 && i < n-shownLevels/2 {
				if i == shownLevels/2 {
					table.add(fmt.Sprintf("… %d more", n-shownLevels))
				}
				continue
			}
			table.add(l.Level, fmt.Sprint(l.Rows), moment(l.Mean), moment(l.SD), interval(l.Q025, l.Q975), fmt.Sprintf("%.2f", float64(l.Pooling)))
		}
		table.print(w)
		fmt.Fprintln(w)
	}
}
