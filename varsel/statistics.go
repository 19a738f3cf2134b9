package varsel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
)

// Summary describes data that are summary statistics of predictors instead of rows; see
// [design.ReadStatistics].
type Summary struct {
	// LD is the file of the correlations between predictors.
	LD string `json:"ld"`
	// Fingerprint is the SHA-256 of the file of the correlations.
	Fingerprint string `json:"fingerprint"`
	// Samples is the number of rows behind the statistics.
	Samples int `json:"samples"`
	// Shrink is a weight s. The correlations R are replaced by (1−s) R + s I.
	Shrink float64 `json:"shrink,omitempty"`
	// LDSamples is the number of rows behind the correlations if these are not the rows behind the
	// other statistics, and 0 otherwise.
	LDSamples int `json:"ld_samples,omitempty"`
}

// errOnStatistics is the error of runs on summary statistics that have no verdict. Only varsel.Run
// can lower its verdict if statistics contradict each other.
var errOnStatistics = errors.New("summary statistics are answered by varsel.Run, which compares them with each other")

func (s *Summary) design(scores *table.Table, opt DesignOptions) (*Design, error) {
	ld, err := run.ReadTable(s.LD, &s.Fingerprint)
	if err != nil {
		return nil, err
	}
	statistics, err := design.ReadStatistics(scores, ld, s.Samples)
	if err != nil {
		return nil, err
	}
	statistics.Shrink, statistics.LDSamples = s.Shrink, s.LDSamples
	return design.OfStatistics(scores.Path, statistics, opt)
}

// SummaryReport describes how well z-scores and correlations agree with each other.
type SummaryReport struct {
	// Samples is the number of rows behind the statistics.
	Samples int `json:"samples"`
	// Units are the units of coefficients.
	Units string `json:"units"`
	// Explained is the share of the response's variance that all predictors explain together. It
	// exceeds 1 only if the statistics come from different samples.
	Explained Number `json:"explained"`
	// Reconciled is set if the statistics do not contradict the assumption that all of them come
	// from one sample.
	Reconciled bool `json:"reconciled"`
	// Disagree holds the predictors whose z-scores disagree with the other statistics, the worst
	// one first.
	Disagree []Disagreement `json:"disagree,omitempty"`
}

// Disagreement is a z-score that is improbable given the correlations and the other z-scores.
type Disagreement struct {
	// Name is the name of the predictor.
	Name string `json:"name"`
	// Z is the z-score of the predictor.
	Z Number `json:"z"`
	// Expected is the mean, and SD the standard deviation, of the z-score given the model and the
	// z-scores of correlated predictors.
	Expected Number `json:"expected"`
	SD       Number `json:"sd"`
	// Flipped is set if the z-score with the opposite sign agrees: alleles may be exchanged.
	Flipped bool `json:"flipped,omitempty"`
}

const (
	// neighbours is the number of correlated predictors, in addition to the members of the best
	// model, from which the expectation of a z-score is computed. More predictors would take more
	// time, and correlations from a thousand rows do not determine their regression.
	neighbours = 32
	// chance is the probability that statistics without errors show at least one disagreement.
	chance = 0.01
	// roundedVariance is added to the variance of a z-score given other z-scores, for rounding.
	roundedVariance = 1e-8
	// mostHidden is the largest plausible effect of a predictor given correlated predictors
	// (neighbours), in units of the largest effect that their z-scores show. A larger effect would
	// have to be hidden by opposite effects of the neighbours; more likely a z-score is wrong.
	// Neighbours with correlation ½ hide an effect of this size.
	mostHidden = 2
	// hiddenLimits multiplies the limit for z-scores whose implied effect exceeds mostHidden, since
	// true effects of opposite signs look like this too. On the tables of
	// TestStatisticsThatContradict, the factor 1 would make one right answer in four doubtful, and
	// 2 would leave one exchanged allele in five trusted.
	hiddenLimits = 1.5
	// uneven is the smallest ratio of the variance of all z-scores to their expected variance that
	// counts as a disagreement. Many effects that are too small to be in a model add less to the
	// variance. With 1.25 and 2 the verdicts of TestStatisticsThatContradict are the same.
	uneven = 1.5
	// strange is the largest accepted standard error of the expectations of z-scores, in units of
	// z-scores, if the correlations come from other rows.
	strange = 0.1
	// unequal is the largest accepted excess of the explained share of the variance over 1, which
	// rounded numbers may cause.
	unequal = 1e-3
	// fittedMass is the total probability of the models over which expectations are averaged.
	fittedMass = 0.99
)

