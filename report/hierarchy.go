package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// hierarchy holds the result of a hierarchical regression and the data that its page shows.
type hierarchy struct {
	*source
	result *regression.Result
}

// The meaning of each verdict on a regression, with advice: regressionMeaning for the family that
// integrates the effects of groups out, and familyMeaning for variational families that learn these
// effects. failedInference replaces the text of the verdict Failed if the answer comes from a
// network that was trained beforehand.
var (
	regressionMeaning = [...]string{
		vti.Trusted:  "the numbers below hold to within their Monte Carlo errors.",
		vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try more --certify-draws.",
		vti.Failed:   "do not use these numbers. Try a simpler formula.",
	}
	familyMeaning = [...]string{
		vti.Trusted:  regressionMeaning[vti.Trusted],
		vti.Doubtful: "the answer may be right, but the evidence for it is weak. Try --family marginal, which integrates effects out, or more --certify-draws.",
		vti.Failed:   "do not use these numbers. Try --family marginal, which integrates effects out.",
	}
)

const failedInference = "do not use these numbers. Try vti hbm: the table may be unlike those of the training."

// regressionText returns the meaning of the verdict on the answer of a regression, with advice.
func regressionText(r *regression.Result) string {
	verdict := r.Certificate.Verdict
	switch {
	case r.Command == regression.InferCommand && verdict == vti.Failed:
		return failedInference
	case r.Command != regression.InferCommand && r.Family != "" && r.Family != regression.MarginalFamily:
		return familyMeaning[verdict]
	}
	return regressionMeaning[verdict]
}

// RegressionPage is the page of hierarchical regressions.
var RegressionPage = Page{show: pageOf(regressionDocument), Predictor: func(dir string) (Predictor, error) { return regression.OpenRun(dir) }}

func regressionDocument(s *source, r *regression.Result) *document.Document {
	v := &hierarchy{s, r}
	groups := apply.To(v.groupings(), func(g regression.GroupSummary) string { return document.Counted(g.Levels, "level") + " of " + g.Name })
	within := ""
	if len(groups) > 0 {
		within = " in " + list(groups)
	}
	d := &document.Document{
		Title:    v.title(),
		Subtitle: fmt.Sprintf("%s, %s%s; %s", s.table(), document.Counted(r.Data.Rows, "row"), within, r.Data.Formula),
		Answer:   v.sentences(),
	}
	if len(r.Terms) > 0 {
		d.Sections = append(d.Sections, v.terms())
	}
	d.Sections = append(d.Sections, v.population(), v.groups(), v.checks(), s.predictions(v.response()))
	return s.answer(d, v.computation(), r.ModelCheck, v.otherwise())
}

func (v *hierarchy) computation() *computation {
	r, c := v.result, v.result.Certificate
	found := &computation{level: &c.Verdict, reasons: c.Reasons, text: regressionText(r), help: r.Advice, words: []string{document.WordDraws, document.WordEvidence}}
	evidence := "Log evidence"
	if len(r.Terms) > 0 {
		evidence += " of all models together"
	}
	evidence += ": " + document.PlusMinus(r.LogEvidence, r.LogEvidenceSE, 3)
	if r.ELBO != nil {
		evidence += "; the loss of training was " + document.Short(*r.LogEvidence-*r.ELBO) + " away"
	}
	work := "Computation: "
	if c.RHat != nil {
		found.basis = []string{"by tempered chains, as weights were not reliable"}
		work += fmt.Sprintf("R-hat %.3f", float64(*c.RHat))
		found.words = append(found.words, document.WordRHat)
	} else {
		work += fmt.Sprintf("k̂ %.2f", float64(c.KHat))
		found.words = append(found.words, document.WordKHat)
	}
	work += fmt.Sprintf(", %.0f effective draws of %d", float64(c.ESS), c.Draws)
	if len(r.Terms) > 0 && c.RHat == nil {
		work += fmt.Sprintf(", %s checked", english.Count(c.ModelsChecked, "model"))
	}
	work += fmt.Sprintf(", so that a mean is good to %.2g of its sd; %s", 1/math.Sqrt(math.Max(1, float64(c.ESS))), document.TimeText(r.Seconds.Total))
	switch {
	case r.Integration == regression.ClosedForm:
		work += ", nothing was trained: effects are integrated out in closed form."
	case r.Integration == regression.Laplace:
		work += ", nothing was trained: effects are drawn around their modes and weighted."
	case r.Command == regression.InferCommand:
		work += fmt.Sprintf(", with %d weights trained in %d steps on simulated tables.", r.Weights, r.Steps)
	default:
		work += fmt.Sprintf(" (%s training %d weights in %d steps, %s certifying).", document.TimeText(r.Seconds.Train), r.Weights, r.Steps, document.TimeText(r.Seconds.Certify))
	}
	found.facts = append(found.facts, apply.To(r.Notes, func(note string) string { return "note: " + note })...)
	found.facts = append(found.facts, evidence+".", work)
	found.draw = func(part *document.Section) {
		part.Place(weights(len(r.Models), func(k int) (p regression.Figure, kHat *regression.Figure) {
			return r.Models[k].Certified, r.Models[k].KHat
		}))
	}
	return found
}

