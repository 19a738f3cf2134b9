package vti

import (
	"context"
	"slices"

	"github.com/transdim/vti/space"
)

// What the tests need of the inside.

// CertifyByWeights certifies without the help of chains.
func (p *Posterior) CertifyByWeights(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	w, err := certifyEach(ctx, p.evaluator, cfg.withDefaults())
	return w.Certificate, err
}

// CertifyJointlyByWeights weighs models drawn from q(m), without the help of chains.
func (p *Posterior) CertifyJointlyByWeights(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	w, err := certifyJointly(ctx, p.evaluator, cfg.withDefaults())
	return w.Certificate, err
}

// VariableValues are copies of the values of all variables, by scope and name.
func (p *Posterior) VariableValues() map[string]any {
	values := map[string]any{}
	for variable := range p.evaluator.Variables.IterVariables() {
		if variable.HasValue() {
			values[variable.ScopeAndName()] = variable.MustValue().Value()
		}
	}
	return values
}

// Conclusion is what certificates by weights and by chains show together; unseen says of the
// weights that other draws lie where they have none.
func Conclusion(sp space.Space, weights, chains *Certificate, unseen bool) *Certificate {
	return conclusion(sp, &weighing{Certificate: weights, unseen: unseen}, chains)
}

// CertifyModelsByQ weighs models alone, drawn from q(m).
func (p *Posterior) CertifyModelsByQ(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	return p.evaluator.engine.Visit().WeighProposed(ctx, cfg.withDefaults().overModels())
}

// CertifyModelsByChains weighs models alone, drawn from a distribution fitted to chains.
func (p *Posterior) CertifyModelsByChains(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	return p.evaluator.engine.Visit().WeighFitted(ctx, cfg.withDefaults().overModels())
}

// Glance asks for a certificate of few draws, and whether the time is over.
func (c CertifyConfig) Glance(late bool) CertifyConfig {
	c.glance, c.keepModels, c.late = true, true, func() bool { return late }
	return c
}

// WithWitness adds a witness of a mass to what is certified.
func (c CertifyConfig) WithWitness(code []int32, theta []float64, logMass float64) CertifyConfig {
	c.witnesses = append(slices.Clone(c.witnesses), []witness{{Code: code, Theta: theta, LogMass: logMass}})
	return c
}

// CertifyBirths certifies by births and deaths, whether or not weights would do.
func (p *Posterior) CertifyBirths(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	cfg = cfg.withDefaults()
	cfg.stream = "births"
	return p.evaluator.engine.Visit().Births(ctx, cfg.overModels())
}
