// Package graph holds directed acyclic graphs: their codes, their number, sums over all graphs and
// draws from them, and comparisons of two graphs. It does not depend on data.
//
// # Notation
//
//	N             number of nodes
//	A             adjacency matrix, A_ij = 1 for an edge from i to j, [Graph]
//	P, U          order of the nodes and edges between positions, A = PᵀUP (F.6, F.7), [Ordered]
//	pa            a set of parents, [Set]
//	family        a node j with a set of parents, [Family]
//	λ             penalty of an edge: a graph has the prior weight exp(−λ edges)
//
// F.6 and F.7 are sections of the VTI paper: Davies, Mackinlay, Oliveira and Sisson, "Amortized
// Variational Transdimensional Inference" (2025).
//
// # Files
//
//	graph.go               graphs: edges, parents, topological order, cycles
//	sets.go                sets of nodes
//	structure.go           which graphs are possible
//	family_prior.go        their prior
//	enumerate.go           every acyclic graph, one by one
//	lehmer.go              orders of nodes as Lehmer codes
//	ordered.go             graphs as codes of an order and the edges along it
//	sorted_order.go        probabilities of the topological orders of a graph
//	log_mass.go            the mass of a prior over graphs
//	sum_layers.go          sums over graphs, each counted once
//	sum_orders.go          sums over orders and the graphs along them
//	equivalence.go         skeletons and equivalence classes
//	metrics.go             distances between graphs and a truth
//	known_graph.go         graphs read from files: adjacency matrices, BIF
//	network.go             graphs over categories with their probabilities; bif.go their files
package graph
