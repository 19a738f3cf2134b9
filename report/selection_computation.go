package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/varsel"
)

// selectionMeaning is the meaning of each verdict on a selection of variables.
var selectionMeaning = [...]string{
	vti.Trusted:  "the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the evidence for it is weak.",
	vti.Failed:   "do not use these numbers.",
}

func (v *selection) computation() *computation {
	r := v.result
	found := &computation{help: r.Advice}
	if v.withQ() {
		found.words = append(found.words, document.WordQ)
	}
	if slices.ContainsFunc(r.Models[:min(len(r.Models), printedModels)], func(m varsel.ModelReport) bool { return document.Finite(m.LogEvidence) }) {
		found.words = append(found.words, document.WordEvidence)
	}
	if r.LogEvidence != nil && math.IsNaN(float64(*r.LogEvidence)) {
		found.facts = append(found.facts, "Log evidence of all models together: not resolved.")
	} else if r.LogEvidence != nil {
		found.facts = append(found.facts, fmt.Sprintf("Log evidence of all models together: %s.", document.PlusMinus(r.LogEvidence, r.LogEvidSE, 3)))
	}
	work := "Computation: "
	if c := r.Certificate; c != nil {
		found.level, found.reasons = &c.Verdict, c.Reasons
		found.text, found.basis = certificateText(c, r.Advice), certificateBasis(c)
		switch {
		case c.RHat != nil:
			work += fmt.Sprintf("R-hat %.3f, at least %.0f effective draws of %d; ", float64(*c.RHat), float64(c.ESS), c.Draws)
			found.words = append(found.words, document.WordRHat, document.WordDraws)
		case c.Basis != vti.ExactSum && c.KHat != nil:
			work += fmt.Sprintf("k̂ %.2f, %.0f effective draws of %d, %s checked; ", float64(*c.KHat), float64(c.ESS), c.Draws, english.Count(c.ModelsChecked, "model"))
			found.words = append(found.words, document.WordKHat, document.WordDraws)
		}
	}
	if summary := r.Summary; summary != nil {
		found.basis = append(found.basis,
			fmt.Sprintf("from statistics of %s, which were not seen: nothing compares the model with them", english.Count(summary.Samples, "row")),
			"coefficients are in "+summary.Units)
		if !summary.Reconciled {
			found.text = "the statistics contradict each other, or may; see the reasons."
		}
	}
	if d := r.Diagnostics; d != nil {
		found.level, found.reasons, found.text = &d.Verdict, d.Reasons, selectionMeaning[d.Verdict]
		if d.Verdict != vti.Trusted {
			found.text = "the chains have not mixed. Try more --iterations and --burn-in, or --temperatures 16 where there are several modes."
		}
		work += fmt.Sprintf("R-hat %.3f, at least %.0f effective draws, %s of %s; ", float64(d.RHat), float64(d.ESS), english.Count(d.Chains, "chain"), english.Count(d.Draws, "draw"))
		found.words = append(found.words, document.WordRHat, document.WordDraws)
		if len(d.Exchanges) > 0 {
			work += fmt.Sprintf("%s, at least %.0f%% of exchanges accepted, %s; ", english.Count(len(d.Exchanges)+1, "temperature"), 100*float64(slices.Min(d.Exchanges)), english.Count(d.RoundTrips, "round trip"))
		}
	}
	found.facts = append(found.facts, work+took(r.Seconds, r.Steps)+".")
	found.draw = func(part *document.Section) {
		part.Place(weights(len(r.Models), func(k int) (p varsel.Number, kHat *varsel.Number) { return r.Models[k].Certified, r.Models[k].KHat }))
		if v.draws != nil && v.draws.Kind == draws.Chains {
			part.Place(v.chainTrace())
			part.Place(v.chainInclusion())
		}
	}
	return found
}

// certificateText returns the meaning of the verdict of a certificate. The argument advice is the
// known remedy; if it is empty the text ends with general advice.
func certificateText(c *varsel.CertificateReport, advice string) string {
	switch {
	case c.Verdict == vti.Trusted:
		return selectionMeaning[c.Verdict]
	case c.Basis == vti.BirthsAndDeaths:
		return "birth-death chains and the tempered chains that check them do not agree, or are too short. Try a longer --max-time, or a smaller --max-size."
	case c.Basis == vti.CollapsedChains:
		return "chains and the annealed populations that check them do not agree, or are too few. Try a longer --max-time."
	case c.RHat != nil:
		return "neither the weights nor the chains that check them are reliable. Try more --certify-draws, which make the chains longer."
	case advice == "":
		return selectionMeaning[c.Verdict] + " Try --flow spline, or vti rjmcmc varsel."
	}
	return selectionMeaning[c.Verdict]
}

func certificateBasis(c *varsel.CertificateReport) (lines []string) {
	second := "Tempered chains, which are independent of the weights, agree within their errors."
	switch {
	case c.Basis == vti.CollapsedChains:
		lines = append(lines, "by tempered chains over models and latent variables of the rows")
		second = "Annealed populations, which are independent of the chains, agree within their errors."
	case c.Basis == vti.BirthsAndDeaths:
		lines = append(lines, "by birth-death chains over models, coefficients integrated out")
		second = "Tempered chains of the same kind, with independent random numbers, agree within their errors."
	case c.RHat != nil:
		lines = append(lines, "by tempered chains, which are more precise here than weights")
		second = "The weights, which are independent of the chains, agree within their errors."
	case c.Basis == vti.ExactSum:
		lines = append(lines, fmt.Sprintf("exact: the sum over all %d models, whose evidences are closed forms", c.ModelsChecked))
	}
	if c.Confirmed {
		lines = append(lines, second)
	}
	if !c.Complete && c.RHat == nil {
		lines = append(lines, "Models that were never proposed were not checked.")
	}
	return lines
}
