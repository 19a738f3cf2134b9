// Package flows makes targets (vti.Target) for graphs and for their families.
//
// A [Mechanism] defines how nodes depend on their parents: [Additive] is linear or a network,
// [Collapsed] is a network with its output layer integrated out, and callers can write others.
// [NewGraphTarget] returns the posterior over graphs and the parameters of all nodes together, as
// in the VTI paper (Davies et al. 2025, section 5.2); q(m) is then a modeldist.Autoregressive over
// codes of graphs. [NewNodeTarget] returns the posterior of one node given its parents, for all
// families at once. A flow for it serves graphs as products over nodes, with [GraphModels] as q(m).
//
// # Files
//
//	mechanism.go          the interface of mechanisms
//	additive.go           linear mechanisms and networks; quadratics of linear ones
//	collapsed.go          networks with the output layer integrated out
//	graph_target.go       graphs with the parameters of all nodes
//	node_target.go        families, node by node
//	graph_models.go       q(m) over orders and graphs, node by node, and its loss
//	warm_start.go         graphs for q(m) to start from
//	training_graphs.go    training of flow and q(m), and draws of q(m)
package flows
