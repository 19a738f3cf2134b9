// Package mixture answers how many components a mixture of normal distributions has, and which.
//
// A model is a number of components k; its parameters are weights, means and variances, and a scale
// β of the variances, with the priors of Richardson and Green (1997). Means are ordered, so that
// labels have a meaning. Two samplers of the posterior check each other: reversible-jump chains
// over mixtures, with rows summed over components, and a sampler of partitions of the rows that
// sums over k, with which it shares no state.
//
// Values are put on a working scale with midrange 0 and range 1.
//
//	t, err := table.ReadFile("galaxies.csv")
//	// handle err
//	problem, err := mixture.NewProblem(t, mixture.Options{Column: "velocity"})
//	// handle err
//	result, err := mixture.Run(ctx, problem, mixture.RunConfig{})
//	// handle err
//	fmt.Println(result.Certificate.Verdict, result.Counts)
//
// # Files
//
//	options.go         what is asked of a table, and priors
//	problem.go         a table becomes a Problem
//	state.go           a mixture and its density
//	coordinates.go     unbounded, nested coordinates of mixtures
//	target.go          the posterior as a graph over these coordinates
//	jump.go            split, merge, birth and death of components
//	gibbs.go           Gibbs steps within a number of components
//	partition.go       clusters of rows, with the number of components summed over
//	partition_jump.go  split and merge of clusters
//	sample.go          both samplers until they are precise, and how far they agree
//	summaries.go       density, components, rows
//	model_check.go     values simulated from the posterior beside the table
//	result.go          the answer in the words of the table
//	run.go             the run: sampling, verdict, files
//	record.go          what a run was asked for
//	files.go           what a run directory holds
//
// # References
//
// S. Richardson and P. J. Green, On Bayesian analysis of mixtures with an unknown number of
// components, Journal of the Royal Statistical Society B 59 (1997). J. W. Miller and M. T.
// Harrison, Mixture models with a prior on the number of components, Journal of the American
// Statistical Association 113 (2018). R. M. Neal, Markov chain sampling methods for Dirichlet
// process mixture models, Journal of Computational and Graphical Statistics 9 (2000).
package mixture
