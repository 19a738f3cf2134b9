package varsel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/varsel/regression"
)

// resampled is the number of equally weighted draws that a run writes. A mean over these draws has
// a standard error of a hundredth of a posterior standard deviation.
const resampled = 10000

// Draws are posterior draws on the scale of the table.
//
// If models are written as bits, Codes have one bit for each predictor, and Values one column for
// each column of the design. If they are written as lists, site t of a code holds the number of the
// t-th predictor in the model, counted from 1 in table order, or 0 if the model has no more
// predictors. The columns of Values are then the columns of the design that are in every model,
// followed by a block for each site, as wide as the largest number of columns of a predictor.
type Draws struct {
	// Names holds the names of the columns of Values: the coefficients, followed by "sigma", if it
	// is unknown, or by the cut points.
	Names []string
	// Codes [N][S] holds the models of the N draws, as codes of length S.
	Codes [][]int32
	// Values holds the coefficients [N, len(Names)], 0 where a predictor is not in the model.
	Values *mat.Dense
	// Chain holds the number of each draw's chain, from 1; it is nil for independent draws.
	Chain []int32
	// LogP is the unnormalised log posterior density for standardised columns and response (the
	// working scale). LogQ is the log density under the approximation from which the draws were
	// made; nil for other draws.
	LogP, LogQ []float64
}

// coordinateNames returns the names of the columns of Draws.Values.
func (p *Problem) coordinateNames() []string {
	if p.Slots != nil {
		return p.Slots.coordinateNames()
	}
	return slices.Concat(p.coefficientNames(), p.extraNames())
}

// toOriginal maps draws of the target's coordinates theta [N,D] to the scale of the table.
func (p *Problem) toOriginal(codes [][]int32, theta *mat.Dense) *Draws {
	draws := &Draws{Names: p.coordinateNames(), Codes: codes}
	draws.Values = mat.NewDense(max(len(codes), 1), len(draws.Names), nil)
	if p.Slots != nil {
		draws.Codes = make([][]int32, len(codes))
		for i, code := range codes {
			draws.Codes[i] = p.Slots.toOriginal(code, theta.RawRowView(i), draws.Values.RawRowView(i))
		}
		return draws
	}
	dim := p.Design.Dim() * p.Target.Planes()
	for i := range codes {
		row := draws.Values.RawRowView(i)
		p.eachPlane(row, theta.RawRowView(i), p.Design.Scaling.ToOriginal)
		if c, ok := p.Target.Unordered(); ok {
			p.eachColumn(row, c.LogOdds)
		}
		switch {
		case p.Design.Likelihood.Ordered():
			copy(row[dim:], p.cuts(theta.RawRowView(i)[dim:], row[:dim]))
		case p.UnknownScale():
			row[dim] = math.Exp(theta.At(i, p.Target.Scale)) * p.Design.Scaling.YSD
		}
	}
	return draws
}

// fromOriginal inverts toOriginal for one draw: it sets the coordinates theta [D] and returns the
// code of the model.
func (p *Problem) fromOriginal(code []int32, values, theta []float64) []int32 {
	if p.Slots != nil {
		return p.Slots.fromOriginal(code, values, theta)
	}
	dim := p.Design.Dim() * p.Target.Planes()
	if c, ok := p.Target.Unordered(); ok {
		values = slices.Clone(values)
		p.eachColumn(values, c.Coordinates)
	}
	p.eachPlane(theta, values, p.Design.Scaling.FromOriginal)
	switch {
	case p.Design.Likelihood.Ordered():
		copy(theta[dim:], p.sticks(values[dim:], values[:dim]))
	case p.UnknownScale():
		theta[p.Target.Scale] = math.Log(values[dim] / p.Design.Scaling.YSD)
	}
	return code
}

// eachPlane applies the function move to the coefficients [D] of each linear predictor. It reads
// coefficients from the argument from, and writes the results to the argument to.
func (p *Problem) eachPlane(to, from []float64, move func(dst, src []float64) []float64) {
	dim, planes := p.Design.Dim(), p.Target.Planes()
	if planes == 1 {
		move(to[:dim], from[:dim])
		return
	}
	plane := make([]float64, dim)
	for m := range planes {
		for j := range plane {
			plane[j] = from[j*planes+m]
		}
		move(plane, plane)
		for j, v := range plane {
			to[j*planes+m] = v
		}
	}
}

