// Package flows makes targets (vti.Target) for graphs and for their families.
//
// A [Mechanism] defines how nodes depend on their parents: [Additive] is linear or a network,
// [Collapsed] is a network with its output layer integrated out, and callers can write others.
// [NewGraphTarget] returns the posterior over graphs and the parameters of all nodes together, as
// in the VTI paper (Davies et al. 2025, section 5.2). The learned distribution of graphs, q(m), is
// then a modeldist.Autoregressive over codes of graphs. [NewNodeTarget] returns the posterior of
// one node given its parents, for all nodes and sets of parents at once. A flow for this target
// serves whole graphs, whose posterior is a product over nodes, with [GraphModels] as q(m).
package flows
