// Package models says what evidences of models amount to together: the probability of each model
// with its standard error, the evidence of all of them, and how reliable the whole is.
//
// An [Evidence] is what is known of one model, whether from a closed form, an integral over one
// parameter, or importance weights. [Combine] is the only place where evidences become
// probabilities, so that standard errors, effective draws, Pareto's k̂ and the missed share mean
// the same in every answer. [Sum.Measured] hands them to the one judge, package verdict.
//
//	evidence.go  what is known of one model
//	combine.go   what all of them amount to
package models
