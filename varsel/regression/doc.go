// Package regression has the rows of a table under a likelihood, the normal priors of coefficients,
// and approximations of the posterior of one model, which is a set of the columns.
//
// Package varsel adds a prior over models.
package regression
