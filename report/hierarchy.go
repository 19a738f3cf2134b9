package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/verdict"
)

// hierarchy is the result of a hierarchical regression, with what its page needs.
type hierarchy struct {
	*source
	result *regression.Result
}

// regressionArticle makes the article of a hierarchical regression.
func (s *source) regressionArticle(result *regression.Result) *article {
	v := &hierarchy{s, result}
	var level *verdict.Verdict
	var reasons []string
	if c := result.Certificate; c != nil {
		level, reasons = &c.Verdict, c.Reasons
	}
	var groups []string
	for _, g := range v.groupings() {
		groups = append(groups, counted(g.Levels, "level")+" of "+g.Name)
	}
	within := ""
	if len(groups) > 0 {
		within = " in " + list(groups)
	}
	a := &article{
		Title:    v.title(),
		Subtitle: fmt.Sprintf("%s, %s%s; %s", s.table(), counted(result.Data.Rows, "row"), within, result.Data.Formula),
		Answer:   v.answer(),
		Marks:    []badge{computation(level, reasons), model(result.ModelCheck)},
		Next: next(level, effort(result.Advice, "Compute with more effort (--effort auto, --steps, --certify-draws), or fit another family (--family) and let vti compare say whether the two agree."),
			result.ModelCheck, v.otherwise()),
	}
	if level == nil {
		a.Marks[0] = badge{Kind: "fair", Name: computationBadge, Word: "not checked", Text: "The answer of a family fitted before was not weighed against this table."}
	}
	a.rest = func(ctx context.Context) (list []section, err error) {
		if len(result.Terms) > 0 {
			list = append(list, v.terms())
		}
		list = append(list, v.population(ctx))
		if len(v.varying()) > 0 {
			list = append(list, v.groups())
		}
		predictions, err := s.predictions(ctx, v.response())
		return append(list, v.checks(), predictions, v.earned(computation(level, reasons)), s.provenance()), err
	}
	return a
}

// response is the name of what is explained.
func (v *hierarchy) response() string {
	if v.result.Data.Response != "" {
		return v.result.Data.Response
	}
	before, _, _ := strings.Cut(v.result.Data.Formula, "~")
	return strings.TrimSpace(before)
}

func (v *hierarchy) title() string {
	var groups []string
	for _, g := range v.groupings() {
		groups = append(groups, g.Name)
	}
	if len(groups) == 0 {
		return "What explains " + v.response() + "?"
	}
	return fmt.Sprintf("What explains %s, and how does it vary by %s?", v.response(), list(groups))
}

// isSlope reports whether a summary is of an effect of a column, or of one on the log odds of a
// category.
func isSlope(name string) bool {
	return name != "(Intercept)" && !strings.HasSuffix(name, ":(Intercept)")
}

// columnOf is the column that an effect is of: the name without the category whose log odds it is
// on.
func (v *hierarchy) columnOf(effect string) string {
	for _, category := range v.result.Categories {
		if column, ok := strings.CutPrefix(effect, category+":"); ok {
			return column
		}
	}
	return effect
}

// answer says what population effects are, how much varies by groups, and which terms there are.
func (v *hierarchy) answer() []string {
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
		third = fmt.Sprintf("Of the %s, the most probable has probability %s; term by term, %s.", counted(len(v.result.Models), "model"), picture.Probability(float64(best.Certified)), list(states))
	}
	return []string{first, second, third}
}

