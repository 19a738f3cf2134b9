// Package console writes text and the progress of computations to a terminal.
//
//	text.go      lines folded and coloured
//	progress.go  the progress of long computations
package console
