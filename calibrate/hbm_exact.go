package calibrate

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/regression"
)

// exactHbm is the exact posterior of a table, in its units.
type exactHbm struct {
	logEvidence                float64
	slope, spread, sigma, sets [2]float64 // mean and sd; sets of the first group, 0 where not known
}

// exact integrates over the sd of groups by the trapezoidal rule over its logarithm; given that,
// the rest is a Gaussian regression whose columns are those of the groups too.
func (t *hbmTable) exact(model regression.Options) (*exactHbm, error) {
	n, groups := len(t.y), len(t.levels)
	yMean, ySD := 0.0, 1.0
	if t.refersToResponseSD {
		yMean, ySD = stat.MeanStdDev(t.y, nil)
	}
	xMean, xSD := stat.MeanStdDev(t.x, nil)
	p := &regressionProblem{
		x: mat.NewDense(n, 2+groups, nil), y: make([]float64, n), priorMean: make([]float64, 2+groups), priorSD: make([]float64, 2+groups),
		logSigmaSD: logScaleSD,
	}
	p.priorSD[0], p.priorSD[1] = cmp.Or(model.InterceptScale, interceptSD), cmp.Or(model.CoefficientScale, 1.5)
	coordinates := make([]int, 2+groups)
	for j := range coordinates {
		coordinates[j] = j
	}
	for i := range n {
		p.y[i] = (t.y[i] - yMean) / ySD
		p.x.Set(i, 0, 1)
		p.x.Set(i, 1, (t.x[i]-xMean)/xSD)
		p.x.Set(i, 2+t.group[i], 1)
	}
	unit := cmp.Or(model.SDScale, 1)
	var terms []float64
	var list []modelMoments
	var spreads []float64
	for at := spreadBelow; at <= spreadAbove; at += spreadStep {
		spread := unit * math.Exp(at)
		for g := range groups {
			p.priorSD[2+g] = spread
		}
		moments, err := p.gaussian(coordinates)
		if err != nil {
			return nil, err
		}
		z := spread / unit
		// dz = z d log z
		terms = append(terms, moments.logEvidence+logRatio(model.SDPrior, z)+at+math.Log(spreadStep))
		list, spreads = append(list, moments), append(spreads, spread)
	}
	total := floats.LogSumExp(terms)
	out := &exactHbm{logEvidence: total - float64(n)*math.Log(ySD)}
	average(terms, func(k int, add func(to *[2]float64, mean, variance float64)) {
		add(&out.slope, list[k].mean[1], list[k].variance[1])
		add(&out.spread, spreads[k], 0)
		add(&out.sigma, list[k].mean[2+groups], list[k].variance[2+groups])
		add(&out.sets, list[k].mean[2], list[k].variance[2])
	})
	for _, one := range []*[2]float64{&out.slope, &out.spread, &out.sigma, &out.sets} {
		one[0], one[1] = one[0]*ySD, math.Sqrt(one[1])*ySD
	}
	out.slope[0], out.slope[1] = out.slope[0]/xSD, out.slope[1]/xSD
	return out, nil
}

// compare compares an answer with it.
func (e *exactHbm) compare(result *regression.Result) (list []Comparison) {
	add := func(name string, s regression.Summary, exact [2]float64) {
		list = append(list,
			Comparison{Mean, name, Number(float64(s.Mean) / exact[1]), Number(float64(s.MeanSE) / exact[1]), Number(exact[0] / exact[1])},
			Comparison{SD, name, Number(math.Log(float64(s.SD))), Number(float64(s.SDSE / s.SD)), Number(math.Log(exact[1]))})
	}
	if result.LogEvidence != nil && result.LogEvidenceSE != nil {
		list = append(list, Comparison{Evidence, "", *result.LogEvidence, *result.LogEvidenceSE, Number(e.logEvidence)})
	}
	for _, s := range result.Effects {
		if s.Name == "x" {
			add("slope", s, e.slope)
		}
	}
	for _, s := range result.SDs {
		switch s.Name {
		case "sd((Intercept) | g)":
			add("sd of groups", s, e.spread)
		case "sigma":
			add("sigma", s, e.sigma)
		}
	}
	for _, v := range result.Varying {
		if v.Level == "g0" && e.sets[1] > 0 {
			add("first group", regression.Summary{Mean: v.Mean, MeanSE: v.MeanSE, SD: v.SD, SDSE: v.SDSE}, e.sets)
		}
	}
	return list
}

// The grid over the logarithm of the sd of groups.
const (
	spreadBelow = -16.0
	spreadAbove = 16.0 // beyond it lies 1e−7 of a half-Cauchy prior
	spreadStep  = 0.05
)
