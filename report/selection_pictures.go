package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
)

// The largest numbers that a reader can distinguish: of bars, of models, of densities, and of
// predictors in a picture of pairs.
const (
	mostBars      = 40
	mostModels    = 20
	mostDensities = 12
	mostPaired    = 25
)

// predictors returns the section on inclusion probabilities.
func (v *selection) predictors() *document.Section {
	return &document.Section{ID: "predictors", Title: "Which predictors matter",
		Lead: "The probability that a predictor is in the model, given the table; lines are two standard errors of the computation.",
		Draw: func(_ context.Context, part *document.Section) {
			shown := v.order[:min(len(v.order), mostBars)]
			var rows []picture.Row
			var said []string
			for _, k := range shown {
				in := v.result.Inclusion[k]
				rows = append(rows, probabilityRow(in.Name, in.Certified, in.SE))
				said = append(said, in.Name+" "+picture.Probability(float64(in.Certified)))
			}
			part.Place(rowsPicture("inclusion", "Inclusion probabilities", rows, picture.RowsOptions{Axis: "probability to be in the model", Bars: true, Min: 0, Max: 1, Reference: 0.5}).
				Described("Bars of %s.", strings.Join(said, ", ")))
			if left := len(v.order) - len(shown); left > 0 {
				part.Notes = append(part.Notes, fmt.Sprintf("The picture shows the %d most probable predictors; the other %s are in the table.", mostBars, document.Grouped(left)))
			}
			part.Place(v.sizePicture())
		}}
}

// sizePicture draws the posterior of the number of predictors beside its prior.
func (v *selection) sizePicture() *picture.Picture {
	posterior := v.sizes()
	prior := v.result.SizePrior
	low, high := len(posterior), 0
	for size, p := range posterior {
		compared := 0.0
		if size < len(prior) {
			compared = float64(prior[size])
		}
		if p > 0.0005 || compared > 0.005 {
			low, high = min(low, size), max(high, size)
		}
	}
	var bars []picture.Bar
	best := 0
	for size := low; size <= high; size++ {
		b := picture.Bar{From: float64(size) - 0.5, To: float64(size) + 0.5, Value: posterior[size], Compared: math.NaN(),
			Hint: fmt.Sprintf("%s: probability %s", document.Counted(size, "predictor"), picture.Probability(posterior[size]))}
		if size < len(prior) {
			b.Compared = float64(prior[size])
			b.Hint += ", before the table was seen " + picture.Probability(b.Compared)
		}
		if posterior[size] > posterior[best] {
			best = size
		}
		bars = append(bars, b)
	}
	legend := []picture.Entry{{Text: "posterior", Ink: picture.First}}
	if len(prior) > 0 {
		legend = append(legend, picture.Entry{Text: "prior", Ink: picture.Second})
	}
	return picture.Bars("model-size", "Number of predictors", picture.Column, 170, bars, "predictors in the model", "probability", legend...).
		Described("The most probable number of predictors is %d, with probability %s.", best, picture.Probability(posterior[best]))
}

func (v *selection) models() *document.Section {
	return &document.Section{ID: "models", Title: "Which models are probable", Tables: []*document.Table{v.modelsTable()},
		Lead: "Each column is a model, as wide as it is probable; coloured predictors are in it.",
		Draw: func(_ context.Context, part *document.Section) { v.drawModels(part) }}
}

// drawModels draws the most probable models as columns of a matrix, whose rows are predictors.
func (v *selection) drawModels(part *document.Section) {
	shown := v.result.Models[:min(len(v.result.Models), mostModels)]
	covered := 0.0
	in := map[string]bool{}
	var widths []float64
	var heads []string
	members := make([]map[string]bool, len(shown))
	for k, m := range shown {
		covered += float64(m.Certified)
		members[k] = map[string]bool{}
		for _, name := range v.memberNames(m.Code) {
			members[k][name], in[name] = true, true
		}
		widths, heads = append(widths, math.Max(float64(m.Certified), 0.004)), append(heads, fmt.Sprint(k+1))
	}
	var rows []string
	for _, k := range v.order {
		name := v.result.Inclusion[k].Name
		if (in[name] || len(v.order) <= mostBars) && len(rows) < mostBars {
			rows = append(rows, name)
		}
	}
	if len(shown) == 0 || len(rows) == 0 {
		return
	}
	part.Place(picture.Cells("models", "The most probable models", picture.Page, rows, heads, widths, func(row, column int) picture.Cell {
		c := picture.Cell{Hint: fmt.Sprintf("model %d, probability %s: %s", column+1, picture.Probability(float64(shown[column].Certified)), list(v.memberNames(shown[column].Code)))}
		if members[column][rows[row]] {
			c.Value = 1
		}
		return c
	}).
		Described("The %s, of probability %s in all. The best has %s.", document.Counted(len(shown), "most probable model"), picture.Probability(covered), list(v.memberNames(shown[0].Code))))
	part.Notes = append(part.Notes, fmt.Sprintf("Shown: %s, of probability %s in all.", document.Counted(len(shown), "model"), picture.Probability(covered)))
}

