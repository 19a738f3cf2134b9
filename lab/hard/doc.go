// Package hard has difficult tables for vti, and exact answers that its answers are compared with,
// because a trusted answer that is wrong is the worst defect. Package calibrate runs the studies.
// Its own problems are compared too, where they have an exact answer.
//
// Exact posteriors are computed independently of the program: Gaussian regressions and linear
// graphs by sums over models and a quadrature over the noise scale, graphs of categories by sums,
// robust regressions of few rows by a sum over sets of outliers, other regressions of up to three
// parameters by quadrature or by branch and bound, and regressions with groups by quadrature over
// their sd.
//
// # Files
//
//	tables.go           columns of tables, and comparisons
//	varsel_hard.go      nasty tables for vti varsel
//	varsel_hard_responses.go
//	                    their responses
//	ordinary.go         ordinary tables of every likelihood
//	varsel_exact.go     the exact answer of vti varsel, if there is one
//	posterior.go        an exact posterior over models, from the posterior of each
//	gaussian.go         exact posteriors of Gaussian regressions
//	gprior.go           exact posteriors of Gaussian regressions with a g-prior
//	average.go          means and variances of mixtures, by normalised weights
//	orthogonal.go       exact posteriors of many orthogonal columns
//	robust.go           exact posteriors of robust regressions of few rows
//	quadrature.go       exact posteriors of regressions with few parameters and one mode
//	shaped.go           the same with a shape, a precision or odds of zero
//	cells.go            the same with any number of modes
//	dag_hard.go         nasty tables for vti dag
//	dag_joint.go        tables of many columns where parents matter only together
//	dag_exact.go        the exact answer of vti dag: the sum over all graphs of a few nodes
//	bge.go              exact posteriors of nodes under the BGe prior
//	bdeu.go             exact evidences of categories, and nasty tables of them
//	mixed.go            exact evidences of mixed tables, and nasty ones
//	hbm_hard.go         nasty tables for vti hbm
//	hbm_exact.go        the exact answer of vti hbm, of a gaussian response
//	hbm_linked.go       the exact answer of other responses but Student ones
//	hbm_ordered.go      rows of three categories in order
package hard
