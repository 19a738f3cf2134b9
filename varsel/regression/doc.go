// Package regression has the rows of a table under a likelihood, the normal priors of coefficients,
// and approximations of the posterior of one model, which is a set of the columns.
//
// Package varsel puts a prior over models on top.
//
// # Files
//
//	regression.go      Regression: columns, responses and priors, and their density as a graph
//	responses.go       the likelihood of all rows
//	categories.go      responses of categories: their coordinates and cut points
//	outliers.go        responses of two noise scales
//	active.go          one model by its coordinates, and its density on the host
//	closed.go          posteriors of Gaussian models, and draws of closed forms
//	assignments.go     robust regressions of few rows: sums over the sets of outliers
//	normal_equations.go
//	                   least squares under normal priors
//	curvature.go       gradients and curvatures under heavy tails, to find modes
//	elemental_sets.go  starts of the search for modes of contradictory rows
//	scale_orbits.go    moments along curves on which σ and coefficients grow together
package regression