// coefficients returns the section on coefficients. It shows their posterior densities with the
// probability that they are zero.
func (v *selection) coefficients() *document.Section {
	return &document.Section{ID: "coefficients", Title: "How large the effects are", Tables: []*document.Table{v.coefficientsTable()},
		Lead: fmt.Sprintf("On the scale of the table: how much %s changes with one more unit of the predictor (on the scale of the link for counts and yes/no; of categories without an order the log odds of the one that is named against the first). The vertical line is the probability that the predictor is out, so that its coefficient is zero; the curve is the posterior if it is in, as high as that is probable; the dashed curve is the prior.", v.target),
		Draw: func(_ context.Context, part *document.Section) {
			for _, k := range v.coefficientOrder() {
				c := v.result.Coefficients[k]
				if predictor := v.predictorOf(c); predictor >= 0 && v.draws != nil && len(part.Pictures) < mostDensities {
					part.Place(v.densityPicture(c.Name, v.probability(predictor), k))
				}
			}
		}}
}

// coefficientOrder returns the coefficients in the order of the probabilities of their predictors.
// Coefficients that belong to no predictor are first.
func (v *selection) coefficientOrder() (order []int) {
	byPredictor := make([][]int, len(v.result.Data.Predictors))
	for k, c := range v.result.Coefficients {
		if predictor := v.predictorOf(c); predictor >= 0 {
			byPredictor[predictor] = append(byPredictor[predictor], k)
		} else {
			order = append(order, k)
		}
	}
	for _, predictor := range v.order {
		order = append(order, byPredictor[predictor]...)
	}
	return order
}

// coefficientDraws returns the draws of a coefficient from the models that have its predictor.
func (v *selection) coefficientDraws(name string) (values []float64) {
	d := v.draws
	if at := slices.Index(d.Coordinates, name); at >= 0 {
		return v.nonzero(at)
	}
	// The run stores each model as a list of its predictors, and the coefficient of the t-th
	// predictor in the list as coef.t, unless predictors have several columns.
	predictor := slices.Index(v.result.Data.Predictors, name)
	first := slices.Index(d.Coordinates, "coef.1")
	if predictor < 0 || first < 0 {
		return nil
	}
	for i := range d.Len() {
		for site, outcome := range d.Code(i) {
			if int(outcome) == predictor+1 {
				values = append(values, d.Values(i)[first+site])
			}
		}
	}
	return values
}

// densityPicture draws the density of a coefficient. It returns nil if the coefficient is probably
// in the model but has too few draws for a density.
func (v *selection) densityPicture(name string, probability float64, number int) *picture.Picture {
	c := v.result.Coefficients[number]
	var prior func(x float64) float64
	if c.Prior != nil {
		prior = c.Prior.LogDensity
	}
	curves := densities(v.coefficientDraws(name), probability, math.Inf(-1), prior)
	if len(curves) == 0 && probability > 0.5 {
		return nil
	}
	return picture.Curves("coefficient-"+document.Identifier(name), name, picture.Column, 130, curves, 1-probability, "coefficient of "+name).
		Described("In the model with probability %s; then its coefficient is %s on average, with 95%% interval %s to %s.",
			picture.Probability(probability), picture.Number(float64(c.MeanGivenIn)), picture.Number(float64(c.Q025GivenIn)), picture.Number(float64(c.Q975GivenIn)))
}

// chainTrace draws the log posterior density of the first few chains.
func (v *selection) chainTrace() *picture.Picture {
	byChain := map[int32][]float64{}
	for i, chain := range v.draws.Chain {
		byChain[chain] = append(byChain[chain], v.draws.LogP[i])
	}
	inks := inks()
	var curves []picture.Curve
	for chain := int32(1); len(curves) < len(byChain) && len(curves) < len(inks); chain++ {
		values := byChain[chain]
		const most = 300 // the largest number of points that a line of this width can show
		step := max(1, len(values)/most)
		c := picture.Curve{Ink: inks[len(curves)]}
		for k := 0; k < len(values); k += step {
			c.X, c.Y = append(c.X, float64(k+1)), append(c.Y, values[k])
		}
		curves = append(curves, c)
	}
	return picture.Lines("chains", "Log density of the chains", picture.Column, 150, curves, "draw", "log density").
		Described("The log posterior density of the first %s of %d, draw by draw.", document.Counted(len(curves), "chain"), len(byChain))
}

// chainInclusion draws the range of the inclusion probabilities over the chains.
func (v *selection) chainInclusion() *picture.Picture {
	counts, totals := map[int32][]float64{}, map[int32]float64{}
	chains := int32(0)
	for i, chain := range v.draws.Chain {
		if counts[chain] == nil {
			counts[chain] = make([]float64, len(v.order))
		}
		chains = max(chains, chain)
		totals[chain]++
		for _, k := range v.members(i) {
			counts[chain][k]++
		}
	}
	var rows []picture.Row
	for _, k := range v.order[:min(len(v.order), mostBars)] {
		row := picture.Row{Label: v.result.Inclusion[k].Name, From: math.NaN()}
		low, high, sum := 1.0, 0.0, 0.0
		for chain := int32(1); chain <= chains; chain++ {
			p := counts[chain][k] / math.Max(1, totals[chain])
			low, high, sum = math.Min(low, p), math.Max(high, p), sum+p/float64(chains)
		}
		row.Intervals = []picture.Interval{{Mid: sum, Low: low, High: high, Ink: picture.First, Hint: fmt.Sprintf("%s: from %s to %s", row.Label, picture.Probability(low), picture.Probability(high))}}
		rows = append(rows, row)
	}
	return rowsPicture("chain-inclusion", "Do the chains agree?", rows, picture.RowsOptions{Axis: "probability in each chain: range and mean", Min: 0, Max: 1, Reference: math.NaN()}).
		Described("For each predictor the smallest and the largest share of draws that have it, of all chains.")
}
