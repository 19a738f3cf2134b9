// Package calibrate measures whether the answers of vti are right, on problems with known answers.
//
// A replicate is a problem drawn from a seed, run through the same code as the command, and
// compared in two ways:
//
//   - With the truth behind it. Models, parameters and data come from the prior of the very
//     problem. So over many replicates the rank of a true parameter among posterior draws is
//     uniform (Talts et al. 2018), and of the events with a stated probability p a share of p
//     happens.
//   - With the exact posterior, if that can be computed independently: Gaussian regressions and
//     linear graphs by sums over models and a quadrature over the noise scale, graphs of categories
//     by sums, robust regressions of few rows by a sum over sets of outliers, other regressions of
//     up to three parameters by quadrature or by branch and bound, and regressions with groups by
//     quadrature over their sd.
//
// Problems are also drawn from a generator of nasty tables, which have no prior; then only the
// exact posterior counts. A run whose verdict is trusted and whose numbers are wrong is listed with
// the command that repeats it.
//
// # Files
//
//	study.go            many replicates; a study that was stopped goes on
//	answer.go           a command answers a table, as text; ranks among its draws
//	replicate.go        one replicate, and when an answer is wrong
//	summary.go          the result of all replicates
//	uniformity.go       ranks, and simultaneous bands for their distribution
//	reliability.go      stated probabilities against frequencies
//	figure.go           the picture of ranks and of probabilities
//	bge.go              exact posteriors of nodes under the BGe prior
//	posterior.go        an exact posterior over models, from the posterior of each
//	gaussian.go         exact posteriors of Gaussian regressions
//	gprior.go           exact posteriors of Gaussian regressions with a g-prior
//	average.go          means and variances of mixtures, by normalised weights
//	orthogonal.go       exact posteriors of many orthogonal columns
//	robust.go           exact posteriors of robust regressions of few rows
//	quadrature.go       exact posteriors of regressions with few parameters and one mode
//	shaped.go           the same with a shape, a precision or odds of zero
//	cells.go            the same with any number of modes
//	bdeu.go             exact evidences of categories, and nasty tables of them
//	mixed.go            mixed tables: draws from the priors, exact evidences, and nasty tables
//	varsel.go           replicates of vti varsel, and the exact posterior of each
//	varsel_prior.go     problems drawn from its priors
//	varsel_categories.go
//	                    responses of categories without an order
//	varsel_hard.go      nasty tables for it
//	varsel_hard_responses.go
//	                    their responses
//	ordinary.go         ordinary tables
//	dag.go              replicates of vti dag, from its priors, beside the exact posterior of each
//	dag_exact.go        that posterior: the sum over all graphs of a few nodes
//	dag_hard.go         nasty tables for it
//	dag_joint.go        tables of many columns where parents matter only together
//	hbm.go              replicates of vti hbm
//	hbm_tables.go       their tables, from the priors and nasty ones
//	hbm_categories.go   tables of categories, and exact rows of three in order
//	hbm_exact.go        the exact posterior of each, of a gaussian response
//	hbm_linked.go       that posterior of other responses but Student ones
//	classics.go         commands that answer without training: the table, and the comparison
//	mixture.go          mixtures drawn from the priors of vti mixture
//	changes.go          series drawn from the priors of vti changepoints
//	orders.go           curves drawn from the priors of vti order
package calibrate
