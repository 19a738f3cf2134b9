// Package flows makes Targets for the engine from families of graphs and from graphs as a whole.
//
// [Target] is the posterior of the parameters of all families at once, on which one flow is
// trained; [Evidences] weights its draws. [LearnedGraphs] is q(m), over orders of the nodes and
// graphs along them, trained together with the flow as in the paper, and [Proposals] weights its
// draws. [GraphTarget] has codes and parameters of all nodes together, for reversible jump.
package flows
