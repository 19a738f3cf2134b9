package vti

import (
	gocontext "context"
	"math/rand/v2"
	"slices"
)

// What the tests need of the inside.

// WeighEach weighs draws of every model, plain or annealed, whether it is needed or not. The
// certificate has evidences, no sample.
func (p *Posterior) WeighEach(ctx gocontext.Context, draws int, annealed bool) (*Certificate, error) {
	certificate := &Certificate{Complete: true, Models: listModels(p.target.Space())}
	logPrior, err := p.logPriorOf(certificate.Models)
	if err != nil {
		return nil, err
	}
	w := newWeigher(ctx, p, certificate.Models, "test")
	allocation := slices.Repeat([]int{draws}, len(certificate.Models))
	if annealed {
		err = w.annealInstead(allocation)
	} else {
		err = w.weigh(allocation, false)
	}
	certificate.update(w.tallies, logPrior)
	return certificate, err
}

// CertifyByWeights certifies without the help of chains.
func (p *Posterior) CertifyByWeights(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	return p.certifyEach(ctx, cfg.withDefaults())
}

// MoveReference takes Hamiltonian steps at a fixed power β of the ratio from reference draws z
// [B*D] of one model, which it changes. name is that of the random streams.
func (p *Posterior) MoveReference(name string, code []int32, z []float64, beta float64, steps int) error {
	w := newWeigher(gocontext.Background(), p, nil, name)
	codes := slices.Repeat(code, p.config.Batch)
	for range steps {
		if err := p.move(w.random, codes, z, make([]float64, p.config.Batch), beta); err != nil {
			return err
		}
	}
	return nil
}

// DrawFar fills every row of z [n*dim] with a draw of the reference that annealing starts from.
func DrawFar(random *rand.Rand, z []float64, dim int) {
	for start := 0; start < len(z); start += dim {
		farReference.draw(random, z[start:start+dim])
	}
}

// FarSecondMoment is the mean square of a coordinate of that reference.
func FarSecondMoment() (second float64) {
	for k, scale := range farReference.scales {
		second += farReference.shares[k] * scale * scale
	}
	return second
}

// VariableValues are copies of the values of all variables, by scope and name.
func (p *Posterior) VariableValues() map[string]any {
	values := map[string]any{}
	for variable := range p.variables.IterVariables() {
		if variable.HasValue() {
			values[variable.ScopeAndName()] = variable.MustValue().Value()
		}
	}
	return values
}
