// Package effects summarises draws of graphs with parameters: slopes of mechanisms, total causal
// effects, and posterior predictive checks. It also writes and reads the file of draws.
package effects
