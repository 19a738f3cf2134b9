package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/varsel"
)

// selection holds the result of a run of varsel, exact or rjmcmc varsel, and the data of its
// pictures.
type selection struct {
	*source
	result *varsel.Result
	target string
	order  []int          // indices of the predictors, the most probable first
	places map[string]int // indices of predictors by name
}

// SelectionPage is the page of selections of variables.
var SelectionPage = Page{show: pageOf(selectionDocument), Predictor: func(dir string) (Predictor, error) { return varsel.OpenRun(dir) }}

func selectionDocument(s *source, r *varsel.Result) *document.Document {
	v := &selection{source: s, result: r, target: s.settings["design.target"], places: rank.Places(r.Data.Predictors)}
	v.order = rank.Order(len(r.Inclusion), func(a, b int) int { return cmp.Compare(v.probability(b), v.probability(a)) })
	prior := s.settings["model.prior"]
	if r.InclusionPrior != "" {
		prior = "by the inclusion probabilities of " + r.InclusionPrior
	}
	d := &document.Document{
		Title:    fmt.Sprintf("What explains %s?", v.target),
		Subtitle: fmt.Sprintf("%s, %s; %s to select from; %s likelihood, prior over models %s", s.table(), document.Counted(r.Data.Rows, "row"), document.Counted(len(r.Data.Predictors), "predictor"), s.settings["model.likelihood"], prior),
		Answer:   v.sentences(),
		Sections: []*document.Section{v.predictors(), v.sets(), v.coefficients(), v.models(), v.pairs(), s.checked(v.target, r.ModelCheck), s.predictions(v.target)},
	}
	return s.answer(d, v.computation(), r.ModelCheck, v.otherwise())
}

func (v *selection) probability(k int) float64 { return float64(v.result.Inclusion[k].Certified) }

// Limits of the inclusion probabilities for the words that describe them. Kass and Raftery (1995)
// call the evidence for one of two hypotheses strong from a probability of 0.95 and decisive from
// 0.99, if both have the same prior probability. For a probability between the last two limits, the
// table does not decide whether a predictor matters.
const (
	certain  = 0.99
	probable = 0.9
	doubted  = 0.1
)

// sentences returns the answer in sentences.
func (v *selection) sentences() []string {
	groups := make([][]string, 4)
	for _, k := range v.order {
		name := v.result.Inclusion[k].Name
		switch p := v.probability(k); {
		case p >= certain:
			groups[0] = append(groups[0], name)
		case p >= probable:
			groups[1] = append(groups[1], fmt.Sprintf("%s (%s)", name, picture.Probability(p)))
		case p > doubted:
			groups[2] = append(groups[2], fmt.Sprintf("%s (%s)", name, picture.Probability(p)))
		default:
			groups[3] = append(groups[3], name)
		}
	}
	var parts []string
	if n := len(groups[0]); n > 0 {
		parts = append(parts, fmt.Sprintf("%s %s for %s (probability above %g)", list(groups[0]), english.Form(n, "matters", "matter"), v.target, certain))
	}
	switch n := len(groups[1]); {
	case n > 0 && len(parts) > 0:
		parts = append(parts, fmt.Sprintf("%s probably %s", list(groups[1]), english.Form(n, "does", "do")))
	case n > 0:
		parts = append(parts, fmt.Sprintf("%s probably %s for %s", list(groups[1]), english.Form(n, "matters", "matter"), v.target))
	}
	if n := len(groups[2]); n > 0 {
		parts = append(parts, fmt.Sprintf("about %s the table does not decide", list(groups[2])))
	}
	if n := len(groups[3]); n > 0 {
		if len(groups[0])+len(groups[1]) == 0 {
			parts = append(parts, fmt.Sprintf("nothing speaks for %s (below %g)", list(groups[3]), doubted))
		} else {
			parts = append(parts, fmt.Sprintf("%s probably %s not (below %g)", list(groups[3]), english.Form(n, "does", "do"), doubted))
		}
	}
	first := strings.Join(parts, "; ")
	if len(groups[0])+len(groups[1]) == 0 { // else it begins with the name of a column
		first = capital(first)
	}
	return append([]string{first + ".", v.modelSentence()}, v.effectSentence()...)
}

// modelSentence returns a sentence on how much more probable the best model is than others.
func (v *selection) modelSentence() string {
	if len(v.result.Models) == 0 {
		return ""
	}
	best := v.result.Models[0]
	p := float64(best.Certified)
	names := v.memberNames(best.Code)
	text := "with " + list(names)
	if len(names) == 0 {
		text = "without any predictor"
	}
	low, high := v.likelySizes()
	sizes := fmt.Sprintf("%d to %d predictors", low, high)
	if low == high {
		sizes = document.Counted(low, "predictor")
	}
	if p >= 0.5 {
		return fmt.Sprintf("One model stands out, the one %s: its probability is %s; models of %s hold 90%% of the probability.", text, picture.Probability(p), sizes)
	}
	return fmt.Sprintf("No single model stands out: the most probable one, %s, has probability %s, and models of %s hold 90%% of the probability.", text, picture.Probability(p), sizes)
}

