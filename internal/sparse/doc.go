// Package sparse factorises symmetric positive definite matrices A with few non-zero entries, all
// at the same positions, such as the precision matrices of the effects of a hierarchical model:
//
//	A P = P L Lᵀ        (with P the permutation matrix of a fill-reducing order)
//
// [Analyse] analyses the pattern once; [Symbolic.Factorize] then factorises one matrix after
// another, also from several goroutines at once. Columns are eliminated in the order of minimum
// degree (Tinney and Walker 1967, on the quotient graph of George and Liu 1989). The first columns
// are computed row by row through the elimination tree (Davis 2006, chapter 4); the columns from
// which on the factor is nearly dense are factorised as a dense matrix.
package sparse
