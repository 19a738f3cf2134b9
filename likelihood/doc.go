// Package likelihood holds the distributions of a response y given its linear predictor η = Xθ +
// offset and, for many of them, one positive auxiliary parameter: a noise scale σ, a shape, a
// precision, or the odds of a zero.
//
// Variable selection, hierarchical regressions and model checks all use this package. A likelihood
// is one file with a type that satisfies [Likelihood], and one row of the table in kind.go. The
// tests of the package cover every row of the table.
//
// A log density is split in two,
//
//	log p(y | η, σ) = LogKernel(y, η, σ) + LogConstant(y),
//
// to keep full precision. The kernel of counts and of 0/1 responses is minus half the deviance
// against the saturated model, which has a parameter for every row. It is zero where η fits y
// perfectly, even if the log density is large. The constants are summed on the host in float64.
//
// # Files
//
//	likelihood.go  the interface, and sums over rows
//	vectors.go     kernels and slopes of many rows at once
//	augmented.go   latent precisions given which a response is Gaussian
//	kind.go        the table: names, links, valid responses
//	link.go        links between η and the mean of y
//	response.go    responses from the column of a table
//	trials.go      counts of successes as rows of trials
//	gaussian.go, robust.go, student.go, logistic.go, poisson.go, negativebinomial.go,
//	gamma.go, lognormal.go, beta.go
//	zeros.go       counts with excess zeros: zero-inflated and hurdle
//	survival.go    times, which may be right-censored
//	categories.go  responses of categories, which have several parameters
//	ordered.go     ordered categories: cumulative logit and probit
//	cuts.go        the distribution of ordered categories given cut points
//	ordered_rows.go
//	               many rows at once
//	unordered.go   categories without an order: multinomial logistic regression
//	unordered_rows.go
//	               many rows at once
//	special.go     log Γ and its derivatives
//	normal.go      the logarithm of the normal distribution function, at full precision
package likelihood