func (v *hierarchy) response() string {
	if v.result.Data.Response != "" {
		return v.result.Data.Response
	}
	before, _, _ := strings.Cut(v.result.Data.Formula, "~")
	return strings.TrimSpace(before)
}

func (v *hierarchy) title() string {
	groups := apply.To(v.groupings(), func(g regression.GroupSummary) string { return g.Name })
	if len(groups) == 0 {
		return "What explains " + v.response() + "?"
	}
	return fmt.Sprintf("What explains %s, and how does it vary by %s?", v.response(), list(groups))
}

// isSlope reports whether a summary with this name is the effect of a column, on the response or on
// the log odds of a category, and not an intercept.
func isSlope(name string) bool {
	return name != "(Intercept)" && !strings.HasSuffix(name, ":(Intercept)")
}

// columnOf returns the column of an effect: the name of the effect without the category whose log
// odds it changes.
func (v *hierarchy) columnOf(effect string) string {
	for _, category := range v.result.Categories {
		if column, ok := strings.CutPrefix(effect, category+":"); ok {
			return column
		}
	}
	return effect
}

// sentences returns sentences on the population effects, the variation between groups, and the
// selected terms.
func (v *hierarchy) sentences() []string {
	first := strings.TrimSpace(v.populationAnswer() + " " + v.curvesAnswer())
	var parts []string
	for _, sd := range v.result.SDs {
		if strings.HasPrefix(sd.Name, "sd(") && !v.isBend(sd.Name) {
			parts = append(parts, fmt.Sprintf("%s (%s, %s to %s)", readable(sd.Name), picture.Number(float64(sd.Mean)), picture.Number(float64(sd.Q025)), picture.Number(float64(sd.Q975))))
		}
	}
	second := "Nothing varies by group."
	if len(parts) > 0 {
		second = "Groups differ by standard deviations of " + list(parts) + "."
	}
	third := "The model was given; no term was chosen by the table (--select does that)."
	if len(v.result.Models) > 0 {
		best := v.result.Models[0]
		var states []string
		for _, t := range v.result.Terms {
			if float64(t.Prob) > 0.5 {
				term := t.Term
				if !isSlope(term) {
					term = "the level"
				}
				states = append(states, fmt.Sprintf("%s is %s (%s)", term, t.State, picture.Probability(float64(t.Prob))))
			}
		}
		third = fmt.Sprintf("Of the %s, the most probable has probability %s; term by term, %s.", document.Counted(len(v.result.Models), "model"), picture.Probability(float64(best.Certified)), list(states))
	}
	return []string{first, second, third}
}

