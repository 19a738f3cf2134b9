// Package score finds the evidences of families, a node j with a set of parents pa,
//
//	ℓ_j(pa) = log p(x_j | x_pa),
//
// and sums them over graphs. Given a graph, likelihood and prior are products over nodes, so q(θ |
// A) = Π_j q(θ_j | j, pa(j)) is no approximation, and exact sums over the scores of all families
// give the posterior over graphs ([Posterior]).
//
// A [Problem] is a table with mechanisms, priors and constraints. Its closed forms ([Form]) are
// linear regressions with independent weights, the BGe score, the BDeu score of categories, and
// tables of numbers and categories, where logistic regressions have importance weights as accurate
// as a closed form. [Joint] has evidences by sets of columns, for searches through many sets.
package score
