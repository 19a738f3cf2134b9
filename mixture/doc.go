// Package mixture answers how many components a mixture of distributions has, and which: normal,
// Student t, Poisson, or normal distributions of several columns.
//
// A model is a number of components k; its parameters are weights, means and variances, and a
// scale β of the variances, with the priors of Richardson and Green (1997). Means are ordered, so
// that labels have a meaning; those of several columns are relabelled. Two samplers of the
// posterior check each other: reversible-jump chains over mixtures, with rows summed over
// components, and a sampler of partitions of the rows that sums over k, with which it shares no
// state.
//
// Values are put on a working scale with midrange 0 and range 1.
//
//	t, err := table.ReadFile("galaxies.csv")
//	// handle err
//	problem, err := mixture.NewProblem(t, mixture.Options{Columns: []string{"velocity"}})
//	// handle err
//	result, err := mixture.Run(ctx, problem, mixture.RunConfig{})
//	// handle err
//	fmt.Println(result.Certificate.Verdict, result.Counts)
//
// # Files
//
//	options.go         what is asked of a table, and priors
//	problem.go         a table becomes a Problem
//	component.go       a component, and a mixture of them
//	family.go          what components are: their density, prior, updates and splits
//	normal.go          normal components
//	student.go         Student components
//	poisson.go         components of counts
//	vector.go          normal components of several columns
//	split_vector.go    and how they split and merge
//	coordinates.go     unbounded, nested coordinates of mixtures
//	target.go          the posterior as a graph over these coordinates
//	jump.go            split, merge, birth and death of components, and steps within a number
//	partition.go       clusters of rows, with the number of components summed over
//	partition_jump.go  split and merge of clusters
//	sample.go          both samplers until they are precise, and how far they agree
//	ties.go            components that describe nothing but equal values
//	relabel.go         labels where components have no order
//	summaries.go       density, components, rows
//	model_check.go     values simulated from the posterior beside the table
//	result.go          the answer in the words of the table
//	run.go             the run: sampling, verdict, files
//	run_chains.go      the same by reversible-jump chains on the Target
//	record.go          what a run was asked for
//	files.go           what a run directory holds
//
// # References
//
// S. Richardson and P. J. Green, On Bayesian analysis of mixtures with an unknown number of
// components, Journal of the Royal Statistical Society B 59 (1997). J. W. Miller and M. T.
// Harrison, Mixture models with a prior on the number of components, Journal of the American
// Statistical Association 113 (2018). R. M. Neal, Markov chain sampling methods for Dirichlet
// process mixture models, Journal of Computational and Graphical Statistics 9 (2000). V.
// Viallefont, S. Richardson and P. J. Green, Bayesian analysis of Poisson mixtures, Journal of
// Nonparametric Statistics 14 (2002). S. Favaro and Y. W. Teh, MCMC for normalized random measure
// mixture models, Statistical Science 28 (2013). M. Stephens, Dealing with label switching in
// mixture models, Journal of the Royal Statistical Society B 62 (2000). R. Jonker and A.
// Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment problems,
// Computing 38 (1987).
package mixture
