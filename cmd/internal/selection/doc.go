// Package selection has the commands for variable selection.
package selection
