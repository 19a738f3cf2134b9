// Package graphs has the commands that search for causal graphs.
package graphs
