// Package score computes the log evidences of families, where a family is a node j with a set of
// parents pa,
//
//	ℓ_j(pa) = log p(x_j | x_pa),
//
// and sums them over graphs. Given a graph, likelihood and prior are products over nodes, and so is
// the posterior of the parameters. Exact sums over the evidences of all families therefore give the
// posterior over graphs ([Posterior]).
//
// A [Problem] is a table with mechanisms, priors and constraints. Its closed forms ([Form]) are
// linear regressions with independent weights, the BGe score, the BDeu score of categories, and
// regressions for tables of numbers and categories. Evidences of logistic regressions are estimated
// by importance sampling, nearly as accurately. [Joint] has evidences of sets of columns, for
// searches through many sets of parents.
package score
