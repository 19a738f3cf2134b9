package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/varsel"
)

// shownModels is how many models are printed; the files have more.
const shownModels = 10

// Up to fewPredictors are printed one and all, of more the shownPredictors most probable.
const (
	fewPredictors   = 64
	shownPredictors = 30
)

// printSelection prints the answer of a selection for a reader.
func printSelection(w io.Writer, problem *varsel.Problem, r *varsel.Result) {
	printSelectionVerdict(w, r)
	printModelCheck(w, r.ModelCheck)
	printPredictors(w, problem, r)
	printModels(w, r)
	if r.LogEvidence != nil && math.IsNaN(float64(*r.LogEvidence)) {
		fmt.Fprintln(w, "log evidence of all models together: not resolved")
	} else if r.LogEvidence != nil {
		fmt.Fprintf(w, "log evidence of all models together: %s\n", plusMinus(r.LogEvidence, r.LogEvidSE, 3))
	}
	fmt.Fprintf(w, "%s in all", timeText(r.Seconds.Total))
	if r.Seconds.Train > 0 {
		fmt.Fprintf(w, ": %s training (%d steps), %s certifying", timeText(r.Seconds.Train), r.Steps, timeText(r.Seconds.Certify))
	}
	fmt.Fprintln(w)
	printFiles(w, r)
}

// Advice that goes with a verdict.
var verdictText = map[vti.Verdict]string{
	vti.Trusted:  "the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try --flow spline, or vti rjmcmc varsel.",
	vti.Failed:   "do not use these numbers. Try --flow spline, or vti rjmcmc varsel.",
}

