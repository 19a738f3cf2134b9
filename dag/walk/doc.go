// Package walk runs Markov chains over graphs, for any number of nodes.
//
// With mechanisms in closed form ([SampleGraphs]) chains screen likely parents of each node
// ([candidates]) and score all sets of them; large steps move nodes in an order and draw all
// families that this concerns at once, small ones add, take away or turn an edge. Rounds take twice
// as many steps each until the chains agree. In tables with missing cells chains draw these too.
// Where evidences take long, as for networks, chains are over the graphs made of listed families
// ([ListedGraphs]).
package walk