// reconcile compares the z-scores with the correlations, given the models of a certificate, and
// lowers the certificate's verdict if they disagree. It returns nil if the data are rows.
//
// Let z̃ = X'(y − Xθ)/(σ√n) at the posterior mean of θ. Given the other elements of z̃, each z̃_j
// is normal, as z-scores are if no predictor matters (the kriging of Zou et al. 2022). If the
// correlations come from another sample, alleles are exchanged or numbers rounded, z̃_j differs
// more from its conditional mean.
func (p *Problem) reconcile(c *vti.Certificate) (*SummaryReport, error) {
	s := p.Design.Statistics
	if s == nil {
		return nil, nil
	}
	report := &SummaryReport{Samples: s.Rows, Explained: Number(s.Explained), Units: "standard deviations of the response for one of the predictor"}
	before := len(c.Reasons)
	if s.SD != nil {
		report.Units = "units of the statistics"
	}
	theta, best, err := p.meanCoefficients(c)
	if err != nil {
		return nil, err
	}
	rest := mat.NewVecDense(len(p.Design.Y), slices.Clone(p.Design.Y))
	var fitted, inner mat.VecDense
	fitted.MulVec(p.Design.X, theta)
	rest.SubVec(rest, &fitted)
	rest.SetVec(0, 0) // without the part of the intercept
	_, residual := p.Design.Residual()
	sigma := math.Sqrt((mat.Dot(rest, rest) + residual) / float64(s.Rows))
	inner.MulVec(p.Design.X.T(), rest)
	count := len(s.Names)
	left, z := make([]float64, count), make([]float64, count)
	for j := range left {
		left[j] = inner.AtVec(1+j) / math.Sqrt(float64(s.Rows)) / sigma
		z[j] = s.Along[j] * math.Sqrt(float64(s.Rows))
	}
	report.Disagree = disagreements(s, left, z, sigma, best)
	freedom := float64(len(p.Design.Y) - 1)
	const advice = "; are they of the same sample, alleles and number of rows? --ld-shrink trusts the correlations less"
	if rows := s.LDSamples; rows > 0 && floats.Norm(z, math.Inf(1)) > strange*math.Sqrt(float64(rows)) {
		c.Lower(vti.Doubtful, "correlations of %d other rows leave the expectations of z-scores uncertain by up to ±%.2g", rows, floats.Norm(z, math.Inf(1))/math.Sqrt(float64(rows)))
	}
	if excess := mat.Dot(rest, rest) / sigma / sigma; excess > uneven*freedom && excess > (distuv.ChiSquared{K: freedom}).Quantile(1-chance) {
		c.Lower(vti.Doubtful, "beside the models found, the z-scores have %.3g times the variance that the correlations give them%s", excess/freedom, advice)
	}
	if s.Explained > 1+unequal {
		c.Lower(vti.Doubtful, "all predictors together explain %.3g of the variance of the response, more than there is, so that z-scores, correlations and the number of rows contradict each other%s", s.Explained, advice)
	}
	if n := len(report.Disagree); n > 0 {
		worst := report.Disagree[0]
		c.Lower(vti.Doubtful, "%d of %d z-scores disagree with the correlations, most of all %s: z is %.3g, and given the others %.3g ± %.2g%s", n, count, worst.Name, float64(worst.Z), float64(worst.Expected), float64(worst.SD), advice)
	}
	if len(s.Apart) > 0 {
		c.Lower(vti.Doubtful, "%s left out as a duplicate has another z-score than the original%s", strings.Join(s.Apart[:min(3, len(s.Apart))], ", "), advice)
	}
	report.Reconciled = len(c.Reasons) == before
	return report, nil
}

// disagreements returns the z-scores that disagree with the other statistics, the worst one first.
// The argument left holds z-scores of the residuals, in units of the noise scale sigma, z holds the
// z-scores, and best the predictors of the most probable model.
func disagreements(s *design.Statistics, left, z []float64, sigma float64, best []int) (list []Disagreement) {
	count := len(z)
	limit := distuv.UnitNormal.Quantile(1 - chance/2/float64(count))
	found := make([]*Disagreement, count)
	parallel.Run(count, func(j int) {
		weights, nearest, variance := s.Given(j, neighbours, best)
		sd := math.Sqrt(math.Max(variance, 0) + roundedVariance)
		conditionalMean := func(values []float64) (mean float64) {
			for k, at := range nearest {
				mean += weights[k] * values[at]
			}
			return mean
		}
		off, raw := left[j]-conditionalMean(left), z[j]-conditionalMean(z)
		largest, hidden := 0.0, false
		for _, k := range nearest {
			largest = math.Max(largest, math.Abs(z[k]))
		}
		if len(nearest) > 0 {
			r := s.Correlations[j*count+nearest[0]] // the correlation with the nearest neighbour
			hidden = math.Abs(raw) > hiddenLimits*limit*sd && math.Abs(r*raw) > mostHidden*largest*sd*sd
		}
		if math.Abs(off) > limit*sd || hidden {
			scale := sigma
			if hidden {
				off, scale = raw, 1
			}
			flipped := math.Abs(raw) > limit*sd && math.Abs(2*z[j]-raw) < limit/2*sd
			found[j] = &Disagreement{Name: s.Names[j], Z: Number(z[j]), Expected: Number(z[j] - off*scale), SD: Number(sd * scale), Flipped: flipped}
		}
	})
	for _, d := range found {
		if d != nil {
			list = append(list, *d)
		}
	}
	distance := func(d Disagreement) float64 { return math.Abs(float64((d.Z - d.Expected) / d.SD)) }
	slices.SortStableFunc(list, func(a, b Disagreement) int { return cmp.Compare(distance(b), distance(a)) })
	return list
}

// meanCoefficients returns the posterior mean of the coefficients of standardised columns, and the
// predictors of the most probable model.
func (p *Problem) meanCoefficients(c *vti.Certificate) (mean *mat.VecDense, best []int, err error) {
	t := p.Target
	mean = mat.NewVecDense(p.Design.Dim(), nil)
	covered := 0.0
	for k, m := range c.Models {
		if covered >= fittedMass {
			break
		}
		members := p.members(m.Code)
		if k == 0 {
			best = members
		}
		a := t.active(t.code(members))
		posterior, err := t.Posterior(a)
		if err != nil {
			return nil, nil, fmt.Errorf("the mean of a model of %d predictors: %w", len(members), err)
		}
		logSigma, _ := posterior.Peak()
		theta := make([]float64, len(a.Coordinates))
		posterior.Mode(logSigma, theta)
		for i, j := range a.Coordinates {
			mean.SetVec(j, mean.AtVec(j)+m.Certified*theta[i])
		}
		covered += m.Certified
	}
	mean.ScaleVec(1/math.Max(covered, 1e-300), mean)
	return mean, best, nil
}
