// Package walk runs Markov chains over graphs, for any number of nodes.
//
// For mechanisms with evidences in closed form, [SampleGraphs] runs the chains. They choose likely
// parents of each node ([candidates]) and compute the evidences of all sets of these parents. Large
// steps move a node in an order of the nodes, and draw anew the parents of all nodes between its
// old and its new position. Small steps add, remove or turn an edge. Each round takes twice as many
// steps as the round before, until the chains agree. In tables with missing cells the chains draw
// these cells too. Evidences take long to compute if, for example, mechanisms are neural networks.
// Chains then run over graphs made of listed families ([ListedGraphs]). A family is a node with its
// set of parents.
package walk