// summarizeDraws returns the posterior of every coefficient and of sigma or the cut points, from
// weighted draws. chain holds the number of each draw's chain, from 0; it is nil without chains.
// modelDraw holds the number of the draw of a model behind each draw, as in vti.WeightedSample. If
// orbits is not nil, moments are averages of integrals along curves through the draws. If models
// are lists, columns that are in no draw are left out.
func (p *Problem) summarizeDraws(draws *Draws, weights []float64, chain, modelDraw []int, orbits *regression.ScaleOrbits) []Coefficient {
	coefficientNames := p.coefficientNames()
	names := slices.Concat(coefficientNames, p.extraNames())
	included := make([]coefficientDraws, len(names))
	always := make([]bool, len(names))
	for _, j := range regression.EachPlane(p.Design.Always, p.Target.Planes()) {
		always[j] = true
	}
	for j := len(coefficientNames); j < len(names); j++ {
		always[j] = true
	}
	var mass float64
	chains := 0
	for _, c := range chain {
		chains = max(chains, c+1)
	}
	for i, code := range draws.Codes {
		if weights[i] == 0 {
			continue
		}
		mass += weights[i]
		p.visit(code, draws.Values.RawRowView(i), func(column int, value float64) {
			coefficient := &included[column]
			coefficient.values = append(coefficient.values, weighted.Value{Value: value, Weight: weights[i]})
			if chain != nil {
				coefficient.chain = append(coefficient.chain, chain[i])
			}
			if modelDraw != nil {
				coefficient.modelDraw = append(coefficient.modelDraw, modelDraw[i])
			}
			if orbits != nil {
				centre := 0.0 // the centre is 0 for σ
				if column < len(coefficientNames) {
					centre = draws.Values.At(orbits.Centre[i], column)
				}
				coefficient.expected = append(coefficient.expected, centre+(value-centre)*orbits.Mean[i])
				coefficient.within = append(coefficient.within, (value-centre)*(value-centre)*orbits.Variance[i])
			}
		})
	}
	var coefficients []Coefficient
	for j, name := range names {
		if always[j] || len(included[j].values) > 0 || j < len(coefficientNames) && p.Slots == nil {
			coefficients = append(coefficients, included[j].summarize(name, mass, chains))
		}
	}
	return coefficients
}

// visit calls the function f for every coefficient in the model of a draw, and for sigma or the cut
// points. column is the coordinate of a coefficient, or a larger number for the others.
func (p *Problem) visit(code []int32, values []float64, f func(column int, value float64)) {
	if p.Slots != nil {
		p.Slots.visit(code, values, f)
		return
	}
	planes := p.Target.Planes()
	coefficients := func(columns []int) {
		for _, j := range columns {
			for at := j * planes; at < (j+1)*planes; at++ {
				f(at, values[at])
			}
		}
	}
	coefficients(p.Design.Always)
	for at := p.Design.Dim() * planes; at < len(values); at++ {
		f(at, values[at])
	}
	for _, predictor := range bitMembers(code) {
		coefficients(p.Design.Predictors[predictor].Coordinates)
	}
}

// levels holds the probabilities at which quantiles of coefficients are reported.
var levels = []float64{0.025, 0.975}

// coefficientDraws holds the weighted draws whose model includes a coefficient. In all other draws
// the coefficient is zero.
type coefficientDraws struct {
	values []weighted.Value
	chain  []int // number of the chain of each draw, from 0; nil without chains
	// for each draw, the number of the weighted draw of its model; nil if the weights of models
	// have no errors
	modelDraw []int
	// mean and variance along the curve (orbit) through each draw; nil without orbits
	expected, within []float64
}

// summarize sorts the draws and returns the posterior of the coefficient. mass is the total weight
// of the draws of all models, and chains the number of chains. Means and standard deviations are
// NaN if the draws cannot estimate them (weighted.MomentsOf, weighted.MomentsOfChains).
func (d *coefficientDraws) summarize(name string, mass float64, chains int) Coefficient {
	weight, value, share := make([]float64, len(d.values)), make([]float64, len(d.values)), 0.0
	for i, v := range d.values {
		weight[i], value[i] = v.Weight, v.Value
		share += v.Weight / mass
	}
	share = min(share, 1) // above 1 only by rounding
	var m weighted.Moments
	switch {
	case d.chain != nil:
		m = weighted.MomentsOfChains(weight, value, d.chain, chains)
	case d.expected != nil:
		m = weighted.MomentsOf(weight, d.expected, d.within, d.modelDraw)
	default:
		m = weighted.MomentsOf(weight, value, nil, d.modelDraw)
	}
	all, included := weighted.Summarise(d.values, mass, levels)
	if len(value) > 0 {
		// law of total variance: the coefficient is zero in all draws of other models
		all.Mean, all.SD = share*m.Mean, math.Sqrt(share*m.SD*m.SD+share*(1-share)*m.Mean*m.Mean)
		if math.IsNaN(m.Mean) {
			included.Quantiles[0], included.Quantiles[1] = math.NaN(), math.NaN()
		}
	}
	return Coefficient{
		Name: name, Mean: Number(all.Mean), SD: Number(all.SD),
		MeanGivenIn: Number(m.Mean), MeanGivenInSE: Number(m.MeanSE), SDGivenIn: Number(m.SD), SDGivenInSE: Number(m.SDSE),
		Q025: Number(all.Quantiles[0]), Q975: Number(all.Quantiles[1]),
		Q025GivenIn: Number(included.Quantiles[0]), Q975GivenIn: Number(included.Quantiles[1]),
	}
}
