// Package gradest estimates gradients with respect to the parameters ψ of a distribution over models,
// and bounds the steps taken along them. All of it is pure graph functions; what must be remembered
// between steps lives in variables of a context.
package gradest
