// Package graphs is the application of graphs to the command line.
package graphs
