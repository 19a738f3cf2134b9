// Package effects says what draws of graphs with parameters mean: slopes of mechanisms, total
// causal effects of nodes on nodes, checks of residuals and of replicates, and the file of draws.
package effects
