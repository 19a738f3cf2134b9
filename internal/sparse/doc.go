// Package sparse factorises symmetric positive definite matrices with few entries, all of one
// pattern, as the joint precisions of a hierarchical model are:
//
//	A P = P L Lᵀ        (of the matrix with rows and columns in a fill-reducing order P)
//
// [Analyse] looks at the pattern once; [Symbolic.Factorize] then factorises one matrix after
// another, which may be done by several goroutines at once. Columns are eliminated in the order of
// minimum degree (Tinney and Walker 1967, on the quotient graph of George and Liu 1989). The first
// of them are computed row by row through the elimination tree (Davis 2006, chapter 4); what is
// left when the factor has become nearly dense is factorised as a dense matrix.
//
//	order.go       the order of elimination
//	symbolic.go    the pattern of the factor, and where its dense part begins
//	cholesky.go    factors, solutions, log determinants
//	dense.go       the factor of the dense part
//	orthogonal.go  factors by orthogonal transformations, where products lose digits
package sparse
