package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/predict"
)

// groupings returns the groupings of rows in the formula. Smooth functions, which are stored as
// groupings too, are left out.
func (v *hierarchy) groupings() []regression.GroupSummary {
	return slices.DeleteFunc(slices.Clone(v.result.Data.Groups), func(g regression.GroupSummary) bool { return g.Line != "" })
}

func (v *hierarchy) curves() []regression.GroupSummary {
	return slices.DeleteFunc(slices.Clone(v.result.Data.Groups), func(g regression.GroupSummary) bool { return g.Line == "" })
}

// isBend reports whether the standard deviation with the name sd belongs to a smooth function.
func (v *hierarchy) isBend(sd string) bool {
	return slices.ContainsFunc(v.curves(), func(g regression.GroupSummary) bool { return sd == bendName(g) })
}

// bendName returns the name of the standard deviation of a smooth function around its straight
// line.
func bendName(g regression.GroupSummary) string { return "sd(" + g.Name + ")" }

// isCurve reports whether the effect of a column is a curve: whether the column has a smooth
// function, the departure of its effect from a straight line. If the run selected terms, the effect
// counts as a curve if the smooth function is in the model with a probability above one half.
func (v *hierarchy) isCurve(column string) bool {
	return slices.ContainsFunc(v.curves(), func(g regression.GroupSummary) bool {
		return g.Line == column && (len(v.result.Terms) == 0 || v.curvedProbability(g.Name) > 0.5)
	})
}

// curvedProbability is the probability that a smooth function is more than a line.
func (v *hierarchy) curvedProbability(name string) (sum float64) {
	for _, t := range v.result.Terms {
		if t.Term == name && strings.HasPrefix(t.State, "curved") {
			sum += float64(t.Prob)
		}
	}
	return sum
}

// curvesAnswer returns a sentence on each column whose effect is a curve. It returns "" if there is
// none.
func (v *hierarchy) curvesAnswer() string {
	var sentences []string
	for _, g := range v.curves() {
		if !v.isCurve(g.Line) {
			continue
		}
		for _, sd := range v.result.SDs {
			if sd.Name == bendName(g) {
				sentences = append(sentences, fmt.Sprintf("The effect of %s is a curve, which departs from its line by a standard deviation of %s (95%% interval %s to %s).", g.Line, picture.Number(float64(sd.Mean)), picture.Number(float64(sd.Q025)), picture.Number(float64(sd.Q975))))
			}
		}
	}
	return strings.Join(sentences, " ")
}

// hasSteps reports whether an effect is monotonic. The result then contains, for each step between
// neighbouring levels, its share of the total effect.
func (v *hierarchy) hasSteps(effect string) bool {
	return slices.ContainsFunc(v.result.Shares, func(s regression.Summary) bool { return strings.HasPrefix(s.Name, effect+": ") })
}

// alongPredictors draws the expected response along each predictor of the table, with the other
// numeric predictors at their means. If a picture is missing, a note gives the reason.
func (v *hierarchy) alongPredictors(ctx context.Context, part *document.Section) {
	if v.draws == nil || v.kind().HasCategories() {
		return
	}
	run, err := regression.OpenRun(v.dir)
	var predictors []predict.Variable
	if err == nil {
		_, predictors, _, err = run.Predictors()
	}
	if err != nil {
		part.Notes = append(part.Notes, "Expectations along predictors are not drawn: "+err.Error()+".")
		return
	}
	for _, predictor := range predictors[:min(len(predictors), mostConditional)] {
		p, err := v.along(ctx, run, predictor)
		if err != nil {
			part.Notes = append(part.Notes, fmt.Sprintf("What is expected along %s is not drawn: %v.", predictor.Name, err))
		}
		part.Place(p)
	}
}

// along draws the expected response along a predictor: a line for a numeric predictor, and a row
// for each level of a factor.
func (v *hierarchy) along(ctx context.Context, run *regression.StoredRun, predictor predict.Variable) (*picture.Picture, error) {
	effects, err := predict.EffectsOf(ctx, run, predict.EffectsConfig{Of: []predict.Focus{{Name: predictor.Name}}, Curve: !predictor.Labels})
	if err != nil {
		return nil, err
	}
	file, expected := "conditional-"+document.Identifier(predictor.Name), "expected "+v.response()
	if predictor.Labels {
		rows := apply.To(effects.Means, func(m predict.MarginalMean) picture.Row { return intervalRow(m.Values[0], m.Mean, m.Low, m.High, 95) })
		return rowsPicture(file, "Levels of "+predictor.Name, rows, picture.RowsOptions{Axis: expected, Reference: math.NaN()}).
			Described("Of the population, with the other numbers at their means; intervals hold 95%%."), nil
	}
	var f function
	for _, m := range effects.Means {
		value, err := strconv.ParseFloat(m.Values[0], 64)
		if err != nil {
			return nil, err
		}
		f.add(predict.Number(value), m.Mean, m.Low, m.High)
	}
	last := len(f.x) - 1
	return bandPicture(file, "Effect of "+predictor.Name, f, predictor.Name, expected).
		Described("Of the population, with the other numbers at their means: the expectation goes from %s at %s to %s at %s; the band holds 95%%.", picture.Number(f.mean[0]), picture.Number(f.x[0]), picture.Number(f.mean[last]), picture.Number(f.x[last])), nil
}
