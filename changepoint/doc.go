// Package changepoint answers how many times a series, or the rate of events, changes, and where.
//
// A model is a number of changes k; its parameters are the places of the changes, the levels of the
// k+1 segments between them and, for some series, a parameter that all segments share. Given the
// places and the shared parameter the levels have conjugate priors, so that every segment has an
// evidence in closed form. The sum over all places is then a recursion along time (Fearnhead 2006),
// with the number of changes as a second index. The shared parameter is integrated by quadrature.
// For events, places are moments, and the recursion sums over the nodes of Gauss–Legendre rules
// between events, where densities are smooth.
//
// Values are standardised: a series has mean 0 and sd 1 on the working scale.
//
//	t, err := table.ReadFile("nile.csv")
//	// handle err
//	problem, err := changepoint.NewProblem(t, changepoint.Options{Time: "year", Value: "flow"})
//	// handle err
//	posterior, err := problem.Posterior(ctx)
//	// handle err
//	fmt.Println(posterior.Probabilities, posterior.Place(1, 1))
//
// # Files
//
//	kind.go         what changes
//	options.go      what is asked of a table, and priors
//	problem.go      a table becomes a Problem
//	levels.go       evidences and draws of segments of a series
//	rows.go         places between rows
//	events.go       places in continuous time
//	recursion.go    sums over all places
//	shared.go       quadrature over a parameter that segments share
//	posterior.go    Posterior: probabilities of numbers and places, draws
//	summaries.go    places and levels in the units of the table
//	model_check.go  data simulated from the posterior beside the table
//	result.go       the answer in the words of the table
//	run.go          the run: posterior, draws, model check, files
//	record.go       what a run was asked for
//	files.go        what a run directory holds
//
// # References
//
// P. Fearnhead, Exact and efficient Bayesian inference for multiple changepoint problems,
// Statistics and Computing 16 (2006). P. J. Green, Reversible jump Markov chain Monte Carlo
// computation and Bayesian model determination, Biometrika 82 (1995).
package changepoint