// printSelectionVerdict prints the certificate's or the chains' verdict with its reasons.
func printSelectionVerdict(w io.Writer, r *varsel.Result) {
	if c := r.Certificate; c != nil {
		text := verdictText[c.Verdict]
		if c.RHat != nil && c.Verdict != vti.Trusted {
			text = "neither the weights nor the chains that check them are reliable. Try more --certify-draws, which make the chains longer."
		}
		printVerdict(w, c.Verdict, text, c.Reasons)
		switch {
		case c.RHat != nil:
			fmt.Fprintf(w, "  by tempered chains, which are more precise here than weights: R-hat %.3f (good up to 1.01), at least %.0f effective draws of %d\n",
				float64(*c.RHat), float64(c.ESS), c.Draws)
		case c.Basis == vti.ExactSum:
			fmt.Fprintf(w, "  exact: the sum over all %d models, whose evidences are closed forms\n", c.ModelsChecked)
		case c.KHat != nil:
			fmt.Fprintf(w, "  Pareto k̂ %.2f (good below 0.7), %.0f effective draws of %d, %d models checked\n", float64(*c.KHat), float64(c.ESS), c.Draws, c.ModelsChecked)
		}
		switch {
		case c.Confirmed && c.RHat != nil:
			fmt.Fprintln(w, "  The weights, which know nothing of the chains, agree within their errors.")
		case c.Confirmed:
			fmt.Fprintln(w, "  Tempered chains, which know nothing of the weights, agree within their errors.")
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
		printVerdict(w, d.Verdict, text, d.Reasons)
		fmt.Fprintf(w, "  worst R-hat %.3f (good up to 1.01), at least %.0f effective draws, %d chains of %d draws\n", float64(d.RHat), float64(d.ESS), d.Chains, d.Draws)
		if len(d.Exchanges) > 0 {
			fmt.Fprintf(w, "  %d temperatures: at least %.0f%% of exchanges accepted, %d round trips\n", len(d.Exchanges)+1, 100*float64(slices.Min(d.Exchanges)), d.RoundTrips)
		}
		fmt.Fprintln(w)
	}
}

// printPredictors prints a row per column of the design: the probability that its predictor is in
// the model, and its coefficient on the scale of the table.
func printPredictors(w io.Writer, problem *varsel.Problem, r *varsel.Result) {
	withQ := len(r.Inclusion) > 0 && r.Inclusion[0].Q != nil
	table := &grid{}
	add := func(name, q, certified string, rest ...string) {
		cells := append([]string{name, q, certified}, rest...)
		if !withQ {
			cells = append(cells[:1], cells[2:]...)
		}
		for len(cells) > 0 && cells[len(cells)-1] == "" {
			cells = cells[:len(cells)-1]
		}
		table.add(cells...)
	}
	fmt.Fprintln(w, "Predictors: probability to be in the model, and coefficient on the scale of the table")
	add("", "by q", "certified", "mean", "sd", "<95% interval", "|mean if in", "sd", "<95% interval")
	columns := r.Coefficients
	var noise *varsel.Coefficient
	if problem.UnknownScale() {
		noise, columns = &columns[len(columns)-1], columns[:len(columns)-1]
	}
	// of many predictors only those that some draw has
	coefficients := make(map[string]*varsel.Coefficient, len(columns))
	for i := range columns {
		coefficients[columns[i].Name] = &columns[i]
	}
	row := func(name, q, certified string, c *varsel.Coefficient, numbers int) {
		var cells []string
		if c != nil {
			cells = []string{
				short(c.Mean), short(c.SD), interval(c.Q025, c.Q975), short(c.MeanGivenIn), short(c.SDGivenIn), interval(c.Q025GivenIn, c.Q975GivenIn),
			}[:numbers]
		}
		add(name, q, certified, cells...)
	}
	design := problem.Design
	for _, j := range design.Always {
		row(design.Names[j], "", "always", coefficients[design.Names[j]], 3)
	}
	certified := make([]varsel.Number, len(r.Inclusion))
	for s, inclusion := range r.Inclusion {
		certified[s] = inclusion.Certified
	}
	shown := mostProbable(certified)
	for _, s := range shown {
		predictor, inclusion := design.Predictors[s], r.Inclusion[s]
		q, certified := "", plusMinus(&inclusion.Certified, &inclusion.SE, 4)
		if inclusion.Q != nil {
			q = fmt.Sprintf("%.4f", float64(*inclusion.Q))
		}
		names := make([]string, len(predictor.Coordinates))
		for i, j := range predictor.Coordinates {
			names[i] = design.Names[j]
		}
		if len(names) == 1 {
			row(predictor.Name, q, certified, coefficients[names[0]], 6)
			continue
		}
		add(predictor.Name, q, certified)
		for _, name := range names {
			row("  "+name, "", "", coefficients[name], 6)
		}
	}
	if noise != nil {
		row(noise.Name, "", "always", noise, 3)
	}
	table.print(w)
	if more := len(r.Inclusion) - len(shown); more > 0 {
		fmt.Fprintf(w, "  and %d predictors that are less probable, of which the files hold all\n", more)
	}
	fmt.Fprintln(w)
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

// printModels prints the most probable models.
func printModels(w io.Writer, r *varsel.Result) {
	models := r.Models[:min(shownModels, len(r.Models))]
	fmt.Fprintln(w, "Most probable models")
	table := &grid{}
	withEvidence := slices.ContainsFunc(models, func(m varsel.ModelReport) bool { return finite(m.LogEvidence) })
	if withEvidence {
		table.add("probability", "log evidence", "<predictors")
	} else {
		table.add("probability", "<predictors")
	}
	for _, model := range models {
		cells := []string{plusMinus(&model.Certified, &model.SE, 4)}
		if withEvidence {
			cells = append(cells, evidenceText(model.LogEvidence, model.LogEvidenceSE))
		}
		table.add(append(cells, modelName(model.Code, r.Data.Predictors))...)
	}
	table.print(w)
	fmt.Fprintln(w)
}

// evidenceText is a model's log evidence, which the draws of improbable models may not resolve.
func evidenceText(value, se *varsel.Number) string {
	if !finite(value) {
		return "not resolved"
	}
	return plusMinus(value, se, 3)
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

// printFiles says where everything is.
func printFiles(w io.Writer, r *varsel.Result) {
	fmt.Fprintf(w, "\n%s holds\n", r.RunDir)
	files := &grid{}
	files.add(varsel.RecordFile, "<the settings: what was asked for")
	files.add(varsel.ResultFile, "all of this and more, as --json prints it")
	files.add("*.csv", "the tables: inclusion, models, coefficients")
	if r.Certificate != nil || r.Diagnostics != nil {
		files.add(varsel.DrawsParquet, "posterior draws; "+varsel.DrawsCSV+" has the same as CmdStan writes them")
	}
	if r.Certificate != nil {
		files.add(varsel.PosteriorFile, "the trained approximation")
	}
	files.print(w)
}

// short writes a number with four digits; "" when there is none.
func short(n varsel.Number) string {
	if !finite(&n) {
		return ""
	}
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.4g", float64(n))
}

func interval(low, high varsel.Number) string {
	if !finite(&low) || !finite(&high) {
		return ""
	}
	return fmt.Sprintf("[%.4g, %.4g]", float64(low), float64(high))
}

// plusMinus writes a number with its standard error, both with the given decimals; an exact number
// is alone.
func plusMinus(value, se *varsel.Number, decimals int) string {
	if !finite(value) {
		return "?"
	}
	text := fmt.Sprintf("%.*f", decimals, float64(*value))
	if finite(se) && *se != 0 {
		text += fmt.Sprintf(" ± %.*f", decimals, float64(*se))
	}
	return text
}

func finite(n *varsel.Number) bool {
	return n != nil && !math.IsNaN(float64(*n)) && !math.IsInf(float64(*n), 0)
}
