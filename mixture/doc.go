// Package mixture infers how many components a mixture has, and their parameters. Components are
// normal, Student t, Poisson, or multivariate normal distributions.
//
// A model is a number of components k. Its parameters are weights, means and variances, and a scale
// β of the variances, with the priors of Richardson and Green (1997). Means are ordered, so that
// labels have a meaning; with several columns draws are relabelled instead. Two samplers of the
// posterior, written separately, check each other. One runs reversible-jump chains over mixtures,
// whose likelihood sums over the component of each row. The other samples partitions of the rows
// and sums over k.
//
// Values are put on a working scale, on which their midrange is 0 and their range is 1.
//
//	t, err := table.ReadFile("galaxies.csv")
//	// handle err
//	problem, err := mixture.NewProblem(t, mixture.Options{Columns: []string{"velocity"}})
//	// handle err
//	result, err := mixture.Run(ctx, problem, mixture.RunConfig{})
//	// handle err
//	fmt.Println(result.Certificate.Verdict, result.Counts)
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
// mixture models, Journal of the Royal Statistical Society B 62 (2000). R. Jonker and A. Volgenant,
// A shortest augmenting path algorithm for dense and sparse linear assignment problems, Computing
// 38 (1987).
package mixture
