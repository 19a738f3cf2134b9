package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/varsel"
)

// shownModels is how many models are printed; the files have more.
const shownModels = 10

// Up to fewPredictors are printed one and all, of more the shownPredictors most probable.
const (
	fewPredictors   = 40
	shownPredictors = 25
)

// notableQ is the difference between an inclusion probability of q and the corrected one above
// which both are printed. Chosen by hand: it changes no conclusion below.
const notableQ = 0.05

// printSelection prints the answer of a selection for a reader.
func printSelection(w io.Writer, r *varsel.Result) {
	printSelectionVerdict(w, r)
	console.PrintModelCheck(w, r.ModelCheck)
	words := printPredictors(w, r)
	words = append(words, printModels(w, r)...)
	words = append(words, printSelectionComputation(w, r)...)
	console.PrintMeanings(w, words...)
}

// printSelectionComputation says how the numbers were earned, and returns the words it used.
func printSelectionComputation(w io.Writer, r *varsel.Result) (words []string) {
	if r.LogEvidence != nil && math.IsNaN(float64(*r.LogEvidence)) {
		fmt.Fprintln(w, "Log evidence of all models together: not resolved.")
	} else if r.LogEvidence != nil {
		fmt.Fprintf(w, "Log evidence of all models together: %s.\n", console.PlusMinus(r.LogEvidence, r.LogEvidSE, 3))
	}
	fmt.Fprint(w, "Computation: ")
	if c := r.Certificate; c != nil {
		switch {
		case c.RHat != nil:
			fmt.Fprintf(w, "R-hat %.3f, at least %.0f effective draws of %d; ", float64(*c.RHat), float64(c.ESS), c.Draws)
			words = append(words, console.WordRHat, console.WordDraws)
		case c.Basis != vti.ExactSum && c.KHat != nil:
			fmt.Fprintf(w, "k̂ %.2f, %.0f effective draws of %d, %s checked; ", float64(*c.KHat), float64(c.ESS), c.Draws, english.Count(c.ModelsChecked, "model"))
			words = append(words, console.WordKHat, console.WordDraws)
		}
	}
	if d := r.Diagnostics; d != nil {
		fmt.Fprintf(w, "R-hat %.3f, at least %.0f effective draws, %s of %s; ", float64(d.RHat), float64(d.ESS), english.Count(d.Chains, "chain"), english.Count(d.Draws, "draw"))
		words = append(words, console.WordRHat, console.WordDraws)
		if len(d.Exchanges) > 0 {
			fmt.Fprintf(w, "%s, at least %.0f%% of exchanges accepted, %s; ", english.Count(len(d.Exchanges)+1, "temperature"), 100*float64(slices.Min(d.Exchanges)), english.Count(d.RoundTrips, "round trip"))
		}
	}
	fmt.Fprint(w, console.TimeText(r.Seconds.Total))
	if r.Seconds.Train > 0 {
		fmt.Fprintf(w, " (%s training in %d steps, %s certifying)", console.TimeText(r.Seconds.Train), r.Steps, console.TimeText(r.Seconds.Certify))
	}
	fmt.Fprintln(w, ".")
	return words
}

// Advice that goes with a verdict.
var verdictText = map[vti.Verdict]string{
	vti.Trusted:  "the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak.",
	vti.Failed:   "do not use these numbers.",
}

// otherWays is what may help where nothing is known that would.
const otherWays = " Try --flow spline, or vti rjmcmc varsel."

