package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// computation describes how an answer was computed and the verdict on the computation.
type computation struct {
	// level is the verdict, nil if the answer is a sum over all models, which needs none.
	level *verdict.Verdict
	// text is the meaning of the verdict: a sentence that follows a colon, and then advice that
	// begins with "Try".
	text string
	// help is the remedy, if one is known: the words after "What would help:".
	help    string
	reasons []string
	// basis holds lines on the methods on which the verdict is based.
	basis []string
	// facts holds sentences on model evidences and computing times. words lists the terms that the
	// page explains.
	facts, words []string
	draw         func(part *document.Section)
}

func (c *computation) trusted() bool { return c.level == nil || *c.level == verdict.Trusted }
func (c *computation) failed() bool  { return c.level != nil && *c.level == verdict.Failed }

// meaning splits the text into the meaning of the verdict and the advice.
func (c *computation) meaning() (meaning, try string) {
	meaning, try, found := strings.Cut(c.text, " Try ")
	if found {
		try = "Try " + try
	}
	return meaning, try
}

// mark returns the verdict on the computation as the document shows it.
func (c *computation) mark() document.Mark {
	m := document.Mark{Name: "Computation", Kind: "good", Word: "exact", Text: "Every model was counted; nothing is approximated.", Reasons: c.reasons}
	if c.level == nil {
		return m
	}
	meaning, _ := c.meaning()
	m.Kind = [...]string{verdict.Trusted: "good", verdict.Doubtful: "fair", verdict.Failed: "bad"}[*c.level]
	m.Word, m.Text = c.level.String(), capital(meaning)
	lines := apply.To(c.lines(), func(line string) string { return "  " + line })
	m.Lines = append([]string{strings.ToUpper(m.Word) + ": " + c.text}, lines...)
	return m
}

// reasonsPage is the address of the page that lists all reasons of verdicts, with causes and
// remedies.
const reasonsPage = "https://github.com/transdim/vti/blob/main/docs/verdicts.md"

// lines returns the reasons and the basis of the verdict, the remedy, and the address of the page
// on reasons.
func (c *computation) lines() []string {
	lines := append(append([]string(nil), c.reasons...), c.basis...)
	if c.help != "" {
		lines = append(lines, "What would help: "+c.help+".")
	}
	if len(c.reasons) > 0 {
		lines = append(lines, "Reasons explained: "+reasonsPage)
	}
	return lines
}

// next returns the recommended next steps: first about the computation, then about the model. The
// argument otherwise is the last advice, unless the computation failed or the model is poor.
func (c *computation) next(check *modelcheck.Report, otherwise string) (list []string) {
	if !c.trusted() {
		_, try := c.meaning()
		switch {
		case c.help != "":
			list = append(list, "What would help the computation: "+c.help+".")
		case try != "":
			list = append(list, try)
		default:
			list = append(list, capital(c.text))
		}
		if len(c.reasons) > 0 {
			list = append(list, "Causes and remedies of each reason: "+reasonsPage)
		}
	}
	if check != nil {
		printed := map[string]bool{} // advice that was given already
		for _, f := range check.Findings {
			if f.Verdict != modelcheck.Good && f.Advice != "" && !printed[f.Advice] {
				printed[f.Advice] = true
				list = append(list, "About the model ("+f.Term()+"): "+f.Advice+".")
			}
		}
	}
	const most = 4 // the largest number of steps that a reader will read
	list = list[:min(len(list), most)]
	if !c.failed() && (check == nil || check.Verdict != modelcheck.Poor) {
		list = append(list, otherwise)
	}
	return list
}

// earned returns the section on the basis of the verdict.
func (s *source) earned(c *computation) *document.Section {
	m := c.mark()
	return &document.Section{ID: "verdict", Title: "How the verdict was earned", Lead: m.Name + ": " + m.Word + ". " + m.Text,
		Said: append(c.facts, document.Explained(c.words...)...),
		Draw: func(_ context.Context, part *document.Section) {
			part.Notes = c.lines()
			part.Place(s.training())
			if c.draw != nil {
				c.draw(part)
			}
		}}
}

// took returns a sentence on the time of a run. If the run trained, it also gives the times of
// training and of certifying.
func took(t run.Seconds, steps int) string {
	text := document.TimeText(t.Total)
	if t.Train > 0 {
		text += fmt.Sprintf(" (%s training in %d steps, %s certifying)", document.TimeText(t.Train), steps, document.TimeText(t.Certify))
	}
	return text
}

// model returns the verdict of the model check as the document shows it. The argument check is nil
// if there was no model check.
func model(check *modelcheck.Report) document.Mark {
	m := document.Mark{Name: "Model", Kind: "fair", Word: "not checked", Text: "Nothing was compared with the table."}
	if check == nil {
		return m
	}
	m.Word = check.Verdict.String()
	switch check.Verdict {
	case modelcheck.Good:
		m.Kind, m.Text = "good", "Nothing in the table contradicts the model."
	case modelcheck.Questionable:
		m.Text = "The table contradicts the model in part."
	default:
		m.Kind, m.Text = "bad", "The model does not describe this table; its probabilities are likely to mislead."
	}
	m.Reasons = apply.To(check.Findings, func(f modelcheck.Finding) string { return f.What + " (" + f.Where + ")" })
	m.Lines = []string{strings.TrimRight(check.String(), "\n")}
	return m
}

// findings returns the table of the findings of a model check.
func findings(check *modelcheck.Report) *document.Table {
	t := document.NewTable("What the model check found", "<finding", "<where", "p", "<what to try", "<weight").Opened()
	t.OnPage = true
	if check == nil {
		return t
	}
	for _, f := range check.Findings {
		weight, p := f.Verdict.String(), "–"
		if f.Verdict == modelcheck.Good {
			weight = "note"
		}
		if f.P == f.P {
			p = picture.Probability(float64(f.P))
		}
		t.Add(f.What, f.Where, p, f.Advice, weight)
	}
	return t
}
