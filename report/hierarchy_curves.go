package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/predict"
)

// groupings are those of the formula, without smooth functions.
func (v *hierarchy) groupings() (list []regression.GroupSummary) {
	for _, g := range v.result.Data.Groups {
		if g.Line == "" {
			list = append(list, g)
		}
	}
	return list
}

// curves are the smooth functions of the formula.
func (v *hierarchy) curves() (list []regression.GroupSummary) {
	for _, g := range v.result.Data.Groups {
		if g.Line != "" {
			list = append(list, g)
		}
	}
	return list
}

// isBend reports whether a standard deviation is that of a smooth function.
func (v *hierarchy) isBend(sd string) bool {
	for _, g := range v.curves() {
		if sd == bendName(g) {
			return true
		}
	}
	return false
}

// bendName is the name of the standard deviation of a smooth function around its line.
func bendName(g regression.GroupSummary) string { return "sd(" + g.Name + ")" }

// smoothOf is the smooth function around the line of a column; nil if there is none.
func (v *hierarchy) smoothOf(column string) *regression.GroupSummary {
	for _, g := range v.curves() {
		if g.Line == column {
			return &g
		}
	}
	return nil
}

// curveOf is smoothOf where the answer is a curve rather than a line: unless it was a question that
// has another answer.
func (v *hierarchy) curveOf(column string) *regression.GroupSummary {
	g := v.smoothOf(column)
	if g != nil && len(v.result.Terms) > 0 && v.curvedProbability(g.Name) <= 0.5 {
		return nil
	}
	return g
}

// curvedProbability is that of a smooth function being more than a line.
func (v *hierarchy) curvedProbability(name string) (sum float64) {
	for _, t := range v.result.Terms {
		if t.Term == name && strings.HasPrefix(t.State, "curved") {
			sum += float64(t.Prob)
		}
	}
	return sum
}

// curvesAnswer is a sentence on each column whose effect is a curve; "" if none is.
func (v *hierarchy) curvesAnswer() string {
	var sentences []string
	for _, g := range v.curves() {
		if v.curveOf(g.Line) == nil {
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

// hasSteps reports whether an effect is monotonic, with shares of its steps.
func (v *hierarchy) hasSteps(effect string) bool {
	return slices.ContainsFunc(v.result.Shares, func(s regression.Summary) bool { return strings.HasPrefix(s.Name, effect+": ") })
}

// alongPredictors draws what is expected along each predictor of the table, its curve or its steps
// included, the others at their means. Notes say what could not be drawn.
func (v *hierarchy) alongPredictors(ctx context.Context) (list []*picture.Picture, notes []string) {
	run, err := regression.OpenRun(v.dir)
	if err != nil {
		return nil, []string{"Not drawn: " + err.Error() + "."}
	}
	_, predictors, _, err := run.Predictors()
	if err != nil {
		return nil, []string{"Expectations along predictors are not drawn: " + err.Error() + "."}
	}
	for _, of := range predictors[:min(len(predictors), mostConditional)] {
		p, err := v.along(ctx, run, of)
		if err != nil {
			notes = append(notes, fmt.Sprintf("What is expected along %s is not drawn: %v.", of.Name, err))
			continue
		}
		list = append(list, p)
	}
	return list, notes
}

// along draws what is expected along a predictor.
func (v *hierarchy) along(ctx context.Context, run *regression.StoredRun, of predict.Variable) (*picture.Picture, error) {
	effects, err := predict.EffectsOf(ctx, run, predict.EffectsConfig{Of: []predict.Focus{{Name: of.Name}}, Curve: !of.Labels})
	if err != nil {
		return nil, err
	}
	if of.Labels {
		var rows []picture.Row
		for _, m := range effects.Means {
			rows = append(rows, picture.Row{Label: m.Values[0], From: math.NaN(), Note: picture.Number(float64(m.Mean)),
				Intervals: []picture.Interval{{Ink: picture.First, Mid: float64(m.Mean), Low: float64(m.Low), High: float64(m.High)}}})
		}
		return v.levelsPicture(of.Name, rows), nil
	}
	var x, mean, low, high []float64
	for _, m := range effects.Means {
		place, err := strconv.ParseFloat(m.Values[0], 64)
		if err != nil {
			return nil, err
		}
		x, mean, low, high = append(x, place), append(mean, float64(m.Mean)), append(low, float64(m.Low)), append(high, float64(m.High))
	}
	return v.curvePicture(of.Name, x, mean, low, high), nil
}
