// Package effects summarises draws of graphs with parameters: slopes of mechanisms, total causal
// effects of nodes on other nodes, checks of residuals and of replicates. It also writes and reads
// the file of draws.
package effects
