// Package walk runs Markov chains over graphs, for any number of nodes with mechanisms in closed
// form ([SampleGraphs]).
//
// Chains screen likely parents of each node ([candidates]) and score all sets of them; large steps
// move nodes in an order and draw all families that this concerns at once, small ones add, take
// away or turn an edge. Rounds take twice as many steps each until the chains agree. In tables with
// missing cells chains draw these too.
package walk
