// Package hierarchies is the application of hierarchical regressions to the command line.
package hierarchies
