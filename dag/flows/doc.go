// Package flows makes Targets for the engine of graphs and of the families that they are made of.
//
// A [Mechanism] says how nodes depend on their parents: [Additive] ones are linear or networks,
// [Collapsed] networks have their output layer integrated out, and others can be one's own.
// [NewGraphTarget] is the posterior over graphs and the parameters of all nodes together, as in the
// paper, whose q(m) is a modeldist.Autoregressive over its codes. [NewNodeTarget] is that of one
// node given its parents, for all families at once: a flow on it serves graphs as products over
// nodes, with [GraphModels] as q(m). Its weights are evidences of families ([Estimate]).
//
// # Files
//
//	mechanism.go          what a mechanism is
//	additive.go           linear mechanisms and networks; quadratics of linear ones
//	collapsed.go          networks with the output layer integrated out
//	graph_target.go       graphs with the parameters of all nodes
//	node_target.go        families, node by node
//	graph_models.go       q(m) over orders and graphs, node by node, and its loss
//	warm_start.go         graphs for q(m) to start from
//	training_graphs.go    training of flow and q(m), and draws of q(m)
//	flow_evidence.go      evidences of families by weights of a flow
package flows
