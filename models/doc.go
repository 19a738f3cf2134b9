// Package models computes the posterior over models from their evidences. It gives the probability
// of each model with its standard error, the evidence of all models together, and the reliability
// of the answer.
//
// In comments m is a model with prior probability p(m) and evidence Z_m = p(y | m), the probability
// of the data y. θ are its parameters. The mass of a model is p(m) Z_m. q(m) q(θ | m) is an
// approximation of the posterior from which draws are proposed, and r(m) any distribution from
// which models are drawn for importance weighting.
//
// An [Evidence] is an estimate for one model, whether from a closed form, an integral over one
// parameter, or importance weights. [Combine] is the only place where evidences become
// probabilities, so that standard errors, effective draws, the Pareto shape k̂ of weights and the
// share of the posterior missed by weights mean the same in every answer. Package verdict judges
// every answer by them.
//
// An [Engine] takes evidences and draws of parameters from an application ([Known]). It sums over
// models if they are few, or uses the sum of the application. Otherwise it draws models from a
// distribution fitted to chains over models, or from q(m), and weights them. A search for other
// models, birth-death chains, and chains over models and latent variables find models that the
// weighted draws missed. The result is a [Certificate].
//
// No accelerator is needed: q is a [Proposal], whose functions run on the host.
package models
