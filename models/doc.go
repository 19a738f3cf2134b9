// Package models is the engine over models. It combines evidences of single models into a posterior
// over all, with the probability of each model and its standard error, the evidence of all models,
// and the reliability of the whole.
//
// An [Evidence] is an estimate for one model, whether from a closed form, an integral over one
// parameter, or importance weights. [Combine] is the only place where evidences become
// probabilities, so that standard errors, effective draws, Pareto's k̂ and the missed share mean
// the same in every answer. [Sum.Measured] passes them to the one judge, package verdict.
//
// An [Engine] takes evidences and draws of parameters from an application ([Known]). It sums over
// models if they are few, or uses the sum of the application. Otherwise models are drawn from a
// distribution fitted to chains over models, or from q(m), and weighted; a search for other models,
// birth-death chains, and chains over models and latent variables find models missed by these. The
// result is a [Certificate].
//
// No device is needed: q is a [Proposal], functions of the host.
package models
