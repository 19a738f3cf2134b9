// Package query answers questions about a node given observations of other nodes and values that
// are set from outside, such as P(sick=yes | region=1, do(drug=yes)), averaged over draws of graphs
// with parameters.
//
// Answers for categories are exact sums for each graph, by variable elimination. Answers for
// numbers have closed forms given graph and parameters. Answers for mixed tables are simulated.
package query
