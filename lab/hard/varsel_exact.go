package hard

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/exact"
)

// logScaleSD and the function logShapeSD hold prior standard deviations of vti varsel that no
// option sets. They are written here again so that a wrong prior in the program shows.
const logScaleSD = 2 // prior sd of log σ, whose prior mean is the log sd of the response

// logShapeSD returns the prior sd of the logarithm of the parameter that a response has in addition
// to η: odds, a shape or a precision. Its prior mean is 0.
func logShapeSD(kind likelihood.Kind) float64 {
	if kind == likelihood.ZeroInflatedKind || kind == likelihood.HurdleKind {
		return 2
	}
	return 3
}

// exactVarsel returns the exact posterior of a problem, or an error if there is none.
func exactVarsel(p *varsel.Problem) (*exactPosterior, error) {
	design, model := p.Design, p.Model
	groups := len(design.Predictors)
	problem := &regressionProblem{
		x: design.X, y: design.Y, offset: design.Offset, always: design.Always, groups: design.Groups(),
		priorMean: make([]float64, design.Dim()), priorSD: slices.Repeat([]float64{model.SlabScale}, design.Dim()),
	}
	problem.logPrior = model.Prior.LogProbs(groups)
	centre, spread := 0.0, 1.0
	switch {
	case !design.Likelihood.Continuous() && model.ResponseSD > 0:
		centre = model.ResponseMean
	case !design.Likelihood.Continuous():
		centre = design.Likelihood.Centre(design.Y, design.Offset)
	case model.ResponseSD > 0: // the response is standardised by its own sd
		centre = (model.ResponseMean - design.Scaling.YMean) / design.Scaling.YSD
		spread = model.ResponseSD / design.Scaling.YSD
		for j := range problem.priorSD {
			problem.priorSD[j] *= spread
		}
	default:
		centre = stat.Mean(design.Y, nil)
		if sd := stat.StdDev(design.Y, nil); sd > 0 {
			spread = sd
		}
	}
	if j := design.Intercept; j >= 0 {
		problem.priorMean[j], problem.priorSD[j] = centre, calibrate.InterceptSD*spread
	}
	problem.logSigmaMean, problem.logSigmaSD = math.Log(spread), logScaleSD
	switch model.Likelihood {
	case likelihood.GaussianKind:
		if model.Slab.Kind == exact.FixedG && model.Slab.G != 0 {
			return problem.solve(problem.gPrior(model.Slab.G))
		}
		problem.sigma = model.Sigma / design.Scaling.YSD
		if problem.subsets() == nil {
			return problem.gaussianBlocks()
		}
		return problem.solve(problem.gaussian)
	case likelihood.StudentKind:
		problem.sigma = model.Sigma / design.Scaling.YSD
		return problem.solve(problem.cells(studentRow(model.Degrees)))
	case likelihood.RobustKind:
		ratio := model.Sigma2 / model.Sigma1
		few := mostAssigned
		if model.UnknownSigma1 {
			few = mostAssignedOver
		} else {
			problem.sigma = model.Sigma1 / design.Scaling.YSD
		}
		switch {
		case design.Rows() > few:
			return problem.solve(problem.cells(robustRow(model.Outlier, ratio)))
		case model.UnknownSigma1:
			return problem.solve(problem.overSigma(func(fixed *regressionProblem) func([]int) (modelMoments, error) {
				return fixed.robust(model.Outlier, ratio)
			}))
		}
		return problem.solve(problem.robust(model.Outlier, ratio))
	case likelihood.LogisticKind:
		return problem.concave(logisticRow)
	case likelihood.CategoricalKind:
		if len(design.Levels) != 2 {
			return nil, fmt.Errorf("no exact answer for %d categories without an order, want 2", len(design.Levels))
		}
		return problem.solve(problem.quadrature(logisticRow))
	case likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind:
		if len(design.Levels) != 3 {
			return nil, fmt.Errorf("no exact answer for %d categories in order, want 3", len(design.Levels))
		}
		problem.addLevel()
		return problem.solve(problem.ordered(model.Likelihood))
	case likelihood.PoissonKind:
		return problem.concave(poissonRow)
	}
	if row := shapedRows(model.Likelihood); row != nil && model.Sigma == 0 {
		problem.logSigmaMean, problem.logSigmaSD = 0, logShapeSD(model.Likelihood)
		return problem.solve(problem.shaped(row, model.Likelihood.Scale() != ""))
	}
	return nil, fmt.Errorf("no exact answer for the %s likelihood", model.Likelihood)
}

