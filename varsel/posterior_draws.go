package varsel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/weighted"
)

// resampled is the number of equally weighted draws that a run writes. Chosen by hand: their means
// have errors of a hundredth of a posterior standard deviation.
const resampled = 10000

// Draws are posterior draws on the scale of the table.
//
// Where models are bits, codes have a bit for each predictor, and values a column for each of the
// design. Where they are lists, site t holds the number, from 1 in table order, of the t-th
// predictor in the model, or 0 for no more, and the columns are those of the design that are in
// every model and then one, or as many as the widest predictor has, for each site.
type Draws struct {
	// Names are those of the columns of Values; "sigma", if it is unknown, comes after the columns
	// of the design.
	Names []string
	// Codes are the models [N][S].
	Codes [][]int32
	// Values are the coefficients [N, len(Names)], 0 where a predictor is out.
	Values *mat.Dense
	// Chain numbers the chain of each draw from 1; nil for independent draws.
	Chain []int32
	// LogP is the unnormalised log posterior density on the working scale, and LogQ the log density
	// under the approximation that the draw came from (nil when there is none).
	LogP, LogQ []float64
}

// scaleName is the name among coefficients of the noise scale, or of the other parameter of the
// response; if the table has a column of that name it has parentheses.
func (d *Design) scaleName() string { return freeName(d.Likelihood.Scale(), d.Names) }

// coordinateNames are the names of the columns of draws.
func (p *Problem) coordinateNames() []string {
	if p.Slots != nil {
		return p.Slots.coordinateNames(p.Design)
	}
	names := slices.Clone(p.Design.Names)
	if p.UnknownScale() {
		names = append(names, p.Design.scaleName())
	}
	return names
}

// toOriginal maps draws of the target's coordinates theta [N,D] to the scale of the table.
func (p *Problem) toOriginal(codes [][]int32, theta *mat.Dense) *Draws {
	draws := &Draws{Names: p.coordinateNames(), Codes: codes}
	draws.Values = mat.NewDense(max(len(codes), 1), len(draws.Names), nil)
	if p.Slots != nil {
		draws.Codes = make([][]int32, len(codes))
		for i, code := range codes {
			draws.Codes[i] = p.Slots.toOriginal(p.Design, code, theta.RawRowView(i), draws.Values.RawRowView(i))
		}
		return draws
	}
	dim := p.Design.Dim()
	for i := range codes {
		row := draws.Values.RawRowView(i)
		p.Design.Scaling.ToOriginal(row[:dim], theta.RawRowView(i)[:dim])
		if p.UnknownScale() {
			row[dim] = math.Exp(theta.At(i, p.Target.scale)) * p.Design.Scaling.YSD
		}
	}
	return draws
}

// fromOriginal inverts toOriginal for one draw: it writes the target's coordinates to theta [D] and
// returns the model.
func (p *Problem) fromOriginal(code []int32, values, theta []float64) []int32 {
	if p.Slots != nil {
		return p.Slots.fromOriginal(p.Design, code, values, theta)
	}
	dim := p.Design.Dim()
	p.Design.Scaling.FromOriginal(theta[:dim], values[:dim])
	if p.UnknownScale() {
		theta[p.Target.scale] = math.Log(values[dim] / p.Design.Scaling.YSD)
	}
	return code
}

// summarizeDraws returns the posterior of every column of the design and of sigma, with the given
// weights of the draws. chain numbers the chain of each draw from 0; nil where draws are
// independent. Where models are lists, columns that are in no draw are left out.
func (p *Problem) summarizeDraws(draws *Draws, weights []float64, chain []int) []Coefficient {
	names := append(slices.Clone(p.Design.Names), p.Design.scaleName())
	included, chains := make([][]weighted.Value, len(names)), make([][]int, len(names))
	always := make([]bool, len(names))
	for _, j := range p.Design.Always {
		always[j] = true
	}
	always[p.Design.Dim()] = p.UnknownScale()
	var mass float64
	for i, code := range draws.Codes {
		if weights[i] == 0 {
			continue
		}
		mass += weights[i]
		p.visit(code, draws.Values.RawRowView(i), func(column int, value float64) {
			included[column] = append(included[column], weighted.Value{Value: value, Weight: weights[i]})
			if chain != nil {
				chains[column] = append(chains[column], chain[i])
			}
		})
	}
	var coefficients []Coefficient
	for j, name := range names {
		if always[j] || len(included[j]) > 0 || j < p.Design.Dim() && p.Slots == nil {
			coefficients = append(coefficients, summarize(name, included[j], mass, chains[j]))
		}
	}
	return coefficients
}

// visit calls f with every column of the design that the model of a draw has, and its coefficient,
// and with sigma if it is unknown: the column after them.
func (p *Problem) visit(code []int32, values []float64, f func(column int, value float64)) {
	if p.Slots != nil {
		p.Slots.visit(p.Design, code, values, f)
		return
	}
	for _, j := range p.Design.Always {
		f(j, values[j])
	}
	if p.UnknownScale() {
		f(p.Design.Dim(), values[p.Design.Dim()])
	}
	for _, predictor := range bitMembers(code) {
		for _, j := range p.Design.Predictors[predictor].Coordinates {
			f(j, values[j])
		}
	}
}
