// Package exact has the closed forms of the normal linear model. Given the noise scale the
// posterior is normal; an integral over one parameter remains, the noise scale or g of a g-prior.
//
// # Files
//
//	model.go              a model given σ, by singular values
//	scale.go              the integral over log σ, and draws
//	gprior.go, slab.go    models under mixtures of g-priors
//	compress.go           few rows in place of many
//	enumerate.go, sum.go  sums over all subsets of predictors
//	walk.go               evidences of millions of models, adding a column at a time
//	moments.go            posteriors of coefficients, averaged over models
//	mixture.go            quantiles of mixtures of normal distributions
package exact
