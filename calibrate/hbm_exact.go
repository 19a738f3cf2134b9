package calibrate

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/likelihood"
)

// exactHbm is the exact posterior of a table, in its units.
type exactHbm struct {
	logEvidence                float64
	slope, spread, sigma, sets [2]float64 // mean and sd; sets of the first group, 0 where not known
}

func (t *hbmTable) exactly(ctx context.Context, model regression.Options, kind likelihood.Kind) (*exactHbm, error) {
	switch kind {
	case likelihood.GaussianKind:
		return t.exact(model)
	case likelihood.LogNormalKind:
		own, jacobian := *t, 0.0
		own.y = make([]float64, len(t.y))
		for i, y := range t.y {
			own.y[i] = math.Log(y)
			jacobian += own.y[i]
		}
		found, err := own.exact(model)
		if err == nil {
			found.logEvidence -= jacobian
		}
		return found, err
	case likelihood.CategoricalKind: // of two categories
		return t.exactLinked(ctx, model, likelihood.LogisticKind)
	}
	return t.exactLinked(ctx, model, kind)
}

// exact integrates over the logarithm of the sd of groups. Given the sd, the rest is a Gaussian
// regression with columns of the groups.
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
	found, err := over(line.Options{From: -16, To: 4, Step: 0.5}, func(at float64) (modelMoments, error) {
		for g := range groups {
			p.priorSD[2+g] = unit * math.Exp(at)
		}
		m, err := p.gaussian(coordinates)
		m.logEvidence += logRatio(model.SDPrior, math.Exp(at)) + at // dz = z d log z
		return m, err
	}, func(at float64) float64 { return unit * math.Exp(at) })
	if err != nil {
		return nil, err
	}
	of := func(at int) [2]float64 { return [2]float64{found.mean[at], found.variance[at]} }
	out := &exactHbm{logEvidence: found.logEvidence - float64(n)*math.Log(ySD), slope: of(1), sigma: of(2 + groups), spread: of(3 + groups), sets: of(2)}
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
