// Package graph holds directed acyclic graphs: their codes (lists of digits that describe a graph),
// their number, sums over all graphs, random graphs, and comparisons of two graphs.
//
// # Notation
//
//	N             number of nodes
//	A             adjacency matrix, A_ij = 1 for an edge from i to j, [Graph]
//	P, U          matrices of the order of the nodes and of edges between positions,
//	              A = PᵀUP (F.6, F.7), [Ordered]
//	pa            a set of parents, [Set]
//	family        a node j with a set of parents, [Family]
//	λ             penalty of an edge: a graph has the prior weight exp(−λ edges)
//
// F.6 and F.7 are sections of the VTI paper: Davies, Mackinlay, Oliveira and Sisson, "Amortized
// Variational Transdimensional Inference" (2025).
package graph
