// Package hard draws difficult tables for vti and computes exact answers, with which the answers of
// vti are compared: the worst possible defect of vti is a wrong answer that it calls trusted.
// Package calibrate runs these studies. Problems that package calibrate draws from the prior are
// also compared if they have an exact answer.
//
// The exact posteriors are computed by code that the program does not share. For Gaussian
// regressions and linear graphs, that is a sum over models and a quadrature over the noise scale;
// for graphs of categories, a sum over graphs; for robust regressions of few rows, a sum over sets
// of outliers; for other regressions of up to three parameters, quadrature or branch and bound; and
// for regressions with groups, quadrature over the sd of groups.
//
// # Files
//
//	tables.go           columns of tables, and comparisons
//	varsel_hard.go      difficult tables for vti varsel
//	varsel_hard_responses.go
//	                    the responses of these tables
//	ordinary.go         ordinary tables of every likelihood
//	wide.go             tables of very many predictors with an exact answer
//	varsel_exact.go     the exact answer of vti varsel, if there is one
//	posterior.go        an exact posterior over models, from the posterior of each model
//	gaussian.go         exact posteriors of Gaussian regressions
//	gprior.go           exact posteriors of Gaussian regressions with a g-prior
//	average.go          means and variances of mixtures, by normalised weights
//	blocks.go           exact posteriors of many predictors in independent blocks
//	blocks_rows.go      the same for logistic and Poisson regressions, whose blocks share no row
//	robust.go           exact posteriors of robust regressions of few rows
//	quadrature.go       exact posteriors of regressions with few parameters and one mode
//	shaped.go           exact posteriors of regressions with a shape, a precision or odds of zero
//	spline.go           cubic splines through given points
//	cells.go            exact posteriors of regressions with any number of modes
//	dag_hard.go         difficult tables for vti dag
//	dag_joint.go        tables of many columns where parents matter only together
//	dag_exact.go        the exact answer of vti dag: the sum over all graphs of a few nodes
//	bge.go              exact posteriors of nodes under the BGe prior
//	bdeu.go             exact evidences of categories, and difficult tables of them
//	mixed.go            exact evidences of mixed tables, and difficult tables
//	hbm_hard.go         difficult tables for vti hbm
//	hbm_exact.go        the exact answer of vti hbm for a Gaussian response
//	hbm_linked.go       the exact answer of vti hbm for other responses, except Student
//	hbm_ordered.go      densities of rows with three categories in order
package hard
