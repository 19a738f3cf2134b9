// Package dag finds which directed acyclic graphs explain a data table, and with which mechanisms.
//
// A model is a directed acyclic graph A over the N columns (nodes) of the table: A_ij = 1 is an
// edge from i to j. Given A, node j is a function of its parents plus Gaussian noise, linear or a
// network with one hidden ReLU layer. Nodes that are categories have a table of probabilities.
//
// The VTI paper is Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational Transdimensional
// Inference" (2025). Section 5.2 and appendix F of it are about graphs, and F.6 and F.7 below are
// sections of that appendix.
//
// # Notation
//
//	n, N          rows of the table, nodes
//	A             adjacency matrix, [graph.Graph]
//	P, U          matrices of the order of the nodes and of edges between positions,
//	              A = PᵀUP (F.6, F.7)
//	pa            a set of parents, bit i for node i
//	family        a node j with a set of parents
//	ℓ_j(pa)       log p(x_j | x_pa): the log evidence of a family, its score
//
// # Methods
//
// For mechanisms other than networks, the log evidence of a family has a closed form, and graphs
// are summed ([RunExact]). For networks it comes from sequential Monte Carlo, that is, from
// particles ([RunParticles]). Chains over graphs allow any number of nodes ([RunGraphChains], and
// RunParticles for networks). The method of the VTI paper trains a flow together with q(m), a
// learned distribution of orders and edges, and also allows any number of nodes ([RunGraphFlow]).
// Reversible-jump chains ignore that the posterior is a product over nodes and serve for comparison
// ([RunReversibleJump]).
//
// # Packages
//
// Package tables holds the data, sem the mechanisms, score the evidences of families and the sums
// over graphs, walk the chains, networks the particles and flows the flows. Packages effects and
// query compute answers from draws. Graphs themselves are in package dag/graph, imported as dgraph.
// This package turns the findings into results ([Result]), writes them, and reads them back
// ([Record], [StoredRun]).
package dag
