// Package order infers the order of a model: how many earlier rows an autoregression depends on,
// the degree of a polynomial, or the number and places of the knots of a spline.
//
// A model is an order p; its parameters are an intercept, p coefficients and the noise.
// Coefficients have Zellner's unit-information prior (g equal to the number of rows; Kass and
// Wasserman 1995). The intercept and the noise have the usual improper priors, which all models
// share. Evidences then have a closed form (Liang et al. 2008, equation 6), and the answer is the
// exact sum over all models. A model with a unit root is an autoregression of the differences of
// the values. A spline is a polynomial plus truncated powers at its knots (Denison, Mallick and
// Smith 1998). Its models are the subsets of the candidate places of knots, which are enumerated.
//
//	t, err := table.ReadFile("series.csv")
//	// handle err
//	problem, err := order.NewProblem(t, order.Options{Value: "y", Kind: order.Autoregression})
//	// handle err
//	result, err := order.Run(ctx, problem, order.RunConfig{})
//	// handle err
//	fmt.Println(result.Orders)
//
// # References
//
// D. G. T. Denison, B. K. Mallick and A. F. M. Smith, Automatic Bayesian curve fitting, Journal of
// the Royal Statistical Society B 60 (1998). R. E. Kass and L. Wasserman, A reference Bayesian test
// for nested hypotheses, Journal of the American Statistical Association 90 (1995). F. Liang et
// al., Mixtures of g priors for Bayesian variable selection, Journal of the American Statistical
// Association 103 (2008).
package order
