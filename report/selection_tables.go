package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/varsel"
)

// Lengths of tables on a terminal; pages and files have more.
const (
	printedModels = 10
	// leastModel is the probability below which a model is not printed.
	leastModel = 1e-4
	// Up to fewPredictors predictors are all printed. Of more predictors only the printedPredictors
	// most probable predictors are printed.
	fewPredictors     = 40
	printedPredictors = 25
)

// The table shows both the inclusion probability of the variational family q and the probability
// corrected by importance weights or chains, if they differ by more than notableQ.
const notableQ = 0.05

// withQ reports whether an inclusion probability of the variational family q differs from the
// corrected one by more than notableQ.
func (v *selection) withQ() bool {
	return slices.ContainsFunc(v.result.Inclusion, func(i varsel.Inclusion) bool {
		return i.Q != nil && math.Abs(float64(*i.Q-i.Certified)) > notableQ
	})
}

// coefficientsTable has a row for each coefficient: the probability that its predictor is in the
// model, and its value on the scale of the table. Up to fewPredictors predictors are in the order
// of the table. More predictors are in the order of their probabilities, after the coefficients
// that are always in the model.
func (v *selection) coefficientsTable() *document.Table {
	r, withQ := v.result, v.withQ()
	caption := "Predictors: probability to be in the model; coefficient on the scale of the table, averaged over models"
	if slices.ContainsFunc(r.Coefficients, func(c varsel.Coefficient) bool { return c.Q025 == 0 && c.Q975 == 0 }) {
		caption += " [0 (p): zero with probability p]"
	}
	head := []string{"<~coefficient", "probability", "mean", "sd", "<95% interval", "|mean if in", "<95% interval", "^sd if in"}
	if withQ {
		head = slices.Insert(head, 1, "by q")
	}
	t := document.NewTable(caption+", and if it is in", head...).Opened()
	add := func(name, q, p string, numbers ...string) {
		cells := append([]string{name, p}, numbers...)
		if withQ {
			cells = slices.Insert(cells, 1, q)
		}
		t.Add(cells...)
	}
	byPredictor := make([][]varsel.Coefficient, len(r.Data.Predictors))
	var before, after []varsel.Coefficient
	for _, c := range r.Coefficients {
		switch k := v.predictorOf(c); {
		case k >= 0:
			byPredictor[k] = append(byPredictor[k], c)
		case slices.ContainsFunc(byPredictor, func(list []varsel.Coefficient) bool { return len(list) > 0 }):
			after = append(after, c)
		default:
			before = append(before, c)
		}
	}
	always := func(list []varsel.Coefficient) {
		for _, c := range list {
			add(c.Name, "", "always", document.Short(c.Mean), document.Short(c.SD), document.Interval(c.Q025, c.Q975))
		}
	}
	always(before)
	order := v.order
	if len(order) > fewPredictors {
		always(after)
		after = nil
	} else {
		order = slices.Sorted(slices.Values(order))
	}
	for n, k := range order {
		in := r.Inclusion[k]
		q, p := "", document.Probability(in.Certified, in.SE)
		if in.Q != nil {
			q = document.Probability(*in.Q, 0)
		}
		columns, indent := byPredictor[v.places[in.Name]], ""
		if len(columns) != 1 || columns[0].Name != in.Name {
			add(in.Name, q, p)
			q, p, indent = "", "", "  "
		}
		for _, c := range columns {
			add(indent+c.Name, q, p, document.Short(c.Mean), document.Short(c.SD), document.AveragedInterval(c.Q025, c.Q975, 1-in.Certified),
				document.Short(c.MeanGivenIn), document.Interval(c.Q025GivenIn, c.Q975GivenIn), document.Short(c.SDGivenIn))
		}
		if n == printedPredictors-1 && len(order) > fewPredictors {
			t.Printed = t.Len()
			t.More = []string{fmt.Sprintf("and %s less probable, all in the files", english.Count(len(order)-printedPredictors, "predictor"))}
		}
	}
	always(after)
	return t
}

func (v *selection) modelsTable() *document.Table {
	const most = 200 // largest number of rows on a page; result.json lists more models
	list := v.result.Models[:min(len(v.result.Models), most)]
	withEvidence := slices.ContainsFunc(list, func(m varsel.ModelReport) bool { return document.Finite(m.LogEvidence) })
	t := document.NewTable("Most probable models", "probability", "<predictors", "^how many")
	if withEvidence {
		t.Rows[0] = slices.Insert(t.Rows[0], 1, document.WordEvidence)
	}
	for k, m := range list {
		cells := []string{document.Probability(m.Certified, m.SE)}
		switch {
		case withEvidence && document.Finite(m.LogEvidence):
			cells = append(cells, document.PlusMinus(m.LogEvidence, m.LogEvidenceSE, 3))
		case withEvidence: // the draws may not determine the evidence of an improbable model
			cells = append(cells, "not resolved")
		}
		t.Add(append(cells, modelName(m.Code, v.result.Data.Predictors), fmt.Sprint(m.Size))...)
		if k == 0 || m.Certified >= leastModel && k < printedModels {
			t.Printed = k + 1
		}
	}
	return t
}

func modelName(code string, predictors []string) string {
	switch names, err := membersOf(code, predictors); {
	case err != nil:
		return code
	case len(names) == 0:
		return "(none)"
	default:
		return strings.Join(names, " + ")
	}
}

// membersOf returns the predictors in the model that a code stands for. A code that another version
// has written may give an error.
func membersOf(code string, predictors []string) ([]string, error) {
	members, err := varsel.ModelMembers(code, len(predictors))
	return apply.To(members, func(k int) string { return predictors[k] }), err
}