// effectSentence describes the clearest effect among the predictors that are probably in the model:
// the coefficient whose mean is the largest number of posterior standard deviations from zero. If
// draws do not determine the standard deviation, a quarter of the width of the 95 percent interval
// replaces it. There is no sentence if the draws do not determine any of these coefficients.
func (v *selection) effectSentence() []string {
	best, size, matters := -1, 0.0, false
	for k, c := range v.result.Coefficients {
		predictor := v.predictorOf(c)
		if predictor < 0 || v.probability(predictor) < probable {
			continue
		}
		matters = true
		sd := float64(c.SDGivenIn)
		if math.IsNaN(sd) {
			sd = float64(c.Q975GivenIn-c.Q025GivenIn) / 4
		}
		if z := math.Abs(float64(c.MeanGivenIn) / sd); sd > 0 && z > size {
			best, size = k, z
		}
	}
	switch {
	case best < 0 && matters:
		return nil
	case best < 0:
		return []string{"No coefficient is known to differ from zero."}
	}
	c := v.result.Coefficients[best]
	direction := "higher"
	if c.MeanGivenIn < 0 {
		direction = "lower"
	}
	outcome := "values of " + v.target
	switch v.settings["model.likelihood"] {
	case "logistic":
		outcome = "odds of " + v.target
	case "poisson":
		outcome = "counts of " + v.target
	case "categorical":
		outcome = "odds of that category of " + v.target + " against the first"
	}
	return []string{fmt.Sprintf("The clearest effect is that of %s: with the others equal, higher values go with %s %s (coefficient %s, 95%% interval %s to %s, if it is in the model).",
		c.Name, direction, outcome, picture.Number(float64(c.MeanGivenIn)), picture.Number(float64(c.Q025GivenIn)), picture.Number(float64(c.Q975GivenIn)))}
}

func (v *selection) otherwise() string {
	undecided := apply.Keep(v.order, func(k int) bool { return v.probability(k) > doubted && v.probability(k) < probable })
	if len(undecided) == 0 {
		return "Report the coefficients averaged over models, with these probabilities; there is little left to decide."
	}
	return fmt.Sprintf("Do not choose one model: report the coefficients averaged over models. Only more rows, or knowledge from elsewhere, can decide about %s.",
		list(apply.To(undecided, func(k int) string { return v.result.Inclusion[k].Name })))
}

// memberNames returns the predictors in the model that a code stands for. It returns none for a
// code that another version has written and that cannot be read.
func (v *selection) memberNames(code string) []string {
	names, _ := membersOf(code, v.result.Data.Predictors)
	return names
}

// predictorOf returns the index of the predictor of a coefficient, −1 if it belongs to none.
func (v *selection) predictorOf(c varsel.Coefficient) int {
	if k, ok := v.places[c.Predictor]; ok {
		return k
	}
	return -1
}

// likelySizes returns the 5% and the 95% quantile of the number of predictors in the model.
func (v *selection) likelySizes() (low, high int) {
	sizes := v.sizes()
	total := 0.0
	low = -1
	for size, p := range sizes {
		total += p
		if low < 0 && total > 0.05 {
			low = size
		}
		if total >= 0.95 {
			return max(low, 0), size
		}
	}
	return max(low, 0), max(len(sizes)-1, 0)
}

// sizes returns the posterior probabilities of the numbers of predictors. They are computed from
// the list of models if its total probability is nearly 1, else from the draws.
func (v *selection) sizes() []float64 {
	bySize := make([]float64, len(v.result.Data.Predictors)+1)
	total := 0.0
	for _, m := range v.result.Models {
		if m.Size < len(bySize) {
			bySize[m.Size] += float64(m.Certified)
			total += float64(m.Certified)
		}
	}
	const all = 0.999 // the total probability from which a list of models counts as complete
	if total < all && v.draws != nil {
		clear(bySize)
		for i := range v.draws.Len() {
			bySize[len(v.members(i))] += 1 / float64(v.draws.Len())
		}
	}
	return bySize
}

// members returns the predictors in the model of draw i.
func (v *selection) members(i int) (list []int) {
	lists := len(v.draws.Sites) > 0 && strings.HasPrefix(v.draws.Sites[0], "member.")
	for site, outcome := range v.draws.Code(i) {
		switch {
		case outcome == 0:
		case lists:
			list = append(list, int(outcome)-1)
		default:
			list = append(list, site)
		}
	}
	return list
}
