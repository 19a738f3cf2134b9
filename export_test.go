package vti

import (
	"context"
	"slices"

	"github.com/transdim/vti/space"
)

// This file exports internal functions to the tests of package vti_test.

// CertifyByWeights certifies without chains.
func (p *Posterior) CertifyByWeights(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	w, err := certifyEach(ctx, p.evaluator, cfg.withDefaults())
	return w.Certificate, err
}

// CertifyJointlyByWeights weights draws of models and parameters together, without chains.
func (p *Posterior) CertifyJointlyByWeights(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	w, err := certifyJointly(ctx, p.evaluator, cfg.withDefaults())
	return w.Certificate, err
}

// VariableValues returns copies of all variables, by scope and name.
func (p *Posterior) VariableValues() map[string]any {
	values := map[string]any{}
	for variable := range p.evaluator.Variables.IterVariables() {
		if variable.HasValue() {
			values[variable.ScopeAndName()] = variable.MustValue().Value()
		}
	}
	return values
}

// Conclusion returns the certificate that follows from a certificate by weights and a certificate
// by chains. The argument unseen says whether other draws lie in regions where the weights have no
// draws.
func Conclusion(sp space.Space, weights, chains *Certificate, unseen bool) *Certificate {
	return conclusion(sp, &weighing{Certificate: weights, unseen: unseen}, chains)
}

// CertifyModelsByQ weights models without parameters, drawn from q(m).
func (p *Posterior) CertifyModelsByQ(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	return p.evaluator.engine.Visit().WeighProposed(ctx, cfg.withDefaults().overModels())
}

// CertifyModelsByChains weights models without parameters, from a distribution fitted to chains.
func (p *Posterior) CertifyModelsByChains(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	return p.evaluator.engine.Visit().WeighFitted(ctx, cfg.withDefaults().overModels())
}

// Preliminary returns settings for a certificate of few draws. late says that the time is over.
func (c CertifyConfig) Preliminary(late bool) CertifyConfig {
	c.preliminary, c.keepModels, c.late = true, true, func() bool { return late }
	return c
}

// OnStream returns settings with the given name of the random stream.
func (c CertifyConfig) OnStream(name string) CertifyConfig {
	c.stream = name
	return c
}

// WithWitness returns settings with one more witness: a point in a region of the given posterior
// mass that other draws found.
func (c CertifyConfig) WithWitness(code []int32, theta []float64, logMass float64) CertifyConfig {
	c.witnesses = append(slices.Clone(c.witnesses), []witness{{Code: code, Theta: theta, LogMass: logMass}})
	return c
}

// CertifyBirths certifies by birth-death chains, even if weights suffice.
func (p *Posterior) CertifyBirths(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	cfg = cfg.withDefaults()
	cfg.stream = "births"
	return p.evaluator.engine.Visit().Births(ctx, cfg.overModels())
}
