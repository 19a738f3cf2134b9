package hard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/likelihood"
)

// grouped is a table with one predictor and groups.
type grouped struct {
	about  string
	x, y   []float64
	group  []int
	groups int
	first  int // number of the group whose effect is compared
}

// ExactHbm compares an answer of vti hbm with the exact posterior. It returns an error if there is
// no exact posterior for the response.
func ExactHbm(ctx context.Context, p *regression.Regression, result *regression.Result) ([]calibrate.Comparison, error) {
	kind := p.Frame.Response
	fixed := kind == likelihood.GaussianKind || kind == likelihood.LogisticKind || kind == likelihood.PoissonKind
	if kind == likelihood.StudentKind || !fixed && p.Options.ResponseSD != 0 { // the priors do not depend on the response
		return nil, fmt.Errorf("no exact answer for the %s likelihood with these priors", kind)
	}
	g, x := p.Frame.Groupings[0], slices.IndexFunc(p.Frame.Columns, func(c frame.Column) bool { return c.Name == "x" })
	t := &grouped{x: mat.Col(nil, x, p.Frame.X), y: p.Frame.Y, group: g.Index, groups: len(g.Levels), first: slices.Index(g.Levels, firstGroup)}
	found, err := t.exactly(ctx, p.Options, kind)
	if err != nil {
		return nil, err
	}
	return found.compare(result), nil
}

const firstGroup = "g0"

// exactHbm is the exact posterior of a table with groups, in the units of the table.
type exactHbm struct {
	logEvidence                float64
	slope, spread, sigma, sets [2]float64 // mean and sd; sets is the effect of one group, or 0
}

func (t *grouped) exactly(ctx context.Context, model regression.Options, kind likelihood.Kind) (*exactHbm, error) {
	switch kind {
	case likelihood.GaussianKind:
		return t.exact(model)
	case likelihood.LogNormalKind:
		logged, jacobian := *t, 0.0
		logged.y = make([]float64, len(t.y))
		for i, y := range t.y {
			logged.y[i] = math.Log(y)
			jacobian += logged.y[i]
		}
		found, err := logged.exact(model)
		if err == nil {
			found.logEvidence -= jacobian
		}
		return found, err
	case likelihood.CategoricalKind: // two categories
		return t.exactLinked(ctx, model, likelihood.LogisticKind)
	}
	return t.exactLinked(ctx, model, kind)
}

// exact returns the exact posterior for a normal response. It integrates over the logarithm of the
// sd of groups. Given the sd, the model is a Gaussian regression with one column for each group.
func (t *grouped) exact(model regression.Options) (*exactHbm, error) {
	n, groups := len(t.y), t.groups
	yMean, ySD := 0.0, 1.0
	if model.ResponseSD == 0 { // priors depend on the response
		yMean, ySD = stat.MeanStdDev(t.y, nil)
	}
	xMean, xSD := stat.MeanStdDev(t.x, nil)
	p := &regressionProblem{
		x: mat.NewDense(n, 2+groups, nil), y: make([]float64, n), priorMean: make([]float64, 2+groups), priorSD: make([]float64, 2+groups),
		logSigmaSD: logScaleSD,
	}
	p.priorSD[0], p.priorSD[1] = cmp.Or(model.InterceptScale, calibrate.InterceptSD), cmp.Or(model.CoefficientScale, 1.5)
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
	found, err := over(line.Options{From: -16, To: 4, Step: 0.5}, func(logSD float64) (modelMoments, error) {
		for g := range groups {
			p.priorSD[2+g] = unit * math.Exp(logSD)
		}
		m, err := p.gaussian(coordinates)
		m.logEvidence += logRatio(model.SDPrior, math.Exp(logSD)) + logSD // dz = z d log z
		return m, err
	}, func(logSD float64) float64 { return unit * math.Exp(logSD) })
	if err != nil {
		return nil, err
	}
	momentsOf := func(at int) [2]float64 { return [2]float64{found.mean[at], found.variance[at]} }
	out := &exactHbm{logEvidence: found.logEvidence - float64(n)*math.Log(ySD), slope: momentsOf(1), sigma: momentsOf(2 + groups), spread: momentsOf(3 + groups), sets: momentsOf(2 + t.first)}
	for _, one := range []*[2]float64{&out.slope, &out.spread, &out.sigma, &out.sets} {
		one[0], one[1] = one[0]*ySD, math.Sqrt(one[1])*ySD
	}
	out.slope[0], out.slope[1] = out.slope[0]/xSD, out.slope[1]/xSD
	return out, nil
}

// compare compares an answer with the exact posterior.
func (e *exactHbm) compare(result *regression.Result) (list []calibrate.Comparison) {
	add := func(name string, s regression.Summary, exact [2]float64) {
		list = append(list,
			compared(calibrate.Mean, name, float64(s.Mean)/exact[1], float64(s.MeanSE)/exact[1], exact[0]/exact[1]),
			compared(calibrate.SD, name, math.Log(float64(s.SD)), float64(s.SDSE/s.SD), math.Log(exact[1])))
	}
	if result.LogEvidence != nil && result.LogEvidenceSE != nil {
		list = append(list, compared(calibrate.Evidence, "", float64(*result.LogEvidence), float64(*result.LogEvidenceSE), e.logEvidence))
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
		if v.Level == firstGroup && e.sets[1] > 0 {
			add("first group", regression.Summary{Mean: v.Mean, MeanSE: v.MeanSE, SD: v.SD, SDSE: v.SDSE}, e.sets)
		}
	}
	return list
}

func logRatio(prior regression.SDPrior, z float64) float64 {
	switch prior {
	case regression.HalfCauchySD:
		return math.Log(2/math.Pi) - math.Log1p(z*z)
	case regression.ExponentialSD:
		return -z
	}
	return math.Ln2 - halfLog2Pi - z*z/2
}
