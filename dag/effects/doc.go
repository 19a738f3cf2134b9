// Package effects summarises draws of graphs with parameters: slopes of mechanisms, total causal
// effects of nodes on nodes, checks of residuals and of replicates, and the file of draws.
package effects
