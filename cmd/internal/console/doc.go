// Package console shows things on a terminal.
//
//	text.go      lines folded and coloured
//	progress.go  the progress of long computations
package console