// populationAnswer returns a sentence on the effects of columns whose sign is known: by how much
// one unit of a numeric column changes the response, or how much a level of a factor differs from
// the reference level.
func (v *hierarchy) populationAnswer() string {
	isLevel := make(map[string]bool)
	for _, c := range v.result.Data.Columns {
		isLevel[c.Name] = strings.Contains(c.Name, "=") && c.Min == 0 && c.Max == 1
	}
	var steps, units, levels, open []string
	for _, e := range v.result.Effects {
		text := fmt.Sprintf("%s (%s, 95%% interval %s to %s)", e.Name, picture.Number(float64(e.Mean)), picture.Number(float64(e.Q025)), picture.Number(float64(e.Q975)))
		switch {
		case !isSlope(e.Name), v.isCurve(e.Name): // the effect is an intercept or a curve
		case !(e.Q025 > 0 || e.Q975 < 0):
			open = append(open, text)
		case v.hasSteps(e.Name):
			steps = append(steps, text)
		case isLevel[v.columnOf(e.Name)]:
			levels = append(levels, text)
		default:
			units = append(units, text)
		}
	}
	var clear []string
	if len(steps) > 0 {
		clear = append(clear, "changes, a step on average, with "+list(steps))
	}
	if len(units) > 0 {
		clear = append(clear, "changes with one more unit of "+list(units))
	}
	if len(levels) > 0 {
		clear = append(clear, "is different where "+list(levels))
	}
	text := "Across the population, " + v.predicted() + " " + strings.Join(clear, ", and ")
	switch {
	case len(clear) > 0 && len(open) > 0:
		return text + "; the sign of the effect of " + list(open) + " is not known."
	case len(clear) > 0:
		return text + "."
	case len(open) > 0:
		return "Across the population, not even the sign of the effect of " + list(open) + " is known."
	}
	if v.curvesAnswer() != "" { // the sentence of curvesAnswer describes the effects
		return ""
	}
	return "The formula has no effects of columns on the whole population."
}

// readable returns the name of a standard deviation in words, as in "x by school".
func readable(name string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(name, "sd("), ")")
	term, group, _ := strings.Cut(inner, " | ")
	if term == "(Intercept)" {
		term = "the level"
	} else {
		term = "the effect of " + term
	}
	return term + " by " + group
}

func (v *hierarchy) otherwise() string {
	if len(v.result.Terms) > 0 {
		return "Report effects averaged over models, with the probabilities of the terms."
	}
	return "Report effects with their intervals; --select asks which terms the table supports, and vti predict predicts rows of known and of new groups."
}

// terms returns the section on the selection of terms of the formula.
func (v *hierarchy) terms() *document.Section {
	part := &document.Section{ID: "terms", Title: "Which terms the table supports", Lead: "Each term is absent, the same for all groups, or varying by group; bars are probabilities given the table."}
	if len(v.curves()) > 0 {
		part.Lead = "Each term is absent, the same for all groups, or varying by group, and the effect of a number in s() a line or a curve; bars are probabilities given the table."
	}
	var rows []picture.Row
	var said []string
	t := document.NewTable("Terms: probability of each state", "<~term", "<state", "probability").Opened()
	for _, one := range v.result.Terms {
		t.Add(one.Term, one.State, document.Probability(one.Prob, one.SE))
		rows = append(rows, probabilityRow(one.Term+": "+one.State, one.Prob, one.SE))
		said = append(said, fmt.Sprintf("%s %s %s", one.Term, one.State, picture.Probability(float64(one.Prob))))
	}
	models := document.NewTable("Most probable models", "probability", "log evidence", "<formula").Opened()
	const most = 100
	for k, m := range v.result.Models[:min(len(v.result.Models), most)] {
		models.Add(document.Probability(m.Certified, m.SE), document.PlusMinus(m.LogEvidence, m.LogEvidenceSE, 3), m.Formula)
		if k == 0 || m.Certified >= leastModel && k < printedModels {
			models.Printed = k + 1
		}
	}
	part.Tables = []*document.Table{t, models}
	part.Draw = func(_ context.Context, part *document.Section) {
		part.Place(rowsPicture("terms", "Probabilities of terms", rows, picture.RowsOptions{Axis: "probability", Bars: true, Min: 0, Max: 1, Reference: 0.5}).
			Described("Bars of %s.", strings.Join(said, ", ")))
	}
	return part
}