// printSelectionVerdict prints the certificate's or the chains' verdict with its reasons.
func printSelectionVerdict(w io.Writer, r *varsel.Result) {
	if c := r.Certificate; c != nil {
		text := verdictText[c.Verdict]
		if c.Verdict != vti.Trusted && r.Advice == "" {
			text += otherWays
		}
		if c.RHat != nil && c.Verdict != vti.Trusted {
			text = "neither the weights nor the chains that check them are reliable. Try more --certify-draws, which make the chains longer."
		}
		if c.Basis == vti.CollapsedChains && c.Verdict != vti.Trusted {
			text = "chains and the annealed populations that check them do not agree, or are too few. Try a longer --max-time."
		}
		if c.Basis == vti.BirthsAndDeaths && c.Verdict != vti.Trusted {
			text = "birth-death chains and the tempered chains that check them do not agree, or are too short. Try a longer --max-time, or a smaller --max-size."
		}
		console.PrintVerdict(w, c.Verdict, text, c.Reasons)
		switch {
		case c.Basis == vti.CollapsedChains:
			fmt.Fprintln(w, "  by tempered chains over models and outliers, coefficients integrated out")
		case c.Basis == vti.BirthsAndDeaths:
			fmt.Fprintln(w, "  by birth-death chains over models, coefficients integrated out")
		case c.RHat != nil:
			fmt.Fprintln(w, "  by tempered chains, which are more precise here than weights")
		case c.Basis == vti.ExactSum:
			fmt.Fprintf(w, "  exact: the sum over all %d models, whose evidences are closed forms\n", c.ModelsChecked)
		}
		switch {
		case c.Confirmed && c.Basis == vti.CollapsedChains:
			fmt.Fprintln(w, "  Annealed populations, which are independent of the chains, agree within their errors.")
		case c.Confirmed && c.Basis == vti.BirthsAndDeaths:
			fmt.Fprintln(w, "  Tempered chains of the same kind, with independent random numbers, agree within their errors.")
		case c.Confirmed && c.RHat != nil:
			fmt.Fprintln(w, "  The weights, which are independent of the chains, agree within their errors.")
		case c.Confirmed:
			fmt.Fprintln(w, "  Tempered chains, which are independent of the weights, agree within their errors.")
		}
		if r.Advice != "" {
			fmt.Fprintf(w, "  What would help: %s.\n", r.Advice)
		}
		if !c.Complete && c.RHat == nil {
			fmt.Fprint(w, "  Models that q never proposed were not checked.\n")
		}
		fmt.Fprintln(w)
	}
	if d := r.Diagnostics; d != nil {
		text := verdictText[d.Verdict]
		if d.Verdict != vti.Trusted {
			text = "the chains have not mixed: give them more --iterations and --burn-in, or --temperatures 16 where there are several modes."
		}
		console.PrintVerdict(w, d.Verdict, text, d.Reasons)
		fmt.Fprintln(w)
	}
}

