// Package walk runs Markov chains over graphs, for any number of nodes.
//
// For mechanisms with evidences in closed form, [SampleGraphs] runs the chains. They choose likely
// parents of each node ([candidates]) and compute the evidences of all sets of these. Large steps
// move a node in an order of the nodes, and draw anew the parents of all nodes between its old and
// its new position. Small steps add, remove or turn an edge. Each round takes twice as many steps
// as the round before, until the chains agree. In tables with missing cells the chains draw these
// cells too. If evidences take long to compute, as for mechanisms that are neural networks, chains
// run over the graphs made of listed families, that is, nodes with a set of parents
// ([ListedGraphs]).
package walk
