package regression

import (
	gocontext "context"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/verdict"
)

// Differences between an approximation and the integral, beyond four of their errors, that are put
// down to the approximation: of the log evidence, of means in standard deviations, and of standard
// deviations. Chosen by hand, as what would mislead a reader.
const (
	tolerableEvidence = 0.05
	tolerableShift    = 0.1
	tolerableSpread   = 0.1
)

// compareExact compares the answer of an approximation from so many effective draws with integrals
// that know nothing of it, where there are any, and lowers its verdict where they differ. Weights
// cannot tell that draws never come near a part of the posterior, as those of a mean field do not
// where effects depend on each other.
func (r *Regression) compareExact(ctx gocontext.Context, ess float64, result *Result) error {
	if !r.integrable() {
		return nil
	}
	found, err := r.integrate(ctx, r.effort(), *result.Seed, nil)
	if err != nil {
		return err
	}
	c := found.certificate()
	if c.Verdict != vti.Trusted {
		return nil
	}
	sample, err := found.sample(ctx)
	if err != nil {
		return err
	}
	exact := &Result{}
	r.fillSample(exact, sample)
	own := result.Certificate
	j := verdict.Judgement{Verdict: own.Verdict, Reasons: own.Reasons}
	difference := float64(*result.LogEvidence) - (c.LogEvidence + r.logJacobian)
	if beyond := math.Abs(difference) - 4*math.Hypot(float64(*result.LogEvidenceSE), c.LogEvidenceSE); !(beyond <= tolerableEvidence) {
		j.Lower(verdict.Failed, "the log evidence differs from the exact integral by %.2g, more than its errors allow", difference)
	}
	draws := float64(len(sample.codes))
	relative := math.Sqrt(1/math.Max(ess, 1) + 1/draws) // of a mean, in standard deviations
	want, got := slices.Concat(exact.Effects, exact.SDs), slices.Concat(result.Effects, result.SDs)
	for k, w := range want {
		// The error of a standard deviation is 1/√2 of this for a normal posterior, and more for a
		// skewed one.
		shift, spread := math.Abs(float64(got[k].Mean-w.Mean))/float64(w.SD), math.Abs(float64(got[k].SD/w.SD)-1)
		if shift-4*relative > tolerableShift || spread-4*relative > tolerableSpread {
			j.Lower(verdict.Failed, "%s is %.4g ± %.2g, but %.4g ± %.2g by exact integration", w.Name, float64(got[k].Mean), float64(got[k].SD), float64(w.Mean), float64(w.SD))
		}
	}
	own.Verdict, own.Reasons = j.Verdict, j.Reasons
	return nil
}
