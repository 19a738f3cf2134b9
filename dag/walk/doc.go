// Package walk runs Markov chains over graphs, for any number of nodes.
//
// For mechanisms with evidences in closed form, [SampleGraphs] runs the chains. They choose likely
// parents of each node ([candidates]) and score all sets of these. Large steps move nodes in an
// order and draw all affected families at once. Small steps add, remove or turn an edge. Each round
// takes twice as many steps as the round before, until the chains agree. In tables with missing
// cells the chains draw these cells too. Where evidences take long to compute, as for networks,
// chains run over the graphs made of listed families ([ListedGraphs]).
package walk
