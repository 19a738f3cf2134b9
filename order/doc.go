// Package order answers of which order a process is: how many earlier rows an autoregression
// needs, which degree a polynomial, how many knots a spline, and where.
//
// A model is an order p; its parameters are an intercept, p coefficients and the noise. With
// Zellner's prior of coefficients, whose information is that of one row (g = n; Kass and Wasserman
// 1995), and the usual improper priors of intercept and noise, which all models share, evidences
// have a closed form (Liang et al. 2008, equation 6). The answer is the sum over all models. An
// autoregression with a unit root is one of its differences; a spline is a polynomial with
// truncated powers at its knots (Denison, Mallick and Smith 1998), and its models are sets of
// candidate places, which are listed.
//
//	t, err := table.ReadFile("series.csv")
//	// handle err
//	problem, err := order.NewProblem(t, order.Options{Value: "y", Kind: order.Autoregression})
//	// handle err
//	result, err := order.Run(ctx, problem, order.RunConfig{})
//	// handle err
//	fmt.Println(result.Orders)
//
// # Files
//
//	options.go    what is asked of a table, and priors
//	problem.go    a table becomes a Problem
//	design.go     a regression, and the evidence and draws of a model that uses some columns
//	orders.go     the models of autoregressions and polynomials
//	knots.go      the sum over all sets of knots of a spline
//	posterior.go  probabilities of orders, and draws
//	run.go        the run: sum, draws, model check, files
//	result.go     the answer in the words of the table
//	files.go      what a run directory holds
//
// # References
//
// D. G. T. Denison, B. K. Mallick and A. F. M. Smith, Automatic Bayesian curve fitting, Journal of
// the Royal Statistical Society B 60 (1998). R. E. Kass and L. Wasserman, A reference Bayesian
// test for nested hypotheses, Journal of the American Statistical Association 90 (1995). F. Liang
// et al., Mixtures of g priors for Bayesian variable selection, Journal of the American
// Statistical Association 103 (2008).
package order
