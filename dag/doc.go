// Package dag finds which directed acyclic graphs explain a data table, and with which mechanisms.
//
// A model is a directed acyclic graph A over the N columns (nodes) of the table: A_ij = 1 is an
// edge from i to j. Given A, node j is a function of its parents plus Gaussian noise, linear or a
// network with one hidden ReLU layer (paper section 5.2 and appendix F).
//
// # Notation
//
//	n, N          rows of the table, nodes
//	A             adjacency matrix, [graph.Graph]
//	P, U          order of the nodes and edges between positions, A = PᵀUP (F.6, F.7)
//	pa            a set of parents, bit i for node i
//	family        a node j with a set of parents
//	ℓ_j(pa)       log p(x_j | x_pa): the log evidence of a family, its score
//
// # Structure
//
// Given A, likelihood and prior are products over nodes, so q(θ | A) = Π_j q(θ_j | j, pa(j)) is no
// approximation: one flow over the parameters of a single family serves every graph, and the scores
// of all families give the posterior over graphs by sums that are exact ([Posterior]).
package dag
