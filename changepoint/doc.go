// Package changepoint infers how many times a series, or the rate of events, changes, and where.
//
// A model is a number of changes k; its parameters are the places of the changes (their positions
// in time), the levels of the k+1 segments between changes and, for some series, a parameter that
// all segments share. Given the places and the shared parameter, the levels have conjugate priors,
// so that the evidence of every segment has a closed form. The sum over all places is then a
// recursion along time (Fearnhead 2006), with the number of changes as a second index. The shared
// parameter is integrated out by quadrature. For events, places are times. The density is smooth in
// these times between events, so that the recursion replaces the integral over times by a sum over
// Gauss–Legendre nodes between events.
//
// Values are standardised: on the working scale a series has mean 0 and standard deviation 1.
//
//	t, err := table.ReadFile("nile.csv")
//	// handle err
//	problem, err := changepoint.NewProblem(t, changepoint.Options{Time: "year", Value: "flow"})
//	// handle err
//	posterior, err := problem.Posterior(ctx)
//	// handle err
//	fmt.Println(posterior.Probabilities, posterior.Place(1, 1))
//
// # References
//
// P. Fearnhead, Exact and efficient Bayesian inference for multiple changepoint problems,
// Statistics and Computing 16 (2006). P. J. Green, Reversible jump Markov chain Monte Carlo
// computation and Bayesian model determination, Biometrika 82 (1995).
package changepoint