// printPredictors prints a row per coefficient: the probability that its predictor is in the model,
// and its value on the scale of the table. It returns the words it used.
func printPredictors(w io.Writer, r *varsel.Result) (words []string) {
	certified := make([]varsel.Number, len(r.Inclusion))
	withQ := false
	for s, inclusion := range r.Inclusion {
		certified[s] = inclusion.Certified
		withQ = withQ || inclusion.Q != nil && math.Abs(float64(*inclusion.Q-inclusion.Certified)) > notableQ
	}
	if withQ {
		words = append(words, console.WordQ)
	}
	table := &console.Grid{}
	add := func(name, q, p string, numbers ...string) {
		cells := append([]string{name, p}, numbers...)
		if withQ {
			cells = slices.Insert(cells, 1, q)
		}
		for cells[len(cells)-1] == "" && len(cells) > 1 {
			cells = cells[:len(cells)-1]
		}
		table.Add(cells...)
	}
	row := func(name, q, p string, c varsel.Coefficient, zero varsel.Number, ifIn bool) {
		numbers := []string{console.Short(c.Mean), console.Short(c.SD), console.AveragedInterval(c.Q025, c.Q975, zero)}
		if ifIn {
			numbers = append(numbers, console.Short(c.MeanGivenIn), console.Interval(c.Q025GivenIn, c.Q975GivenIn))
		}
		add(name, q, p, numbers...)
	}
	fmt.Fprint(w, "Predictors: probability to be in the model; coefficient on the scale of the table, averaged over models")
	if slices.ContainsFunc(r.Coefficients, func(c varsel.Coefficient) bool { return c.Q025 == 0 && c.Q975 == 0 }) {
		fmt.Fprint(w, " [0 (p): zero with probability p]")
	}
	fmt.Fprintln(w, ", and if it is in")
	add("", "by q", "probability", "mean", "sd", "<95% interval", "|mean if in", "<95% interval")
	byPredictor := make(map[string][]varsel.Coefficient)
	var always, after []varsel.Coefficient
	for _, c := range r.Coefficients {
		if c.Predictor == "" && slices.ContainsFunc(r.Inclusion, func(i varsel.Inclusion) bool { return i.Name == c.Name }) {
			c.Predictor = c.Name // a run of an earlier version does not say so
		}
		switch {
		case c.Predictor != "":
			byPredictor[c.Predictor] = append(byPredictor[c.Predictor], c)
		case len(byPredictor) > 0:
			after = append(after, c)
		default:
			always = append(always, c)
		}
	}
	none := varsel.Number(math.NaN())
	for _, c := range always {
		row(c.Name, "", "always", c, none, false)
	}
	shown := mostProbable(certified)
	for _, s := range shown {
		inclusion := r.Inclusion[s]
		q, p := "", console.Probability(inclusion.Certified, inclusion.SE)
		if inclusion.Q != nil {
			q = console.Probability(*inclusion.Q, none)
		}
		columns := byPredictor[inclusion.Name]
		if len(columns) == 1 && columns[0].Name == inclusion.Name {
			row(inclusion.Name, q, p, columns[0], 1-inclusion.Certified, true)
			continue
		}
		add(inclusion.Name, q, p)
		for _, c := range columns {
			row("  "+c.Name, "", "", c, 1-inclusion.Certified, true)
		}
	}
	for _, c := range after {
		row(c.Name, "", "always", c, none, false)
	}
	table.Print(w)
	if more := len(r.Inclusion) - len(shown); more > 0 {
		fmt.Fprintf(w, "  and %s less probable, all in the files\n", english.Count(more, "predictor"))
	}
	fmt.Fprintln(w)
	return words
}

// mostProbable lists the predictors to print, whose probabilities are given: all of them in table
// order if they are few, else the most probable ones first.
func mostProbable(probabilities []varsel.Number) []int {
	order := make([]int, len(probabilities))
	for s := range order {
		order[s] = s
	}
	if len(order) <= fewPredictors {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probabilities[b], probabilities[a]) })
	return order[:shownPredictors]
}

// printModels prints the most probable models, and returns the words it used.
func printModels(w io.Writer, r *varsel.Result) (words []string) {
	models := r.Models[:min(shownModels, len(r.Models))]
	for len(models) > 1 && models[len(models)-1].Certified < leastShown {
		models = models[:len(models)-1]
	}
	fmt.Fprintln(w, "Most probable models")
	table := &console.Grid{}
	withEvidence := slices.ContainsFunc(models, func(m varsel.ModelReport) bool { return console.Finite(m.LogEvidence) })
	if withEvidence {
		table.Add("probability", console.WordEvidence, "<predictors")
		words = append(words, console.WordEvidence)
	} else {
		table.Add("probability", "<predictors")
	}
	for _, model := range models {
		cells := []string{console.Probability(model.Certified, model.SE)}
		if withEvidence {
			cells = append(cells, evidenceText(model.LogEvidence, model.LogEvidenceSE))
		}
		table.Add(append(cells, modelName(model.Code, r.Data.Predictors))...)
	}
	table.Print(w)
	fmt.Fprintln(w)
	return words
}

// leastShown is the probability below which models and states are not printed.
const leastShown = 1e-4

// evidenceText is a model's log evidence, which the draws of improbable models may not resolve.
func evidenceText(value, se *varsel.Number) string {
	if !console.Finite(value) {
		return "not resolved"
	}
	return console.PlusMinus(value, se, 3)
}

// modelName spells a model's code as its predictors.
func modelName(code string, predictors []string) string {
	members, err := varsel.ModelMembers(code, len(predictors))
	if err != nil {
		return code
	}
	if len(members) == 0 {
		return "(none)"
	}
	names := make([]string, len(members))
	for i, predictor := range members {
		names[i] = predictors[predictor]
	}
	return strings.Join(names, " + ")
}
