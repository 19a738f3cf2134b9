// Package selection is the application of variable selection to the command line.
package selection