// populationAnswer is a sentence on the effects of columns: how much more one unit of each makes,
// or a level of a factor beside the others, where the sign is known.
func (v *hierarchy) populationAnswer() string {
	isLevel := make(map[string]bool)
	for _, c := range v.result.Data.Columns {
		_, _, isLevel[c.Name] = levelOf(c)
	}
	var steps, units, levels, open []string
	for _, e := range v.result.Effects {
		text := fmt.Sprintf("%s (%s, 95%% interval %s to %s)", e.Name, picture.Number(float64(e.Mean)), picture.Number(float64(e.Q025)), picture.Number(float64(e.Q975)))
		switch {
		case !isSlope(e.Name), v.curveOf(e.Name) != nil: // a curve has no one slope
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
	if v.curvesAnswer() != "" { // which says all
		return ""
	}
	return "The formula has no effects of columns on the whole population."
}

// readable is the name of a standard deviation in words: that of a term by a grouping.
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

// otherwise is the advice that concerns neither the computation nor the model.
func (v *hierarchy) otherwise() string {
	if len(v.result.Terms) > 0 {
		return "Report effects averaged over models, with the probabilities of the terms."
	}
	return "Report effects with their intervals; --select asks which terms the table supports, and vti predict predicts rows of known and of new groups."
}

// terms is the section of a selection.
func (v *hierarchy) terms() section {
	part := section{ID: "terms", Title: "Which terms the table supports", Lead: "Each term is absent, the same for all groups, or varying by group; bars are probabilities given the table."}
	if len(v.curves()) > 0 {
		part.Lead = "Each term is absent, the same for all groups, or varying by group, and the effect of a number in s() a line or a curve; bars are probabilities given the table."
	}
	var rows []picture.Row
	t := table{Caption: "Terms", Columns: []column{{"term", false}, {"state", false}, {"probability", true}, {"standard error", true}}}
	var said []string
	for _, one := range v.result.Terms {
		p, se := float64(one.Prob), float64(one.SE)
		rows = append(rows, picture.Row{Label: one.Term + ": " + one.State, From: math.NaN(), Note: picture.Probability(p), Intervals: []picture.Interval{{Mid: p, Low: math.Max(0, p-2*se), High: math.Min(1, p+2*se), Ink: picture.First}}})
		t.Rows = append(t.Rows, []cell{words(one.Term), words(one.State), share(p), value(se)})
		said = append(said, fmt.Sprintf("%s %s %s", one.Term, one.State, picture.Probability(p)))
	}
	p := picture.Rows("terms", "Probabilities of terms", picture.Column, rows, picture.RowsOptions{Axis: "probability", Bars: true, Min: 0, Max: 1, Reference: 0.5})
	p.Text = "Bars of " + strings.Join(said, ", ") + "."
	part.Pictures = []*picture.Picture{p}
	models := table{Caption: "Models", Open: true, Columns: []column{{"formula", false}, {"probability", true}, {"standard error", true}, {"log evidence", true}}}
	for _, m := range v.result.Models[:min(len(v.result.Models), 100)] {
		logEvidence := cell{Text: "–"}
		if m.LogEvidence != nil {
			logEvidence = cell{picture.Digits(float64(*m.LogEvidence), 7), sortKey(float64(*m.LogEvidence))}
		}
		models.Rows = append(models.Rows, []cell{words(m.Formula), share(float64(m.Certified)), value(float64(m.SE)), logEvidence})
	}
	part.Tables = []table{models, t}
	return part
}

// population is the section of population effects and standard deviations.
func (v *hierarchy) population(ctx context.Context) section {
	part := section{ID: "population", Title: "Population effects and standard deviations", Lead: "Means with intervals that hold 95% of the posterior, in the units of the table (on the scale of the link for counts and yes/no)."}
	add := func(name, title, axis string, list []regression.Summary, reference float64) {
		var rows []picture.Row
		for _, s := range list {
			rows = append(rows, picture.Row{Label: s.Name, From: math.NaN(), Note: picture.Number(float64(s.Mean)), Intervals: []picture.Interval{{Mid: float64(s.Mean), Low: float64(s.Q025), High: float64(s.Q975), Ink: picture.First,
				Hint: fmt.Sprintf("%s: %s, 95%%: %s to %s", s.Name, picture.Number(float64(s.Mean)), picture.Number(float64(s.Q025)), picture.Number(float64(s.Q975)))}}})
		}
		if len(rows) == 0 {
			return
		}
		p := picture.Rows(name, title, picture.Column, rows, picture.RowsOptions{Axis: axis, Reference: reference})
		p.Text = fmt.Sprintf("Means and 95%% intervals of %s.", counted(len(rows), "number"))
		part.Pictures = append(part.Pictures, p)
	}
	var intercept, slopes, sds, correlations []regression.Summary
	for _, e := range v.result.Effects {
		if isSlope(e.Name) {
			slopes = append(slopes, e)
		} else {
			intercept = append(intercept, e)
		}
	}
	for _, s := range v.result.SDs {
		if strings.HasPrefix(s.Name, "cor(") {
			correlations = append(correlations, s)
		} else {
			sds = append(sds, s)
		}
	}
	if len(slopes) > 0 {
		add("effects", "Effects of columns", "change of "+v.predicted()+" per unit", slopes, 0)
	} else {
		add("intercept", "Intercept", v.response(), intercept, math.NaN())
	}
	add("shares", "Shares of the steps of monotonic effects", "share", v.result.Shares, 0)
	add("cuts", "Cut points", "linear predictor", v.result.Cuts, math.NaN())
	add("sds", "Standard deviations", "standard deviation", sds, 0)
	add("correlations", "Correlations of varying effects", "correlation", correlations, 0)
	conditional, notes := v.conditional(ctx)
	part.Pictures, part.Notes = append(part.Pictures, conditional...), append(part.Notes, notes...)
	part.Pictures = append(part.Pictures, v.densities()...)
	t := table{Caption: "All numbers", Open: true, Columns: []column{{"name", false}, {"mean", true}, {"sd", true}, {"95% interval", false}}}
	for _, s := range slices.Concat(v.result.Effects, v.result.Shares, v.result.SDs, v.result.Cuts) {
		t.Rows = append(t.Rows, []cell{words(s.Name), value(float64(s.Mean)), value(float64(s.SD)), words(interval(float64(s.Q025), float64(s.Q975)))})
	}
	part.Tables = []table{t}
	return part
}

// checks is the section of the model check, with its statistics.
func (v *hierarchy) checks() section {
	part := v.checked(v.response(), v.result.ModelCheck)
	if len(v.result.Checks) > 0 {
		t := table{Caption: "Statistics of the response beside those of replicated tables (p near 0 or 1: the model does not fit)", Columns: []column{{"statistic", false}, {"observed", true}, {"replicated", true}, {"sd", true}, {"p", true}}}
		for _, c := range v.result.Checks {
			t.Rows = append(t.Rows, []cell{words(c.Statistic), value(float64(c.Observed)), value(float64(c.Mean)), value(float64(c.SD)), share(float64(c.P))})
		}
		part.Tables = append(part.Tables, t)
	}
	part.Notes = append(part.Notes, v.result.Notes...)
	return part
}

// earned is how the verdict was earned.
func (v *hierarchy) earned(b badge) section {
	facts := table{Caption: "What the verdict rests on", Open: true, Columns: []column{{"what", false}, {"value", false}}}
	add := func(name, text string) { facts.Rows = append(facts.Rows, []cell{words(name), words(text)}) }
	r := v.result
	add("family of approximations", r.Family)
	if r.LogEvidence != nil {
		se := 0.0
		if r.LogEvidenceSE != nil {
			se = float64(*r.LogEvidenceSE)
		}
		add("log evidence (nats)", evidence(float64(*r.LogEvidence), se))
	}
	if c := r.Certificate; c != nil {
		if k := float64(c.KHat); !math.IsNaN(k) {
			add("Pareto k̂ of the weights (up to 0.5 is reliable, of very many draws 0.7)", picture.Number(k))
		}
		if c.RHat != nil {
			add("R-hat of the chains (up to 1.01 is converged)", picture.Digits(float64(*c.RHat), 4))
		}
		add("effective draws behind the summaries", grouped(int(c.ESS)))
		add("draws of the weights", grouped(c.Draws))
		add("models checked", grouped(c.ModelsChecked))
	}
	var probabilities, kHats []float64
	for _, m := range r.Models {
		if m.KHat != nil {
			probabilities, kHats = append(probabilities, float64(m.Certified)), append(kHats, float64(*m.KHat))
		}
	}
	return earned(b, facts, v.training(), weights(probabilities, kHats))
}

// byTerm are the levels of one term of one grouping, lowest first.
type byTerm struct {
	group, term string
	levels      []regression.LevelSummary
}

// varying groups the effects of levels.
func (v *hierarchy) varying() (list []byTerm) {
	for _, one := range v.result.Varying {
		if one.Smooth {
			continue // coefficients of a basis say nothing by themselves
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
