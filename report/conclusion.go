package report

import (
	"slices"
	"strings"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modelcheck"
)

// computationBadge names the verdict on the computation.
const computationBadge = "Computation"

// computation is the badge of the verdict on the computation; nil says that the answer is an exact
// sum over all models.
func computation(v *verdict.Verdict, reasons []string) badge {
	b := badge{Name: computationBadge, Reasons: reasons}
	if v == nil {
		b.Kind, b.Word, b.Text = "good", "exact", "Every model was counted; nothing is approximated."
		return b
	}
	b.Word = v.String()
	switch *v {
	case verdict.Trusted:
		b.Kind, b.Text = "good", "The numbers hold to within their standard errors."
	case verdict.Doubtful:
		b.Kind, b.Text = "fair", "The numbers may be right, but the computation does not show it."
	default:
		b.Kind, b.Text = "bad", "Do not use these numbers."
	}
	return b
}

// model is the badge of the model check; nil says that there was none.
func model(check *modelcheck.Report) badge {
	b := badge{Name: "Model", Kind: "fair", Word: "not checked", Text: "Nothing was compared with the table."}
	if check == nil {
		return b
	}
	b.Word = check.Verdict.String()
	switch check.Verdict {
	case modelcheck.Good:
		b.Kind, b.Text = "good", "Nothing in the table contradicts the model."
	case modelcheck.Questionable:
		b.Text = "The table contradicts the model in part."
	default:
		b.Kind, b.Text = "bad", "The model does not describe this table; its probabilities are likely to mislead."
	}
	for _, f := range check.Findings {
		b.Reasons = append(b.Reasons, f.What+" ("+f.Where+")")
	}
	return b
}

// warn begins an answer whose computation failed with that, as its first sentence is also read
// alone.
func (a *article) warn() {
	failed := func(b badge) bool { return b.Name == computationBadge && b.Kind == "bad" }
	if len(a.Answer) > 0 && slices.ContainsFunc(a.Marks, failed) {
		a.Answer[0] = "The computation failed, and what follows is not to be used. " + a.Answer[0]
	}
}

// next says what to do next: about the computation, about the model, and else, unless computation
// or model is so wrong that it comes first.
func next(v *verdict.Verdict, more string, check *modelcheck.Report, otherwise string) (list []string) {
	if v != nil && *v != verdict.Trusted {
		list = append(list, more)
	}
	if check != nil {
		given := map[string]bool{} // advice that was given already
		for _, f := range check.Findings {
			if f.Verdict != modelcheck.Good && f.Advice != "" && !given[f.Advice] {
				given[f.Advice] = true
				list = append(list, "About the model ("+subject(f.What)+"): "+f.Advice+".")
			}
		}
	}
	const most = 4 // more advice than that is read by nobody
	list = list[:min(len(list), most)]
	if (v == nil || *v != verdict.Failed) && (check == nil || check.Verdict != modelcheck.Poor) {
		list = append(list, otherwise)
	}
	return list
}

// effort is the advice about the computation: what the run says would help, or else what may.
func effort(known, otherwise string) string {
	if known == "" {
		return otherwise
	}
	return "What would help the computation: " + known + "."
}

// subject is what a finding is about: the words before its colon.
func subject(what string) string {
	before, _, _ := strings.Cut(what, ":")
	return before
}

// findings is the table of a model check; nil if it found nothing.
func findings(check *modelcheck.Report) []table {
	if check == nil || len(check.Findings) == 0 {
		return nil
	}
	t := table{Caption: "What the model check found", Open: true, Columns: []column{{"finding", false}, {"where", false}, {"p", true}, {"what to try", false}, {"weight", false}}}
	for _, f := range check.Findings {
		weight := f.Verdict.String()
		if f.Verdict == modelcheck.Good {
			weight = "note"
		}
		p := share(f.P)
		if f.P != f.P {
			p = cell{Text: "–"}
		}
		t.Rows = append(t.Rows, []cell{words(f.What), words(f.Where), p, words(f.Advice), words(weight)})
	}
	return []table{t}
}
