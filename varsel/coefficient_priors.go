package varsel

import (
	"math"

	"github.com/transdim/vti/varsel/exact"
)

// CoefficientPrior is the prior of a coefficient given that it is in the model, on the scale of the
// table. It is normal, or log-normal for a noise scale, when Mean and SD refer to the logarithm.
type CoefficientPrior struct {
	LogNormal bool   `json:"log_normal,omitempty"`
	Mean      Number `json:"mean"`
	SD        Number `json:"sd"`
}

// LogDensity returns the logarithm of the density at x, or −Inf if the density is zero.
func (p CoefficientPrior) LogDensity(x float64) float64 {
	jacobian := 0.0
	if p.LogNormal {
		if x <= 0 {
			return math.Inf(-1)
		}
		x = math.Log(x)
		jacobian = -x
	}
	z := (x - float64(p.Mean)) / float64(p.SD)
	return jacobian - z*z/2 - math.Log(float64(p.SD)) - math.Log(2*math.Pi)/2
}

// fillPriors adds priors to a result: the prior inclusion probabilities if they differ between
// predictors, the prior of the number of predictors of a model unless it depends on heredity, and
// the priors of the coefficients. No prior of the intercept is given: on the scale of the table it
// depends on the other coefficients.
func (p *Problem) fillPriors(r *Result) {
	groups := len(p.Design.Predictors)
	r.InclusionPrior = p.InclusionFile
	for j, probability := range p.Model.Prior.Inclusion {
		r.Inclusion[j].Prior = new(Number(probability))
	}
	if p.Target.heredity == nil {
		for _, probability := range p.Model.Prior.SizeProbs(groups) {
			r.SizePrior = append(r.SizePrior, Number(probability))
		}
	}
	if p.Model.Slab != (exact.Slab{}) {
		return // under a g-prior the prior of one coefficient depends on the others
	}
	column, planes := make(map[string]int, p.Target.Dim), p.Target.Planes()
	for i, name := range p.coefficientNames() {
		column[name] = i / planes
	}
	for k := range r.Coefficients {
		c := &r.Coefficients[k]
		if j, ok := column[c.Name]; ok && j != p.Design.Scaling.Level {
			slope := p.Design.Scaling.Slope(j)
			// if categories have no order, the log odds of any two have the sd of a coordinate
			c.Prior = &CoefficientPrior{Mean: Number(slope * p.Target.Mean[j*planes]), SD: Number(slope * p.Target.SD[j*planes])}
		} else if c.Name == p.Design.ScaleName() && p.UnknownScale() {
			scale := p.Target.Scale
			c.Prior = &CoefficientPrior{LogNormal: true, Mean: Number(p.Target.Mean[scale] + math.Log(p.Design.Scaling.YSD)), SD: Number(p.Target.SD[scale])}
		}
	}
}
