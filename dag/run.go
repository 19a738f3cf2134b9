package dag

import (
	gocontext "context"
	"math/rand/v2"
)

// describe summarises the mechanisms by edge and by node, and writes draws to the run directory.
// exact may be nil.
// random is that of source.
func (p *Problem) describe(ctx gocontext.Context, result *Result, dir string, posterior mixture, source parameterSource, exact edgeMoments, d drawn, random *rand.Rand) error {
	var err error
	independent := float64(len(d.parents))
	if result.Certificate.ESS > 0 {
		independent = min(independent, float64(result.Certificate.ESS))
	}
	if result.Effects, err = p.totalEffects(ctx, d, independent, random); err != nil {
		return err
	}
	if p.Model.Mechanism == Mixed && p.Data.missing == nil {
		if result.ModelCheck, err = p.checkModel(ctx, posterior, source, random); err != nil {
			return err
		}
	}
	if p.Model.Mechanism.integrated() { // no slopes and no residuals
		return p.writeDraws(dir, *result.Seed, d)
	}
	if result.Parameters, err = p.effects(ctx, posterior, source, exact, random); err != nil {
		return err
	}
	if p.Data.missing != nil { // cells that were drawn fit
		return p.writeDraws(dir, *result.Seed, d)
	}
	if result.Checks, err = p.checkNodes(ctx, posterior, source, random); err != nil {
		return err
	}
	if result.ModelCheck, err = p.checkModel(ctx, posterior, source, random); err != nil {
		return err
	}
	return p.writeDraws(dir, *result.Seed, d)
}
