// Package modelcheck judges a statistical model against the table it was fitted to.
//
// A verdict on a computation concerns the posterior probabilities given the model. It does not
// concern how well the model describes the data. This package checks the model, in two ways:
//
//   - Posterior predictive checks compare statistics of the residuals with the same statistics of
//     responses replicated from the posterior: dispersion, tails, curvature against each predictor,
//     spread against the fitted value (or, for curves in a graph, against each column), zero
//     counts, serial dependence in the order of the rows, and copied rows.
//   - Checks of the table, which need no model, find codes that stand for missing values, nearly
//     constant and nearly collinear columns, a response of two values, and columns of few integers.
//
// # Error rates
//
// Statistics are realised discrepancies (Gelman, Meng and Stern 1996). For each posterior draw θ
// the statistic of the observed response is compared with the statistic of a replicated response,
// which is simulated with the same θ. A p-value is the share of draws in which the replicate is at
// least as extreme. For a table drawn from the model and its prior, Pr(p ≤ α) ≤ 2α (Meng 1994), and
// usually far less. Statistics of one kind, such as dispersion in each response, form a family.
// Each is compared with the most extreme statistic of its family in the replicate (Westfall and
// Young 1993), and Holm's method adjusts for the number of families. A finding needs an adjusted
// p-value of at most [Level]. Therefore at most 4 percent of the tables drawn from the model have a
// finding of these checks.
package modelcheck