// concave returns the exact posterior under a concave log likelihood.
func (p *regressionProblem) concave(row rowDensity) (*exactPosterior, error) {
	if p.subsets() == nil {
		return p.rowBlocks(row)
	}
	return p.solve(p.quadrature(row))
}

// addLevel adds an intercept, which stands for the first cut point, as the last coordinate.
func (p *regressionProblem) addLevel() {
	rows, columns := p.x.Dims()
	x := mat.NewDense(rows, columns+1, nil)
	x.Apply(func(i, j int, _ float64) float64 {
		if j == columns {
			return 1
		}
		return p.x.At(i, j)
	}, x)
	p.x, p.priorMean, p.priorSD = x, append(p.priorMean, 0), append(p.priorSD, math.NaN())
	p.always = append(slices.Clone(p.always), columns)
	p.logSigmaMean = 0
}

// ExactVarsel compares an answer of vti varsel with the exact posterior, in the units of the table.
func ExactVarsel(_ context.Context, p *varsel.Problem, result *varsel.Result) (list []calibrate.Comparison, err error) {
	exact, err := exactVarsel(p)
	if err != nil {
		return nil, err
	}
	design := p.Design
	add := func(quantity calibrate.Quantity, subject string, stated, se, exact float64) {
		list = append(list, compared(quantity, subject, stated, se, exact))
	}
	if result.LogEvidence != nil {
		add(calibrate.Evidence, "", float64(*result.LogEvidence), float64(*result.LogEvidSE), exact.logEvidence+design.LogJacobian())
	}
	for g, predictor := range result.Inclusion {
		add(calibrate.Inclusion, predictor.Name, float64(predictor.Certified), float64(predictor.SE), exact.inclusion[g])
	}
	in := make([]float64, design.Dim()+1) // exact probability of each coordinate
	for _, j := range design.Always {
		in[j] = 1
	}
	in[design.Dim()] = 1
	for g, predictor := range design.Predictors {
		for _, j := range predictor.Coordinates {
			in[j] = exact.inclusion[g]
		}
	}
	for _, c := range result.Coefficients {
		name := c.Name
		if design.Likelihood == likelihood.CategoricalKind { // of two categories, whose second has the coefficients
			name = strings.TrimPrefix(name, design.Levels[1]+":")
		}
		j := slices.Index(design.Names, name)
		slope := design.Scaling.YSD
		switch {
		case j == design.Scaling.Level && j >= 0:
			continue // skip the intercept, since the cut point depends on the other coefficients
		case j >= 0:
			slope /= design.Scaling.SD[j]
		case p.UnknownScale():
			j = design.Dim()
		default:
			continue
		}
		if in[j] < rareTruth || math.IsNaN(exact.meanIn[j]) || math.IsNaN(float64(c.MeanGivenIn)) {
			continue
		}
		add(calibrate.Mean, c.Name, float64(c.MeanGivenIn)/slope/exact.sdIn[j], float64(c.MeanGivenInSE)/slope/exact.sdIn[j], exact.meanIn[j]/exact.sdIn[j])
		add(calibrate.SD, c.Name, math.Log(float64(c.SDGivenIn)/slope), float64(c.SDGivenInSE/c.SDGivenIn), math.Log(exact.sdIn[j]))
	}
	return list, nil
}
