// Package models is the engine over models. It turns what is known of single ones into a posterior
// over all, with the probability of each model and its standard error, the evidence of all of them,
// and how reliable the whole is.
//
// An [Evidence] is what is known of one model, whether from a closed form, an integral over one
// parameter, or importance weights. [Combine] is the only place where evidences become
// probabilities, so that standard errors, effective draws, Pareto's k̂ and the missed share mean
// the same in every answer. [Sum.Measured] hands them to the one judge, package verdict.
//
// An [Engine] asks what an application has [Known] for evidences and draws of parameters. Where
// models are few it sums over them, and where the application can sum it lets it. Otherwise models
// are drawn from a distribution that is fitted to chains over models, or from q(m), and weighted; a
// search for models that neither proposes, birth-death chains, and chains over models and latent
// variables say what these miss. What comes out is a [Certificate].
//
// Nothing here needs a device: q is a [Proposal], functions of the host.
package models