// population returns the section on population effects and standard deviations.
func (v *hierarchy) population() *document.Section {
	r := v.result
	averaged, odds, spread := "", "", ""
	if len(r.Terms) > 0 {
		averaged = ", averaged over models (0 where absent)"
	}
	if r.Categories != nil {
		odds, spread = " on log odds against "+r.Categories[0], " of the log odds of any two categories"
	}
	return &document.Section{ID: "population", Title: "Population effects and standard deviations",
		Lead: "Means with intervals that hold 95% of the posterior, in the units of the table (on the scale of the link for counts and yes/no).",
		Tables: []*document.Table{
			summariesTable("Population effects"+odds+averaged, r.Effects),
			summariesTable("Standard deviations"+spread+averaged, r.SDs),
			summariesTable("Shares of the steps of monotonic effects"+averaged, r.Shares),
			summariesTable("Cut points", r.Cuts),
		},
		Draw: v.drawPopulation}
}

func summariesTable(caption string, list []regression.Summary) *document.Table {
	t := document.NewTable(caption, "<~name", "mean", "sd", "<95% interval").Opened()
	for _, s := range list {
		t.Add(s.Name, moment(s.Mean), moment(s.SD), document.Interval(s.Q025, s.Q975))
	}
	return t
}

// moment formats a mean or a standard deviation, NaN if the draws do not determine it.
func moment(x regression.Figure) string {
	if math.IsNaN(float64(x)) {
		return "not resolved"
	}
	return document.Short(x)
}

// drawPopulation draws the population effects and standard deviations with their intervals, the
// expectations along predictors, and posterior densities.
func (v *hierarchy) drawPopulation(ctx context.Context, part *document.Section) {
	add := func(name, title, axis string, list []regression.Summary, reference float64) {
		rows := apply.To(list, func(s regression.Summary) picture.Row { return intervalRow(s.Name, s.Mean, s.Q025, s.Q975, 95) })
		part.Place(rowsPicture(name, title, rows, picture.RowsOptions{Axis: axis, Reference: reference}).
			Described("Means and 95%% intervals of %s.", document.Counted(len(rows), "number")))
	}
	slope := func(s regression.Summary) bool { return isSlope(s.Name) }
	correlation := func(s regression.Summary) bool { return strings.HasPrefix(s.Name, "cor(") }
	if slopes := apply.Keep(v.result.Effects, slope); len(slopes) > 0 {
		add("effects", "Effects of columns", "change of "+v.predicted()+" per unit", slopes, 0)
	} else {
		add("intercept", "Intercept", v.response(), v.result.Effects, math.NaN())
	}
	add("shares", "Shares of the steps of monotonic effects", "share", v.result.Shares, 0)
	add("cuts", "Cut points", "linear predictor", v.result.Cuts, math.NaN())
	add("sds", "Standard deviations", "standard deviation", slices.DeleteFunc(slices.Clone(v.result.SDs), correlation), 0)
	add("correlations", "Correlations of varying effects", "correlation", apply.Keep(v.result.SDs, correlation), 0)
	v.alongPredictors(ctx, part)
	v.densities(part)
}

// checks returns the section on the model check, with a table of its statistics.
func (v *hierarchy) checks() *document.Section {
	t := document.NewTable("Statistics of the response beside those of replicated tables (p near 0 or 1: the model does not fit)", "<statistic", "observed", "replicated", "sd", "p")
	t.OnPage = true
	for _, c := range v.result.Checks {
		t.Add(c.Statistic, document.Short(c.Observed), document.Short(c.Mean), document.Short(c.SD), document.Probability(c.P, 0))
	}
	return v.checked(v.response(), v.result.ModelCheck, t)
}

// byTerm holds the effects of the levels of one grouping on one term, the largest mean first.
type byTerm struct {
	group, term string
	levels      []regression.LevelSummary
}

// varying returns the effects of levels, grouped by term and grouping.
func (v *hierarchy) varying() (list []byTerm) {
	for _, one := range v.result.Varying {
		if one.Smooth {
			continue // a single coefficient of the basis of a smooth function has no meaning
		}
		if n := len(list); n == 0 || list[n-1].group != one.Group || list[n-1].term != one.Term {
			list = append(list, byTerm{group: one.Group, term: one.Term})
		}
		last := &list[len(list)-1]
		last.levels = append(last.levels, one)
	}
	for _, one := range list {
		slices.SortStableFunc(one.levels, func(a, b regression.LevelSummary) int {
			return cmp.Compare(float64(b.Mean), float64(a.Mean))
		})
	}
	return list
}
