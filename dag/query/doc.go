// Package query answers questions about a node given observations of others and values set from
// outside, as P(sick=yes | region=1, do(drug=yes)), averaged over draws of graphs with parameters.
//
// Categories are summed exactly for each graph by variable elimination; numbers have closed forms
// given graph and parameters; mixed tables are simulated.
package query
