// Package tables makes nodes of graphs from the columns of a table.
//
// [NewData] decides which columns are numbers and which are categories, and scales numbers or cuts
// them into classes. It notes which rows show nothing about a node's usual mechanism because the
// node was set from outside (interventions) or had another mechanism (soft interventions). Missing
// cells stay marked, for Markov chains that draw them. [Constraints] holds prior knowledge about
// the graph, by the names of nodes.
package tables
