package regression

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
)

// drawExactly draws everything: a model and its hyperparameters by their weights, and all effects
// from their joint normal distribution given these.
func (r *Regression) drawExactly(ctx gocontext.Context, found *integral, seed uint64) (*posteriorSample, error) {
	d, effects := found.draws, found.effects
	rows := r.chooseDraws(d.weight, seed)
	if len(rows) == 0 {
		return r.noSample(), nil
	}
	s := r.emptySample(len(rows))
	s.moments, s.ess = found.moments, found.certificate.ESS
	for _, row := range rows {
		m, at := d.models[d.model[row]], d.place[row]
		logPrior := r.space.logPrior[r.index(m.code)]
		s.codes = append(s.codes, m.code)
		s.logP = append(s.logP, logPrior+m.sample.LogDensity[at])
		s.logQ = append(s.logQ, logPrior+m.sample.LogProposal[at])
	}
	chunks := (len(rows) + drawChunk - 1) / drawChunk
	rough := make([]int, chunks)
	err := parallel.Do(chunks, func(c int) error {
		random, check, theta := stream.Rand(seed, fmt.Sprintf("hbm/effects/%d", c)), r.newCheck(), make([]float64, r.Dim())
		for k := c * drawChunk; k < min((c+1)*drawChunk, len(rows)); k++ {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("drawing effects stopped after %d of %d draws: %w", k, len(rows), err)
			}
			m, place := d.models[d.model[rows[k]]], d.place[rows[k]]
			given, drawn, ok := m.effectsAt(effects, place, theta, random)
			if !ok {
				return fmt.Errorf("%s: effects given standard deviations with a posterior density have no factor", r.Frame.Path)
			}
			if given.rounding > roughRounding {
				rough[c]++
			}
			r.drawGiven(s, k, given, drawn, m.mask, theta, check, random)
		}
		return nil
	})
	for _, count := range rough {
		s.rough += float64(count) / float64(len(rows))
	}
	return s, err
}

// drawGiven writes drawn effects, given hyperparameters, as the k-th draw of a sample. theta is
// overwritten.
func (r *Regression) drawGiven(s *posteriorSample, k int, given *conditional, drawn []float64, mask []bool, theta []float64, check *predictiveCheck, random *rand.Rand) {
	if s.effects != nil {
		for j := range r.Frame.Columns {
			theta[j] = given.mean[j] + drawn[j]
		}
		r.tableEffects(mask, theta, s.effects.RawRowView(k))
	}
	if s.sds != nil {
		r.tableSDs(given.factors, r.responseOf(given.sigma), given.shares, s.sds.RawRowView(k))
	}
	for _, block := range given.e.blocks {
		if block.group >= 0 {
			r.tableLevel(block, given.e, drawn, s.varying[block.group].RawRowView(k))
		}
	}
	if s.predictors == nil { // the rows are not there
		return
	}
	eta := given.predictor(drawn)
	check.statistics(r.replicate(eta, r.responseOf(given.sigma), random), s.replicated.RawRowView(k))
	s.predictors.add(k, eta, r.responseOf(given.sigma))
}

// tableLevel writes the effects of a level in the units of the table, among those of its grouping.
func (r *Regression) tableLevel(block effectBlock, effects *jointEffects, drawn, dst []float64) {
	g := r.groups[block.group]
	level := (block.first - effects.firstOf[block.group]) / block.size
	for a := range block.size {
		dst[a*len(g.Levels)+level] = drawn[block.first+a] * r.ySD / g.zSD[a]
	}
}
