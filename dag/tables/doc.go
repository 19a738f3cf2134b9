// Package tables makes nodes of graphs from the columns of a table.
//
// [NewData] decides which columns are numbers and which are categories, scales numbers or cuts them
// into classes, and notes which rows do not count for a node because it was set from outside there
// (interventions, clamps), or was under another mechanism (soft interventions). Missing cells stay
// marked, for chains that draw them. [Constraints] are prior knowledge about the graph, by the
// names of nodes.
package tables
